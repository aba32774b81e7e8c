//go:build linux

package e2e_test

import (
	"strings"
	"testing"
)

// An agent that is a Codex behind the bridge uses the lasting approvals of the conversation. An
// agent with a session gets its place in the editor before its first turn.
func TestAgentUsesGrants(t *testing.T) {
	t.Parallel()
	w := newAgentWorld(t, "[policy]\napproval = [\"untrusted\"]\nsandbox = \"workspace-write\"\n[approvals]\nremember = \"always\"\n")
	c := w.open(proxyArgv...)
	c.initialize(map[string]any{"experimentalApi": true, "bridge": map[string]any{"version": 1, "hooks": []string{"permissionRequest"}}})

	first := c.spawn(map[string]any{"task": "RUN: echo granted", "thread": true, "label": "panel", "sessionKey": "chat"})
	if err := c.Reply(c.waitFor(first.mark, "bridge/hook", nil), map[string]any{"decision": "allow", "remember": "always"}); err != nil {
		t.Fatal(err)
	}
	first.waitEnd(first.run)
	bound := c.waitFor(first.mark, "bridge/acp/update", nil)
	if bound.Param("kind") != "bound" || bound.Param("label") != "panel" || bound.Param("parentSessionKey") != "chat" || bound.Param("sessionId") == "" {
		t.Errorf("first update %s", bound.Raw)
	}

	// Another child does not ask again.
	second := c.spawn(map[string]any{"task": "RUN: echo granted"})
	if kind, text := second.waitEnd(second.run); kind != "done" || !strings.Contains(text, "ended with 0 and said: granted") {
		t.Errorf("%s, %q", kind, text)
	}
	for _, m := range c.Messages()[second.mark:] {
		if m.Method == "bridge/hook" {
			t.Errorf("asked twice: %s", m.Raw)
		}
		if m.Param("kind") == "bound" {
			t.Errorf("a run without a session is bound: %s", m.Raw)
		}
	}
	c.closeAndWait()
}
