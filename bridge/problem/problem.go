// Package problem words errors for people. Errors of Go and of its packages for networks and databases have
// words that only a programmer knows, such as "context deadline exceeded". Code that prints an error, logs
// it or sends it to a client calls Text.
package problem

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Text returns the text of an error, with plain words in place of those of the errors that it wraps.
func Text(err error) string {
	text := err.Error()
	walk(err, func(e error) {
		if words := translate(e); words != "" {
			text = replaceWords(text, e.Error(), words)
		}
	})
	return text
}

// walk calls f for an error and for all that it wraps, outer ones first.
func walk(err error, f func(error)) {
	if err == nil {
		return
	}
	f(err)
	switch e := err.(type) { //nolint:errorlint // it walks the tree itself
	case interface{ Unwrap() error }:
		walk(e.Unwrap(), f)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			walk(one, f)
		}
	}
}

// fixed has the words for errors that are single values.
var fixed = map[error]string{
	context.Canceled:         "it was stopped",
	context.DeadlineExceeded: "it took too long",
	os.ErrDeadlineExceeded:   "it took too long",
	net.ErrClosed:            "the connection was closed",
	fs.ErrClosed:             "the file was closed",
	io.ErrClosedPipe:         "the connection was closed",
	io.EOF:                   "the data ended",
	io.ErrUnexpectedEOF:      "the data ended too early",
	sql.ErrConnDone:          "the connection to the database was closed",
	sql.ErrNoRows:            "the database does not have it",
}

// translate returns the words for one error, apart from those that it wraps; empty if its own will do.
func translate(err error) string {
	switch e := err.(type) { //nolint:errorlint // Text walks the tree
	case *net.OpError:
		return networkProblem(e)
	case *net.DNSError:
		if e.IsNotFound {
			return "the host " + strconv.Quote(e.Name) + " is not found"
		}
	case *exec.Error:
		if errors.Is(e.Err, exec.ErrNotFound) {
			return "the program " + strconv.Quote(e.Name) + " is not in PATH"
		}
	case *pgconn.ConnectError:
		return connectionProblem(e)
	case *pgconn.PgError:
		return e.Message
	case *sqlite.Error:
		return sqliteProblem(e)
	}
	for known, words := range fixed {
		if err == known { //nolint:errorlint // Text walks the tree
			return words
		}
	}
	return ""
}

// networkProblem returns the address and the reason: "127.0.0.1:5432: connection refused".
func networkProblem(e *net.OpError) string {
	reason := e.Err
	if system := (*os.SyscallError)(nil); errors.As(reason, &system) {
		reason = system.Err
	}
	if host := (*net.DNSError)(nil); errors.As(reason, &host) || e.Addr == nil {
		return Text(reason)
	}
	return e.Addr.String() + ": " + Text(reason)
}

// connectionProblem returns the reasons for which PostgreSQL can't be reached, each once: a driver that tries an
// address twice says all twice.
func connectionProblem(e *pgconn.ConnectError) string {
	var reasons []string
	walk(e.Unwrap(), func(inner error) {
		switch inner.(type) { //nolint:errorlint // walk visits each of them
		case *net.OpError, *net.DNSError, *pgconn.PgError:
			if words := translate(inner); !slices.Contains(reasons, words) {
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

// replaceWords replaces whole words in a text: "EOF" is not a part of "EOFs".
func replaceWords(text, words, by string) string {
	var b strings.Builder
	for {
		at := strings.Index(text, words)
		if at < 0 || words == "" {
			return b.String() + text
		}
		end, instead := at+len(words), by
		if at > 0 && isWord(text[at-1]) || end < len(text) && isWord(text[end]) {
			instead = words
		}
		b.WriteString(text[:at] + instead)
		text = text[end:]
	}
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
