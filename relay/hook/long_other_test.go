//go:build unix && (!linux || portable) && !loopback

package hook_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/relay/hook"
	hookask "codex-bridge.example/relay/hook/ask"
)

// A server listens if processes can connect to it, and otherwise returns an error that says what to
// change. Where the limit is depends on the process id.
func TestSocketPathOfEveryLength(t *testing.T) {
	base := folder(t)
	listens := map[bool]int{}
	for n := range 120 {
		at := filepath.Join(base, strings.Repeat("x", n+1))
		s, err := hook.Listen(hook.Options{Folder: at, Decide: denyCall})
		listens[err == nil]++
		if err != nil {
			if !strings.Contains(err.Error(), "set CODEX_BRIDGE_STATE to a folder with a shorter path") {
				t.Error(err)
			}
			if left, err := os.ReadDir(at); err != nil || len(left) > 0 {
				t.Errorf("%v, %v", left, err)
			}
			continue
		}
		if err := hookask.Probe(s.Socket()); err != nil {
			t.Errorf("%d bytes: %v", len(s.Socket()), err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if listens[true] < 10 || listens[false] < 10 {
		t.Errorf("%v", listens)
	}
}
