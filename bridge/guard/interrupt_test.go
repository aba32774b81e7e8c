package guard_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/rpc"
)

// InterruptTurns ends the turns of unverified threads without hooks, also one that begins later or that
// Codex does not end at once. It lets other turns go on, and tells the client once for each thread.
func TestInterruptTurns(t *testing.T) {
	pinned := func(approval string) string {
		return strings.Replace(pinnedPolicy, `"untrusted"`, approval, 1)
	}
	c, g, _ := converse(t, inMode("audit", pinnedPolicy), guard.NoRecord)
	if g.SetPolicy(load(t, inMode("audit", pinned(`"never"`)))) {
		t.Error("turns are to be interrupted though nothing is enforced")
	}
	if !g.SetPolicy(load(t, pinned(`"never"`))) || g.SetPolicy(load(t, pinnedPolicy)) || g.SetPolicy(load(t, pinnedPolicy)) {
		t.Error("turns are not to be interrupted exactly when the policy becomes enforced")
	}
	opens(c, "thread/start", "verified", "untrusted")
	ended := make(chan error)
	go func() {
		ended <- g.InterruptTurns(t.Context(), func(thread string) bool { return thread == "hooked" }, g)
	}()
	active := []string{"verified", "hooked", "turn", "stubborn"}
	var interrupted, warnings []string
	looks := 0
	for done := false; !done; {
		select {
		case err := <-ended:
			if done = true; err != nil {
				t.Error(err)
			}
		case line := <-c.EditorReceives():
			warnings = append(warnings, line)
		case line := <-c.CodexReceives():
			m, err := rpc.ParseMessage([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			thread, _ := m.Params.Get("threadId").Text()
			answer := `"result":{}`
			switch m.Method {
			case "thread/loaded/list":
				if looks++; looks == 3 {
					active = append(active, "later")
				}
				answer = `"result":{"data":["gone","idle","verified","hooked","turn","stubborn","later"],"nextCursor":null}`
			case "thread/read":
				status := "idle"
				if slices.Contains(active, thread) {
					status = "active"
				}
				if answer = `"result":{"thread":{"status":{"type":"` + status + `"}}}`; thread == "gone" {
					answer = `"error":{"code":-32600,"message":"no such thread"}`
				}
			case "turn/interrupt":
				if interrupted = append(interrupted, thread); thread == "stubborn" && looks == 1 {
					answer = `"error":{"code":-32600,"message":"no active turn"}`
					break
				}
				active = slices.DeleteFunc(active, func(id string) bool { return id == thread })
			}
			c.CodexSends(fmt.Sprintf(`{"id":%s,%s}`, m.ID.Raw(), answer))
		}
	}
	for len(warnings) < 3 {
		warnings = append(warnings, <-c.EditorReceives())
	}
	if want := []string{"turn", "stubborn", "stubborn", "later"}; !slices.Equal(interrupted, want) {
		t.Errorf("Codex interrupts %q, want %q", interrupted, want)
	}
	for i, thread := range []string{"turn", "stubborn", "later"} {
		if !strings.Contains(warnings[i], `"configWarning"`) || !strings.Contains(warnings[i], "thread "+thread) {
			t.Errorf("the client gets %s", warnings[i])
		}
	}
	go func() { ended <- g.InterruptTurns(t.Context(), func(string) bool { return false }, g) }()
	m, _ := rpc.ParseMessage([]byte(<-c.CodexReceives()))
	c.CodexSends(fmt.Sprintf(`{"id":%s,"error":{"code":-32600,"message":"no"}}`, m.ID.Raw()))
	if err := <-ended; err == nil {
		t.Error("no error though Codex does not list its threads")
	}
}
