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
)

// newSuffix begins what follows the name of a database that is being made.
const newSuffix = ".new-"

// makeDatabase makes an empty database, its owner's alone, unless there is one. It gets its
// name when it is whole, so that one without a byte was emptied by somebody: SQLite would take
// it for a new one, and begin the log again.
func makeDatabase(ctx context.Context, path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// SQLite would take it away, with the last decisions.
	if _, err := os.Lstat(path + "-wal"); err == nil {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is gone, and what belongs to it, %[1]s-wal, is there; put it back, or move that away for an empty state", path)
		}
	}
	fresh := path + newSuffix + strings.ToLower(rand.Text())
	err := fill(ctx, fresh)
	if err == nil {
		err = moveNew(fresh, path)
	}
	left, _ := filepath.Glob(fresh + "*") // the pattern is well formed
	for _, name := range left {
		_ = os.Remove(name) // nobody will look at it
	}
	if _, there := os.Lstat(path); there == nil {
		return syncFolder(filepath.Dir(path)) // ours, or that of one who was faster
	}
	var told *hiddenError
	if errors.As(err, &told) {
		return err
	}
	return fmt.Errorf("no database can be made: %w; see that its folder can be written and has room, or %s", err, elsewhere)
}

// fill makes the file, since SQLite would make it readable by others; its -wal and -shm get
// the mode of the file.
func fill(ctx context.Context, path string) error {
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
		return errors.Join(fmt.Errorf("%s: %w", path, sqliteDialect.failed(err)), db.Close())
	}
	return db.Close()
}

// linked gives a file its name where the system can't move it without replacing what is
// there.
func linked(from, to string) error {
	if err := os.Link(from, to); err != nil {
		return err
	}
	return os.Remove(from)
}
