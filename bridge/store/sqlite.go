package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
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

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/statefolder"
)

// DatabaseFile is the name of the SQLite database in the state folder.
const DatabaseFile = "state.db"

var sqliteDialect = dialect{
	name:      "sqlite",
	hasTable:  `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = $1`,
	hint:      sqliteHint,
	batch:     sqliteBatch,
	sum:       func(text string) string { return "codex_bridge_sum(" + text + ")" },
	parameter: func(int) string { return "?" }, // $n is a name here, which is searched for
	find:      sqliteFind,
}

func init() {
	sqlite.MustRegisterDeterministicScalarFunction("codex_bridge_sum", 1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		text, _ := args[0].(string)
		return decision.Sum([]byte(text)), nil
	})
}

func openSQLite(ctx context.Context, o Options) (*Store, error) {
	path := filepath.Join(o.Folder, DatabaseFile)
	if !o.ReadOnly {
		if err := statefolder.Make(o.Folder); err != nil {
			return nil, err
		}
	}
	if err := statefolder.Check(o.Folder); errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotExist
	} else if err != nil {
		return nil, err
	}
	if !o.ReadOnly {
		if err := createDatabase(ctx, path); err != nil {
			return nil, err
		}
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := statefolder.CheckFile(path + suffix); errors.Is(err, fs.ErrNotExist) {
			if suffix == "" {
				return nil, ErrNotExist
			}
		} else if err != nil {
			return nil, err
		}
	}
	s := &Store{dialect: sqliteDialect, location: path, prepared: make(preparedStatements)}
	var err error
	if s.file, err = os.Lstat(path); err != nil {
		return nil, err
	}
	if s.read, err = sql.Open("sqlite", dsn(path, "query_only(1)", writeTimeout)); err != nil {
		return nil, err
	}
	s.read.SetMaxOpenConns(2)
	if err := s.checkComplete(ctx, path); err != nil {
		return nil, errors.Join(err, s.read.Close())
	}
	if o.ReadOnly {
		return s, nil
	}
	// FULL syncs the log at each commit. NORMAL, common with a write-ahead log, could lose the last
	// decisions at a loss of power.
	if s.write, err = sql.Open("sqlite", dsn(path, "synchronous(full)", 0)+"&_txlock=immediate"); err != nil {
		return nil, errors.Join(err, s.read.Close())
	}
	s.write.SetMaxOpenConns(1)
	if s.turns, err = newTurns(o.Folder); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := useWAL(ctx, s.write); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, s.describe(err)), s.Close())
	}
	return s, nil
}

// sqliteHint suggests fixes for errors of disks and files.
func sqliteHint(err error) string {
	var fault *sqlite.Error
	if !errors.As(err, &fault) {
		if strings.HasPrefix(err.Error(), "sql: Scan error") {
			return hintDamaged // SQLite reads missing pages as empty ones
		}
		return ""
	}
	if fault.Code() == sqlite3.SQLITE_IOERR_SHMSIZE { // a full disk has no room for the -shm file
		return hintFull
	}
	switch fault.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return hintFull
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return "make its folder and files writable, or " + statefolder.HintOther
	case sqlite3.SQLITE_IOERR:
		return "look for errors of the disk in the system log, or " + statefolder.HintOther
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return "find the process that locks it and hangs"
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return hintDamaged
	}
	return ""
}

const hintFull = "free some space there, or " + statefolder.HintOther

const hintDamaged = "keep a copy of the folder; restore a backup, or move all files " + DatabaseFile + "* away to start with an empty state"

// dsn returns the data source name of an existing database file. SQLite itself waits for other
// writers for the given time; see busyRetry.
//
// SQLite keeps temporary data, as of a sort, in memory: sandboxed commands can write in the folder of its files.
func dsn(path, pragma string, wait time.Duration) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/…
	}
	q := url.Values{"mode": {"rw"}, "_pragma": {
		"busy_timeout(" + strconv.FormatInt(wait.Milliseconds(), 10) + ")", "foreign_keys(1)", "temp_store(memory)", pragma,
	}}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path}).String() + "?" + q.Encode()
}

// useWAL switches the file to write-ahead logging, so that readers don't wait for the writer. The
// setting is permanent.
func useWAL(ctx context.Context, db *sql.DB) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	var mode string
	var retry busyRetry
	err := retry.do(ctx, func() error { return db.QueryRowContext(ctx, "PRAGMA journal_mode = wal").Scan(&mode) })
	if err == nil && mode != "wal" {
		return fmt.Errorf("the database stays in the journal mode %q instead of wal; the file system may not support it, use store.url with PostgreSQL", mode)
	}
	return err
}
