//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A client without experimentalApi works in a folder with a protected policy file, and gets no
// experimental message. Codex alone refuses a permissions profile for it.
func TestProtectedWithoutExperimentalApi(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: governsConfig})
	w.writeGoverning()
	settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
	for _, capabilities := range []map[string]any{{}, {"experimentalApi": false}} {
		c := w.open(codexPath, "app-server")
		c.initialize(capabilities)
		if err := c.mustFail("thread/start", map[string]any{"cwd": w.workspace, "permissions": ":workspace"}); !strings.Contains(err.Message, "experimentalApi") {
			t.Errorf("codex alone: %v", err)
		}
		c.closeAndWait()

		c = w.open(proxyArgv...)
		c.initialize(capabilities)
		thread := c.thread(settings)
		turn, mark := c.startTurnWith(thread, "RUN: rm .codex-bridge.toml; touch one", map[string]any{"sandboxPolicy": map[string]any{"type": "workspaceWrite"}})
		c.waitTurn(thread, turn, mark)
		if os.Remove(filepath.Join(w.workspace, "one")) != nil || !w.hasFile("workspace/.codex-bridge.toml") {
			t.Errorf("the model got %q", w.lastToolOutput())
		}
		c.resume(thread, map[string]any{})
		turn, mark = c.startTurn(thread, "RUN: rm .codex-bridge.toml; touch two")
		c.waitTurn(thread, turn, mark)
		if os.Remove(filepath.Join(w.workspace, "two")) != nil || !w.hasFile("workspace/.codex-bridge.toml") {
			t.Errorf("resumed: the model got %q", w.lastToolOutput())
		}
		for _, m := range c.Messages() {
			if !m.Sent && (m.Method == "thread/readState/changed" || m.Method == "currentTime/read") {
				t.Errorf("the client got %s", m.Method)
			}
		}
		c.closeAndWait()
	}
}
