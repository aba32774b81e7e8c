package hook_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge/relay/hook"
)

// A folder whose path is longer than the name of a socket may be.
func TestLongPath(t *testing.T) {
	base := filepath.Join(folder(t), strings.Repeat("long/", 60))
	dead := listen(t, hook.Options{Folder: base, Decide: denyCall})
	for e, o := range askAll(t, dead.Socket(), plenty) {
		if reason := ""; e.Decides() {
			if reason = refused(t, e, o); reason != "call-1" {
				t.Errorf("%s: %q", e, reason)
			}
		}
	}
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	for e, o := range askAll(t, dead.Socket(), plenty) {
		failed(t, e, o, "no bridge")
	}
	if left, err := os.ReadDir(base); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
