package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// writeTimeout limits the wait of a write for other processes. One write takes a few milliseconds,
// so only a process that hangs causes a timeout.
const writeTimeout = 10 * time.Second

// closeTimeout limits the wait of Close for a write that waits for another process.
const closeTimeout = 100 * time.Millisecond

var (
	// ErrNotExist means that a read-only store does not exist yet.
	ErrNotExist = fmt.Errorf("there is no state yet: %w", fs.ErrNotExist)
	// ErrReadOnly means that a method would write a read-only store.
	ErrReadOnly = errors.New("the store was opened read-only")
)

// Options select the database.
type Options struct {
	// Folder of the SQLite database; see Folder. Not used with a URL.
	Folder string
	// URL of a PostgreSQL database, "postgres://…"; empty for SQLite.
	URL string
	// ReadOnly creates no folder, file or table. If there is no state yet, Open returns
	// ErrNotExist.
	ReadOnly bool
}

// Store is an open database.
type Store struct {
	dialect
	write    *sql.DB // nil when read-only
	read     *sql.DB
	location string
	file     fs.FileInfo // of the SQLite database when it was opened
	version  int
	turns    *turns // nil for PostgreSQL, which serves writers in their order
	retry    busyRetry

	prepared preparedStatements // of the SQLite connection that writes
}

// Open opens the database, creates missing parts, and migrates an older database to the schema of
// this version. A *VersionError means that the schema is too new or too old.
func Open(ctx context.Context, o Options) (*Store, error) {
	open := openSQLite
	if o.URL != "" {
		open = openPostgres
	}
	s, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := s.migrate(ctx); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// Close closes the database.
func (s *Store) Close() error {
	if s.write == nil || s.write == s.read {
		return s.read.Close()
	}
	s.turns.close()
	return errors.Join(s.read.Close(), s.closePrepared(), s.write.Close())
}

// Location returns the name of the database, without its password.
func (s *Store) Location() string { return s.location }

// Version returns the version of the schema.
func (s *Store) Version() int { return s.version }

// update runs f in a transaction that excludes other writers, so that f reads the newest state.
func (s *Store) update(ctx context.Context, f func(context.Context, *sql.Tx) error) error {
	if s.write == nil {
		return ErrReadOnly
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := s.transact(ctx, f); err != nil {
		return s.describe(err)
	}
	return s.checkNotReplaced()
}

// transact runs f as update does. It limits only the wait for other writers.
func (s *Store) transact(ctx context.Context, f func(context.Context, *sql.Tx) error) error {
	defer s.turns.take(ctx)()
	wait, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	var tx *sql.Tx
	err := s.retry.do(wait, func() (err error) {
		tx, err = s.write.BeginTx(ctx, &sql.TxOptions{Isolation: s.isolation})
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // no effect after a commit
	if s.lock != "" {
		if _, err := tx.ExecContext(ctx, s.lock); err != nil {
			return err
		}
	}
	if err := f(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// exec runs one statement in a transaction of its own and returns the number of affected rows.
func (s *Store) exec(ctx context.Context, statement string, args ...any) (n int64, err error) {
	err = s.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, statement, args...)
		if err != nil {
			return err
		}
		n, err = result.RowsAffected()
		return err
	})
	return n, err
}

// queryAll returns the rows of a query, each read by scan.
func queryAll[T any](ctx context.Context, db *sql.DB, scan func(*T, func(...any) error) error, query string, args ...any) ([]T, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []T
	for rows.Next() {
		var one T
		if err := scan(&one, rows.Scan); err != nil {
			return all, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// checkNotReplaced returns an error if the file was renamed, deleted or replaced: SQLite would
// still write to it, but no other process would find it.
func (s *Store) checkNotReplaced() error {
	if s.file == nil {
		return nil
	}
	if now, err := os.Lstat(s.location); err != nil || !os.SameFile(s.file, now) {
		return fmt.Errorf("%s was removed or replaced while it was open, and new entries are lost with it; restore the file, or restart the bridge", s.location)
	}
	return nil
}
