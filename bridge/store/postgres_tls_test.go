//go:build linux

package store_test

import (
	"context"
	"encoding/pem"
	"net"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"codex-bridge.example/bridge/store"
	"codex-bridge.example/bridge/store/postgrestest"
)

// Over a network, only a user with the password writes the log, and only to the server with the
// expected name and certificate. Errors give the reason without the password.
func TestTLS(t *testing.T) {
	server, err := postgrestest.Start(postgrestest.Options{TLS: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	local, err := server.Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	owner := open(t, store.Options{URL: local})
	execSQL(t, owner.DB(), "GRANT SELECT, INSERT ON decisions, transcript TO "+postgrestest.User+"; GRANT SELECT ON schema_version TO "+postgrestest.User)

	other := filepath.Join(t.TempDir(), "other.crt")
	stranger := httptest.NewTLSServer(nil)
	stranger.Close()
	if err := os.WriteFile(other, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: stranger.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct{ name, host, mode, root, password, refused string }{
		{"verified", "localhost", "verify-full", server.Certificate, postgrestest.Password, ""},
		{"encrypted", "127.0.0.1", "require", "", postgrestest.Password, ""},
		{"plain", "localhost", "disable", "", postgrestest.Password, "no encryption"},
		{"of another name", "127.0.0.1", "verify-full", server.Certificate, postgrestest.Password, "certificate"},
		{"of another server", "localhost", "verify-full", other, postgrestest.Password, "certificate"},
		{"wrong password", "localhost", "verify-full", server.Certificate, "hunter2", "password authentication failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, err := url.Parse(local)
			if err != nil {
				t.Fatal(err)
			}
			u = &url.URL{
				Scheme: "postgres", User: url.UserPassword(postgrestest.User, c.password),
				Host: net.JoinHostPort(c.host, strconv.Itoa(server.Port)), Path: u.Path,
			}
			q := url.Values{"sslmode": {c.mode}}
			if c.root != "" {
				q.Set("sslrootcert", c.root)
			}
			u.RawQuery = q.Encode()
			s, err := store.Open(context.Background(), store.Options{URL: u.String()})
			if c.refused != "" {
				if err == nil {
					s.Close()
					t.Fatal("Open succeeded")
				}
				if text := err.Error(); !strings.Contains(text, c.refused) || strings.Contains(text, c.password) {
					t.Errorf("the error is %q", text)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := s.Append(t.Context(), testDecision()); err != nil {
				t.Error(err)
			}
			var encrypted bool
			if err := s.DB().QueryRowContext(t.Context(), "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").Scan(&encrypted); err != nil || !encrypted {
				t.Errorf("encrypted: %v, %v", encrypted, err)
			}
			if _, err := s.DB().ExecContext(t.Context(), "DELETE FROM decisions"); err == nil {
				t.Error("the role may delete")
			}
		})
	}
	if head, err := owner.Verify(t.Context()); err != nil || head.Seq != 2 {
		t.Error(head, err)
	}
}
