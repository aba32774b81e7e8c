//go:build linux

package postgrestest_test

import (
	"strings"
	"testing"

	"codex-bridge/bridge/store/postgrestest"
)

// Where there is no PostgreSQL it is said how one is named, and what was named in vain.
func TestStartWithout(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("CODEX_BRIDGE_POSTGRES", folder)
	s, err := postgrestest.Start(postgrestest.Options{})
	if err == nil {
		t.Fatal("it started", s.Stop())
	}
	for _, part := range []string{"CODEX_BRIDGE_POSTGRES", folder, "the folder of the server's programs"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in the error: %v", part, err)
		}
	}
}
