//go:build linux

package e2e_test

import (
	"maps"
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

// If a protected path becomes a link after its thread has opened, no turn that may write starts, in whatever form
// it asks for that. The control is Codex alone with such a profile: its turn starts, and runs no command.
func TestProtectedPathBecomesLink(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nmode = \"enforce\"\nsandbox = \"workspace-write\"\nprotected_paths = [\".vscode\"]\n"})
	a, alone := w.newAcceptingEditor(), w.newAcceptingEditor(codexPath, "app-server")
	folder := filepath.Join(w.root, "p")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	params := map[string]any{"cwd": folder, "approvalPolicy": "on-request", "sandbox": "workspace-write"}
	thread := editor.Member(a.must("thread/start", params), "thread", "id")
	delete(params, "sandbox")
	params["config"] = map[string]any{"default_permissions": "g", "permissions": map[string]any{
		"g": map[string]any{"extends": ":workspace", "filesystem": map[string]any{":workspace_roots": map[string]any{".vscode": "read"}}},
	}}
	control := editor.Member(alone.must("thread/start", params), "thread", "id")
	if err := os.Remove(filepath.Join(folder, ".vscode")); err != nil { // the bridge's mount point
		t.Fatal(err)
	}
	if err := os.Symlink("../conf", filepath.Join(folder, ".vscode")); err != nil {
		t.Fatal(err)
	}
	if alone.turn(control, "RUN: echo RAN"); !strings.Contains(w.lastToolOutput(), "crosses writable symlink") {
		t.Errorf("with Codex alone: %q", w.lastToolOutput())
	}
	for name, set := range map[string]map[string]any{
		"kept": {}, "profile": {"permissions": ":workspace"}, "bridge's profile": {"permissions": "codex-bridge"}, "sandboxPolicy": {"sandboxPolicy": map[string]any{"type": "workspaceWrite"}},
	} {
		turn := input(thread, "RUN: echo RAN")
		maps.Copy(turn, set)
		if err := a.mustFail("turn/start", turn); !strings.Contains(err.Message, "is a link to ") {
			t.Errorf("%s: %s", name, err.Message)
		}
	}
	if err := a.mustFail("thread/settings/update", map[string]any{"threadId": thread, "permissions": "codex-bridge"}); !strings.Contains(err.Message, "is a link to ") {
		t.Errorf("settings: %s", err.Message)
	}
	if a.turnWith(thread, "RUN: echo RAN", map[string]any{"sandboxPolicy": map[string]any{"type": "readOnly"}}); !strings.Contains(w.lastToolOutput(), "RAN") {
		t.Errorf("a read-only turn: %q", w.lastToolOutput())
	}
}
