//go:build linux

package e2e_test

import (
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// Codex's response to a resume has the whole conversation. If it is longer than codex.max_message,
// the client gets an error and can continue. The noise puts a member before the id.
func TestLongAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nmode = \"enforce\"\n[codex]\nmax_message = \"1MiB\"\n"})
	c := w.open(proxyPath, "app-server")
	c.initialize(nil)
	thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	for range 3 {
		c.runTurn(thread, "SAY: "+strings.Repeat("x", 400_000))
	}
	if err := c.mustFail("thread/resume", map[string]any{"threadId": thread}); err.Code != -32014 {
		t.Errorf("a resume with 1.2 MB of history: error %v", err)
	}
	resumed := c.must("thread/resume", map[string]any{"threadId": thread, "excludeTurns": true})
	if id := editor.Member(resumed, "thread", "id"); id != thread {
		t.Errorf("the resume without history opened %s", id)
	}
	c.runTurn(thread, "SAY: done")
}
