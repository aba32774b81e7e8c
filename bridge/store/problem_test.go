package store_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"codex-bridge.example/bridge/problem"
)

// The numbers of SQLite and the details of the driver for PostgreSQL do not reach a person.
func TestWordsOfDatabases(t *testing.T) {
	for want, err := range map[string]error{
		"the database does not have it":  sql.ErrNoRows,
		"password authentication failed": fmt.Errorf("%w", &pgconn.PgError{Severity: "FATAL", Code: "28P01", Message: "password authentication failed"}),
	} {
		if got := problem.Text(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
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
