package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// DatabaseFile is the name of the SQLite database in the state folder.
const DatabaseFile = "state.db"

var sqliteDialect = dialect{
	name:       "sqlite",
	hasTable:   `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = $1`,
	mend:       sqliteMend,
	keepRecord: sqliteKeep, search: sqliteSearch,
}

func openSQLite(ctx context.Context, o Options) (*Store, error) {
	path := filepath.Join(o.Folder, DatabaseFile)
	if !o.ReadOnly {
		if err := makeFolder(o.Folder); err != nil {
			return nil, err
		}
	}
	if err := checkFolder(o.Folder); errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	} else if err != nil {
		return nil, err
	}
	if !o.ReadOnly {
		if err := makeDatabase(ctx, path); err != nil {
			return nil, err
		}
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := checkFile(path + suffix); errors.Is(err, fs.ErrNotExist) {
			if suffix == "" {
				return nil, ErrNone
			}
		} else if err != nil {
			return nil, err
		}
	}
	s := &Store{dialect: sqliteDialect, where: path}
	var err error
	if s.file, err = os.Lstat(path); err != nil {
		return nil, err
	}
	if s.read, err = sql.Open("sqlite", dsn(path, "query_only(1)", patience)); err != nil {
		return nil, err
	}
	s.read.SetMaxOpenConns(2)
	if err := s.whole(ctx, path); err != nil {
		return nil, errors.Join(err, s.read.Close())
	}
	if o.ReadOnly {
		return s, nil
	}
	// FULL syncs the log at each commit; NORMAL, the usual choice with a
	// write-ahead log, would lose the last decisions with the power.
	if s.write, err = sql.Open("sqlite", dsn(path, "synchronous(full)", 0)+"&_txlock=immediate"); err != nil {
		return nil, errors.Join(err, s.read.Close())
	}
	s.write.SetMaxOpenConns(1)
	if err := useWAL(ctx, s.write); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, s.failed(err)), s.Close())
	}
	return s, nil
}

// sqliteMend knows the faults of disks and files.
func sqliteMend(err error) string {
	var fault *sqlite.Error
	if !errors.As(err, &fault) {
		if strings.HasPrefix(err.Error(), "sql: Scan error") {
			return lostPages // they are read as empty
		}
		return ""
	}
	switch fault.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return "free some space there, or " + elsewhere
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return "let its folder and its files be written, or " + elsewhere
	case sqlite3.SQLITE_IOERR:
		return "see what the system says of the disk, or " + elsewhere
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return "see which process holds it and does not go on"
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return lostPages
	}
	return ""
}

const lostPages = "keep a copy of the folder; put a backup there, or move " + DatabaseFile + " and what begins with its name away for an empty state"

// dsn names a database file that exists; SQLite makes none. wait is how long SQLite itself waits
// for others; see busyRetry.
func dsn(path, pragma string, wait time.Duration) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/…
	}
	q := url.Values{"mode": {"rw"}, "_pragma": {
		"busy_timeout(" + strconv.FormatInt(wait.Milliseconds(), 10) + ")", "foreign_keys(1)", pragma,
	}}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path}).String() + "?" + q.Encode()
}

// useWAL switches the file to write-ahead logging, in which readers don't wait
// for the writer. The file remembers it.
func useWAL(ctx context.Context, db *sql.DB) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var mode string
	var retry busyRetry
	err := retry.do(ctx, func() error { return db.QueryRowContext(ctx, "PRAGMA journal_mode = wal").Scan(&mode) })
	if err == nil && mode != "wal" {
		return fmt.Errorf("the database stays in the journal mode %q; the file system may not be fit for it, use PostgreSQL", mode)
	}
	return err
}
