//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// No thread opens in a folder in which Codex would not enforce the bridge's profile, and the error names the
// folder. The control is Codex alone with such a profile: it opens no thread either, or lets a command write
// the file.
func TestFoldersThatCodexCantProtect(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nmode = \"enforce\"\nsandbox = \"workspace-write\"\nprotected_paths = [\".vscode\"]\n"})
	bridged, alone := w.newAcceptingEditor(), w.newAcceptingEditor(codexPath, "app-server")
	for name, hint := range map[string]string{
		"app/[slug]": `takes "[" for a pattern in the name of `,
		"a*":         `takes "*" for a pattern`,
		"w\tt":       "drops the tab or line break",
		"w\nn":       "drops the tab or line break",
		"w\rr":       "drops the tab or line break",
		"w\x01{%}":   "",
	} {
		folder := filepath.Join(w.root, "p", name)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		params := map[string]any{"cwd": folder, "approvalPolicy": "on-request", "sandbox": "workspace-write"}
		if hint == "" {
			bridged.must("thread/start", params)
		} else if err := bridged.mustFail("thread/start", params); !strings.Contains(err.Message, hint) || !strings.Contains(err.Message, "rename that folder") {
			t.Errorf("%q: %s", name, err.Message)
		}

		file := filepath.Join(folder, "file")
		if err := os.WriteFile(file, []byte("whole"), 0o600); err != nil {
			t.Fatal(err)
		}
		result, err := alone.Call(alone.ctx, "thread/start", map[string]any{"cwd": folder, "approvalPolicy": "on-request", "config": map[string]any{
			"default_permissions": "g", "permissions": map[string]any{"g": map[string]any{"extends": ":workspace", "filesystem": map[string]any{file: "read"}}},
		}})
		if strings.Contains(hint, "pattern") {
			if err == nil || !strings.Contains(err.Error(), "glob") {
				t.Errorf("%q: Codex alone opens a thread: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		alone.turn(editor.Member(result, "thread", "id"), "RUN: echo changed > file")
		if text, err := os.ReadFile(file); err != nil || (string(text) == "whole") != (hint == "") {
			t.Errorf("%q: with Codex alone the file has %q, %v", name, text, err)
		}
	}
}
