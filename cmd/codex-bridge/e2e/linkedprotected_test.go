//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// A thread that may write does not open where a protected path, or a folder above it, is a link, and the error
// says which. A read-only thread works there, without a turn that may write.
func TestProtectedPathIsLink(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nmode = \"enforce\"\nsandbox = \"workspace-write\"\nprotected_paths = [\".vscode\", \".github/workflows\"]\n"})
	a := w.newAcceptingEditor()
	for link, target := range map[string]string{".github": "gh", ".vscode": "../conf", ".github/workflows": "missing"} {
		folder := filepath.Join(w.root, "p"+strings.ReplaceAll(link, "/", ""))
		for _, path := range []string{folder + "/gh/workflows", filepath.Dir(filepath.Join(folder, link))} {
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(target, filepath.Join(folder, link)); err != nil {
			t.Fatal(err)
		}
		params := map[string]any{"cwd": folder, "approvalPolicy": "on-request", "sandbox": "workspace-write"}
		for range 2 {
			err := a.mustFail("thread/start", params)
			if want := `"` + filepath.Join(folder, link) + `" is a link to "`; !strings.Contains(err.Message, want) || !strings.Contains(err.Message, "or use the sandbox read-only") {
				t.Errorf("%s -> %s: %s", link, target, err.Message)
			}
		}
		params["sandbox"] = "read-only"
		thread := editor.Member(a.must("thread/start", params), "thread", "id")
		if a.turn(thread, "RUN: echo RAN"); !strings.Contains(w.lastToolOutput(), "RAN") {
			t.Errorf("%s -> %s: in a read-only thread the model got %q", link, target, w.lastToolOutput())
		}
		turn := input(thread, "RUN: echo x > new")
		turn["sandboxPolicy"] = map[string]any{"type": "workspaceWrite"}
		if err := a.mustFail("turn/start", turn); !strings.Contains(err.Message, "is a link to ") {
			t.Errorf("%s -> %s: a turn that may write: %s", link, target, err.Message)
		}
	}
}
