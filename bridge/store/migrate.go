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
)

//go:embed migrations
var migrations embed.FS

// VersionError is a database of a newer version of the bridge: this one can't
// know what its tables mean.
type VersionError struct {
	Where      string
	Got, Known int
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s has the schema %d, and this version knows those up to %d; update codex-bridge, or %s or store.url", e.Where, e.Got, e.Known, elsewhere)
}

// migration is one step of the schema, named NNNN_what.sql. A step that was
// released is never changed.
type migration struct {
	version int
	text    string
}

func migrationsOf(dialect string) ([]migration, error) {
	names, err := fs.Glob(migrations, path.Join("migrations", dialect, "*.sql")) // sorted
	if err != nil {
		return nil, err
	}
	var all []migration
	for i, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("%s: the migrations are numbered from 0001 without a gap", name)
		}
		text, err := fs.ReadFile(migrations, name)
		if err != nil {
			return nil, err
		}
		all = append(all, migration{version, string(text)})
	}
	return all, nil
}

// migrate runs the steps that the database lacks, each in a transaction of its
// own in which the version is read again: of two processes one does the work,
// and the other finds it done.
func (s *Store) migrate(ctx context.Context) error {
	steps, err := migrationsOf(s.name)
	if err != nil {
		return err
	}
	if s.version, err = s.versionOf(ctx, s.read); err != nil {
		return fmt.Errorf("%s: %w", s.where, s.failed(err))
	}
	if s.version > len(steps) {
		return &VersionError{s.where, s.version, len(steps)}
	}
	if s.write == nil {
		if s.version == 0 {
			return ErrNone
		}
		return nil
	}
	for _, step := range steps[s.version:] {
		if err := s.change(ctx, func(ctx context.Context, tx *sql.Tx) error { return s.step(ctx, tx, step) }); err != nil {
			return fmt.Errorf("%s: schema %d: %w", s.where, step.version, err)
		}
		s.version = step.version
	}
	return nil
}

func (s *Store) step(ctx context.Context, tx *sql.Tx, step migration) error {
	version, err := s.versionOf(ctx, tx)
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

// querier is a database or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// versionOf is the schema's version, 0 for an empty database.
func (s *Store) versionOf(ctx context.Context, q querier) (int, error) {
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
