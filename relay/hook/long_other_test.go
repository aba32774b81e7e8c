//go:build unix && (!linux || portable) && !loopback

package hook_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/relay/hook"
)

// A socket whose path is too long is an error that says what to change, and leaves no files.
func TestSocketPathIsTooLong(t *testing.T) {
	base := filepath.Join(folder(t), strings.Repeat("long/", 30))
	s, err := hook.Listen(hook.Options{Folder: base, Decide: denyCall})
	if err == nil {
		t.Fatalf("it listens at %s: %v", s.Socket(), s.Close())
	}
	if !strings.Contains(err.Error(), "set CODEX_BRIDGE_STATE to a folder with a shorter path") {
		t.Error(err)
	}
	if left, err := os.ReadDir(base); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
