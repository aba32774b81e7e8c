//go:build linux

package postgrestest_test

import (
	"strings"
	"testing"

	"codex-bridge.example/bridge/store/postgrestest"
)

// Without PostgreSQL the error says how to name a folder, and which folder was named.
func TestStartWithout(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("CODEX_BRIDGE_POSTGRES", folder)
	s, err := postgrestest.Start(postgrestest.Options{})
	if err == nil {
		t.Fatal("Start succeeded", s.Stop())
	}
	for _, part := range []string{"CODEX_BRIDGE_POSTGRES", folder, "the folder of the server's programs"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q: %v", part, err)
		}
	}
}
