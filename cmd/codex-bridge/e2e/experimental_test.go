//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A client without the capability experimentalApi works in a folder whose policy file is
// protected, and gets no experimental message. Codex alone refuses it a permissions profile.
func TestProtectedWithoutExperimentalApi(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: governsConfig})
	w.governing()
	settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
	for _, capabilities := range []map[string]any{{}, {"experimentalApi": false}} {
		c := w.open(codexPath, "app-server")
		c.initialize(capabilities)
		if err := c.refused("thread/start", map[string]any{"cwd": w.workspace, "permissions": ":workspace"}); !strings.Contains(err.Message, "experimentalApi") {
			t.Errorf("codex alone: %v", err)
		}
		c.quit()

		c = w.open(proxyArgv...)
		c.initialize(capabilities)
		thread := c.thread(settings)
		turn, mark := c.beginWith(thread, "RUN: rm .codex-bridge.toml; touch one", map[string]any{"sandboxPolicy": map[string]any{"type": "workspaceWrite"}})
		c.end(thread, turn, mark)
		if os.Remove(filepath.Join(w.workspace, "one")) != nil || !w.left("workspace/.codex-bridge.toml") {
			t.Errorf("the model was told %q", w.told())
		}
		c.resume(thread, map[string]any{})
		turn, mark = c.begin(thread, "RUN: rm .codex-bridge.toml; touch two")
		c.end(thread, turn, mark)
		if os.Remove(filepath.Join(w.workspace, "two")) != nil || !w.left("workspace/.codex-bridge.toml") {
			t.Errorf("resumed: the model was told %q", w.told())
		}
		for _, m := range c.Messages() {
			if !m.Sent && (m.Method == "thread/readState/changed" || m.Method == "currentTime/read") {
				t.Errorf("the client gets %s", m.Method)
			}
		}
		c.quit()
	}
}
