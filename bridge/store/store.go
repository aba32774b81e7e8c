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

// patience is how long a write waits for those of other processes. One takes a
// few milliseconds, so that only a writer that hangs is not waited for.
const patience = 10 * time.Second

var (
	// ErrNone means that a store that was to be read does not exist yet.
	ErrNone = fmt.Errorf("there is no state yet: %w", fs.ErrNotExist)
	// ErrReadOnly means that a store that was opened to be read is not written.
	ErrReadOnly = errors.New("the store was opened read-only")
)

// Options say where the state is.
type Options struct {
	// Folder of the SQLite database; see Folder. Not used with a URL.
	Folder string
	// URL of a PostgreSQL database, "postgres://…"; empty for SQLite.
	URL string
	// ReadOnly makes nothing: no folder, no file, no table. Where there is no
	// state yet, Open returns ErrNone.
	ReadOnly bool
}

// Store is an open database.
type Store struct {
	dialect
	write   *sql.DB // nil when read-only
	read    *sql.DB
	where   string
	file    fs.FileInfo // of SQLite's database, as it was opened
	version int
	retry   busyRetry
}

// Open opens the state, makes what is missing, and brings an older database to
// the schema of this version.
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

// Close ends all use of the database.
func (s *Store) Close() error {
	if s.write == nil || s.write == s.read {
		return s.read.Close()
	}
	return errors.Join(s.read.Close(), s.write.Close())
}

// Where names the database, without its password.
func (s *Store) Where() string { return s.where }

// Version is the schema's.
func (s *Store) Version() int { return s.version }

// change runs f in a transaction that no other process can write beside, so
// that what f reads is the newest when it writes.
func (s *Store) change(ctx context.Context, f func(context.Context, *sql.Tx) error) error {
	if s.write == nil {
		return ErrReadOnly
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var tx *sql.Tx
	err := s.retry.do(ctx, func() (err error) {
		tx, err = s.write.BeginTx(ctx, &sql.TxOptions{Isolation: s.isolation})
		return err
	})
	if err != nil {
		return s.failed(err)
	}
	defer func() { _ = tx.Rollback() }() // nothing after a commit
	if s.lock != "" {
		if _, err := tx.ExecContext(ctx, s.lock); err != nil {
			return s.failed(err)
		}
	}
	if err := f(ctx, tx); err != nil {
		return s.failed(err)
	}
	if err := tx.Commit(); err != nil {
		return s.failed(err)
	}
	return s.inPlace()
}

// inPlace tells whether others find what was written: a file whose name was taken away, or given
// to another, is written to all the same.
func (s *Store) inPlace() error {
	if s.file == nil {
		return nil
	}
	if now, err := os.Lstat(s.where); err != nil || !os.SameFile(s.file, now) {
		return fmt.Errorf("%s was removed or replaced while it was open, and what is written is lost with it; put it back, or start the bridge again", s.where)
	}
	return nil
}
