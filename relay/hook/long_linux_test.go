//go:build !portable || loopback

package hook_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/relay/hook"
)

// The path of a socket may be longer than a Unix socket's name.
func TestSocketPathLongerThanTheSystemAllows(t *testing.T) {
	base := filepath.Join(folder(t), strings.Repeat("long/", 60))
	dead := listen(t, hook.Options{Folder: base, Decide: denyCall})
	for e, o := range askAll(t, dead.Socket(), longTimeout) {
		if reason := ""; e.Decides() {
			if reason = checkDenial(t, e, o); reason != "call-1" {
				t.Errorf("%s: %q", e, reason)
			}
		}
	}
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	for e, o := range askAll(t, dead.Socket(), longTimeout) {
		checkFailure(t, e, o, "no bridge")
	}
	if left, err := os.ReadDir(base); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
