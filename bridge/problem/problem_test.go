package problem_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"

	"codex-bridge.example/bridge/problem"
)

// Words of Go do not reach a person, however the error is wrapped. The rest of the text stays.
func TestText(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 5432}, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for want, err := range map[string]error{
		"it was stopped":                                     context.Canceled,
		"reading: it took too long; try again":               fmt.Errorf("reading: %w; try again", context.DeadlineExceeded),
		"a: it was stopped\nb: it took too long":             errors.Join(fmt.Errorf("a: %w", context.Canceled), fmt.Errorf("b: %w", os.ErrDeadlineExceeded)),
		"127.0.0.1:5432: connection refused":                 refused,
		`Get "http://x": 127.0.0.1:5432: connection refused`: &url.Error{Op: "Get", URL: "http://x", Err: refused},
		`the host "no.invalid" is not found`: &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{
			Err: "no such host", Name: "no.invalid", Server: "192.0.2.1:53", IsNotFound: true}},
		"x: the connection was closed":              fmt.Errorf("x: %w", &net.OpError{Op: "read", Net: "unix", Err: net.ErrClosed}),
		`the program "sed" is not in PATH`:          &exec.Error{Name: "sed", Err: exec.ErrNotFound},
		"EOFs: the data ended":                      fmt.Errorf("EOFs: %w", io.EOF),
		"the data ended too early":                  io.ErrUnexpectedEOF,
		"the database does not have it":             sql.ErrNoRows,
		"password authentication failed":            fmt.Errorf("%w", &pgconn.PgError{Severity: "FATAL", Code: "28P01", Message: "password authentication failed"}),
		"open /x: permission denied":                &fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES},
		`"context canceled" is what the user wrote`: errors.New(`"context canceled" is what the user wrote`),
	} {
		if got := problem.Text(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The numbers of SQLite and the details of the driver for PostgreSQL do not reach a person.
func TestTextOfDatabases(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state.db")
	if err := os.WriteFile(file, bytes.Repeat([]byte("no database"), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	nobody, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := nobody.Addr().String()
	if err := nobody.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ driver, source, want string }{
		{"sqlite", "file:" + file, "file is not a database"},
		{"sqlite", "file:" + filepath.Join(file, "inner"), "unable to open database file"},
		{"pgx", "postgres://ada@" + address + "/x", address + ": connection refused"},
	} {
		db, err := sql.Open(c.driver, c.source)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = db.ExecContext(t.Context(), "SELECT * FROM a"); err == nil {
			t.Fatalf("%s: no error", c.source)
		}
		if got := problem.Text(err); !strings.HasPrefix(got, c.want) || strings.ContainsAny(got, "()") {
			t.Errorf("%s: %q, want %q", c.driver, got, c.want)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
