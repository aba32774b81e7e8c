package store

import (
	"database/sql"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"codex-bridge.example/bridge/problem"
)

func init() { problem.Translate(databaseProblem) }

// problemOf has the words for errors that are single values.
var problemOf = map[error]string{
	sql.ErrConnDone: "the connection to the database was closed",
	sql.ErrNoRows:   "the database does not have it",
}

// databaseProblem returns the words for an error of a database; empty for another error.
func databaseProblem(err error) string {
	switch e := err.(type) { //nolint:errorlint // package problem visits each error of the tree
	case *pgconn.ConnectError:
		return connectionProblem(e)
	case *pgconn.PgError:
		return e.Message
	case *sqlite.Error:
		return sqliteProblem(e)
	}
	for known, words := range problemOf {
		if err == known { //nolint:errorlint // package problem visits each error of the tree
			return words
		}
	}
	return ""
}

// connectionProblem returns the reasons for which PostgreSQL can't be reached, each once: a driver that tries an
// address twice says all twice.
func connectionProblem(e *pgconn.ConnectError) string {
	var reasons []string
	problem.Each(e.Unwrap(), func(inner error) {
		switch inner.(type) { //nolint:errorlint // Each visits each of them
		case *net.OpError, *net.DNSError, *pgconn.PgError:
			if words := problem.Text(inner); !slices.Contains(reasons, words) {
				reasons = append(reasons, words)
			}
		}
	})
	return strings.Join(reasons, ", ")
}

// sqliteProblem returns the words of SQLite without its numbers.
func sqliteProblem(e *sqlite.Error) string {
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_IOERR:
		return "the disk could not be read or written"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return "another process has locked the database"
	}
	return sqliteNumbers().ReplaceAllString(e.Error(), "")
}

// sqliteNumbers matches the number of an error, and its name in the source of SQLite.
var sqliteNumbers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(` \(\d+\)( \(SQLITE_\w+\))?`) })
