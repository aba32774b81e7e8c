//go:build linux

package postgrestest_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"codex-bridge.example/bridge/store/postgrestest"
)

// A server finds the databases of an earlier one in its folder.
func TestDataIsKept(t *testing.T) {
	folder := t.TempDir()
	if err := os.Chmod(filepath.Dir(folder), 0o755); err != nil { // the server has another user
		t.Fatal(err)
	}
	data := filepath.Join(folder, "data")
	for _, statement := range []string{"CREATE TABLE kept (n int)", "INSERT INTO kept VALUES (1)"} {
		runOn(t, data, statement)
	}
}

// runOn starts a server, runs a statement in a database, and stops the server.
func runOn(t *testing.T, data, statement string) {
	t.Helper()
	ctx := context.Background()
	server, err := postgrestest.Start(postgrestest.Options{Data: data})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	url, err := server.OpenDatabase(ctx, "kept")
	if err != nil {
		t.Fatal(err)
	}
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	if _, err := c.Exec(ctx, statement); err != nil {
		t.Error(err)
	}
}
