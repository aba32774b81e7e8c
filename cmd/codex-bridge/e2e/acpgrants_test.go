//go:build linux

package e2e_test

import (
	"strings"
	"testing"
)

// What a person has allowed for good in the conversation is not asked again in an agent that is a Codex behind the bridge.
// An agent that stays is bound to a place of the editor's before its first turn.
func TestAgentUsesGrants(t *testing.T) {
	t.Parallel()
	w := agentic(t, "[policy]\napproval = [\"untrusted\", \"on-request\"]\nsandbox = \"workspace-write\"\n[approvals]\nremember = \"always\"\n")
	c := w.open(proxyArgv...)
	c.initialize(map[string]any{"experimentalApi": true, "bridge": map[string]any{"version": 1, "hooks": []string{"permissionRequest"}}})

	first := c.spawn(map[string]any{"task": "RUN: echo granted", "thread": true, "label": "panel", "sessionKey": "chat"})
	if err := c.Reply(c.waitFor(first.mark, "bridge/hook", nil), map[string]any{"decision": "allow", "remember": "always"}); err != nil {
		t.Fatal(err)
	}
	first.ends(first.run)
	bound := c.waitFor(first.mark, "bridge/acp/update", nil)
	if bound.Param("kind") != "bound" || bound.Param("label") != "panel" || bound.Param("parentSessionKey") != "chat" || bound.Param("sessionId") == "" {
		t.Errorf("the first update is %s", bound.Raw)
	}

	// For another child the person is not asked again.
	second := c.spawn(map[string]any{"task": "RUN: echo granted"})
	if kind, text := second.ends(second.run); kind != "done" || !strings.Contains(text, "ended with 0 and said: granted") {
		t.Errorf("%s, %q", kind, text)
	}
	for _, m := range c.Messages()[second.mark:] {
		if m.Method == "bridge/hook" {
			t.Errorf("asked again: %s", m.Raw)
		}
		if m.Param("kind") == "bound" {
			t.Errorf("a run is bound: %s", m.Raw)
		}
	}
	c.quit()
}
