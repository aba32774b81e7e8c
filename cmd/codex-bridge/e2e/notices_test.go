//go:build linux

package e2e_test

import (
	"strings"
	"testing"

	"codex-bridge/cmd/internal/editor"
)

// The user of a client such as codex-acp reads why its servers are missing, and which setting
// decides.
func TestUserReadsWhatWasRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nsandbox = \"read-only\"\napproval = [\"on-request\"]\n"})
	c := w.newAcceptingEditor(proxyArgv...)
	mark := c.Mark()
	for range 2 {
		c.must("thread/start", map[string]any{
			"cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": "danger-full-access",
			"config": map[string]any{"mcp_servers": map[string]any{"files": map[string]any{"command": "npx", "args": []string{"secret-word"}}}},
		})
	}
	for _, want := range []string{"config.mcp_servers.files:", "sandbox to read-only"} {
		m := c.waitFor(mark, "configWarning", func(m editor.Message) bool { return strings.Contains(m.Param("summary"), want) })
		text := m.Param("summary")
		if !strings.Contains(text, "The setting is policy.") || strings.Contains(text, "secret-word") {
			t.Errorf("the user reads %q", text)
		}
		t.Log(text)
	}
	c.closeAndWait()
}
