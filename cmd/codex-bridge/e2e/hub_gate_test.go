//go:build linux

package e2e_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// If one client ends or begins the bridge's questions about each command of a shared thread, each client of the
// thread is shown that, as with Codex alone, and the decision log has it. Codex has on-request before and after.
func TestShownGate(t *testing.T) {
	t.Parallel()
	const update, updated = "thread/settings/update", "thread/settings/updated"
	w := newHubWorld(t, hubConfig)
	alone := w.open(codexPath, "app-server")
	alone.initialize(nil)
	a, b := w.joined(), w.joined()
	approvals := map[string]any{"sandbox": "workspace-write", "approvalPolicy": "untrusted"}
	own, thread := alone.thread(approvals), a.thread(approvals)
	a.runTurn(thread, "SAY: one")
	b.must("thread/resume", map[string]any{"threadId": thread})

	change := func(c *conversation, thread, method, approval string, watched ...*conversation) (names []string) {
		t.Helper()
		var marks []int
		for _, one := range watched {
			marks = append(marks, one.Mark())
		}
		mark := c.Mark()
		params := map[string]any{"threadId": thread, "approvalPolicy": approval}
		if method == update {
			c.must(method, params)
		} else {
			turn, _ := c.startTurnWith(thread, "SAY: more", params)
			c.waitTurn(thread, turn, mark)
		}
		for i, one := range watched {
			shown := one.waitFor(marks[i], updated, func(m editor.Message) bool { return m.Param("threadSettings", "approvalPolicy") == approval })
			var params struct{ ThreadSettings map[string]any }
			if err := json.Unmarshal(shown.Params, &params); err != nil {
				t.Fatal(err)
			}
			names = append(names, strings.Join(slices.Sorted(maps.Keys(params.ThreadSettings)), " "))
		}
		return names
	}
	checkAsked := func(asked bool) {
		t.Helper()
		turn, mark := a.startTurn(thread, "RUN: true")
		if asked {
			if err := a.Reply(a.waitFor(mark, commandApproval, nil), decision("accept")); err != nil {
				t.Fatal(err)
			}
		}
		if status := a.waitTurn(thread, turn, mark); status != "completed" {
			t.Errorf("the turn: %s", status)
		}
	}
	want := change(alone, own, update, "on-request", alone)
	if got := change(b, thread, update, "on-request", a, b); got[0] != got[1] {
		t.Errorf("the clients are shown %q", got)
	}
	checkAsked(false)
	for _, step := range []struct{ method, approval string }{{update, "untrusted"}, {"turn/start", "on-request"}, {"turn/start", "untrusted"}} {
		change(alone, own, step.method, step.approval, alone)
		change(b, thread, step.method, step.approval, a, b)
		checkAsked(step.approval == "untrusted")
	}
	// Codex's own notification has the names of all settings.
	b.must(update, map[string]any{"threadId": thread, "effort": "low"})
	a.waitFor(0, updated, func(m editor.Message) bool { return m.Param("threadSettings", "effort") == "low" })
	if got := change(b, thread, update, "on-request", a); got[0] != want[0] {
		t.Errorf("the client is shown %q, with Codex alone %q", got, want)
	}
	log, _, _ := w.runCommand("decisions", "list", "--limit=50")
	for _, text := range []string{"no longer asks about each command", "now asks about each command"} {
		if strings.Count(log, text) < 2 {
			t.Errorf("the decision log lacks %q:\n%s", text, log)
		}
	}
}
