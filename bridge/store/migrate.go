package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"codex-bridge.example/bridge/statefolder"
)

//go:embed migrations
var migrations embed.FS

// firstVersion is the version of the first migration. No release had a schema before it.
const firstVersion = 6

// VersionError means that this version of the bridge can't read the database: a newer version of
// the bridge wrote it, or a build from before the first release.
type VersionError struct {
	Location   string
	Got, Known int // versions of the schema: of the database, and the newest that the bridge knows
}

func (e *VersionError) Error() string {
	hint := "update codex-bridge"
	if e.Got < firstVersion {
		hint = "an unreleased build wrote it; move it away"
	}
	return fmt.Sprintf("%s has the schema %d, and this version reads %d to %d; %s, or %s or store.url", e.Location, e.Got, firstVersion, e.Known, hint, statefolder.HintOther)
}

// migration is one step of the schema, in a file named NNNN_name.sql. Never change a step that was
// released.
type migration struct {
	version int
	text    string
}

// loadMigrations returns the steps for a database, in order.
func loadMigrations(dialect string) ([]migration, error) {
	names, err := fs.Glob(migrations, path.Join("migrations", dialect, "*.sql")) // sorted
	if err != nil {
		return nil, err
	}
	var all []migration
	for i, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != firstVersion+i {
			return nil, fmt.Errorf("%s: number the migrations from %04d without a gap", name, firstVersion)
		}
		text, err := fs.ReadFile(migrations, name)
		if err != nil {
			return nil, err
		}
		all = append(all, migration{version, string(text)})
	}
	return all, nil
}

// migrate runs the steps that the database lacks, each in its own transaction. Each transaction
// reads the version again: if two processes migrate, the second finds the step done.
func (s *Store) migrate(ctx context.Context) error {
	steps, err := loadMigrations(s.name)
	if err != nil {
		return err
	}
	if s.version, err = s.readVersion(ctx, s.read); err != nil {
		return fmt.Errorf("%s: %w", s.location, s.describe(err))
	}
	newest := steps[len(steps)-1].version
	if s.version > newest || s.version != 0 && s.version < firstVersion {
		return &VersionError{s.location, s.version, newest}
	}
	if s.write == nil && s.version == 0 {
		return ErrNotExist
	}
	for _, step := range steps {
		if s.write == nil || step.version <= s.version {
			continue
		}
		// A step that reads all records may take longer than writeTimeout.
		if err := s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error { return s.runMigration(ctx, tx, step) }); err != nil {
			return fmt.Errorf("%s: schema %d: %w", s.location, step.version, s.describe(err))
		}
		s.version = step.version
	}
	return nil
}

func (s *Store) runMigration(ctx context.Context, tx *sql.Tx, step migration) error {
	version, err := s.readVersion(ctx, tx)
	if err != nil || version >= step.version {
		return err
	}
	if version == 0 {
		if _, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)`); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, step.text); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO schema_version (version) VALUES ($1)`, step.version)
	return err
}

// querier is a *sql.DB or a *sql.Tx.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// readVersion returns the version of the schema: 0 for an empty database.
func (s *Store) readVersion(ctx context.Context, q querier) (int, error) {
	var tables int
	if err := q.QueryRowContext(ctx, s.hasTable, "schema_version").Scan(&tables); err != nil || tables == 0 {
		return 0, err
	}
	var version int
	err := q.QueryRowContext(ctx, `SELECT version FROM schema_version ORDER BY version DESC LIMIT 1`).Scan(&version)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return version, err
}
