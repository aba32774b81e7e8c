package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"codex-bridge.example/bridge/statefolder"
)

// tempSuffix starts the suffix of the name of a database that is not complete.
const tempSuffix = ".new-"

// createDatabase creates an empty database that only its owner can read, if there is none. It
// renames a complete file: an empty file was truncated by another program, and SQLite would start a
// new log in it.
func createDatabase(ctx context.Context, path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// SQLite would delete the write-ahead log, with the last decisions.
	if _, err := os.Lstat(path + "-wal"); err == nil {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is missing, but its write-ahead log %[1]s-wal exists; restore the file, or move the log away to start with an empty state", path)
		}
	}
	fresh := path + tempSuffix + strings.ToLower(rand.Text())
	err := initDatabase(ctx, fresh)
	if err == nil {
		err = renameNoReplace(fresh, path)
	}
	left, _ := filepath.Glob(fresh + "*") // the pattern is well formed
	for _, name := range left {
		_ = os.Remove(name) // the next start ignores it
	}
	if _, there := os.Lstat(path); there == nil {
		return statefolder.Sync(filepath.Dir(path)) // created here, or by a faster process
	}
	var redacted *redactedError
	if errors.As(err, &redacted) {
		return err
	}
	return fmt.Errorf("the database can't be created: %w; make its folder writable, free some space there, or %s", err, statefolder.HintOther)
}

// initDatabase creates the file with mode 600: SQLite would let others read it. The -wal and -shm
// files get the mode of the file.
func initDatabase(ctx context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", dsn(path, "synchronous(full)", 0))
	if err != nil {
		return err
	}
	if err := useWAL(ctx, db); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", path, sqliteDialect.describe(err)), db.Close())
	}
	return db.Close()
}

// renameByLink renames a file on systems that can't rename without replacing.
func renameByLink(from, to string) error {
	if err := os.Link(from, to); err != nil {
		return err
	}
	return os.Remove(from)
}
