//go:build linux

package e2e_test

import (
	"strings"
	"testing"
)

// A turn that Codex rejects changes nothing of how often the editor is asked (R4). One that
// Codex takes does, which shows that the change would be seen.
func TestTurnRejectedByCodexKeepsApprovalPolicy(t *testing.T) {
	t.Parallel()
	a := newWorld(t, options{config: gateConfig}).agreeable(proxyArgv...)
	thread := a.thread(asksAll)
	if got := len(a.turn(thread, "RUN: true")); got != 1 {
		t.Errorf("asked %d times", got)
	}
	// Measured: Codex refuses texts of more than 1,048,576 characters.
	turn := input(thread, strings.Repeat("x", 1<<20+1))
	turn["approvalPolicy"] = "on-request"
	if err := a.refused("turn/start", turn); !strings.Contains(err.Message, "1048576") || strings.Contains(string(err.Data), "policy.") {
		t.Fatalf("it is not Codex that refuses: %v", err)
	}
	if got := len(a.turn(thread, "RUN: true")); got != 1 {
		t.Errorf("after a turn that Codex has rejected asked %d times", got)
	}
	turn = input(thread, "good day")
	turn["approvalPolicy"] = "on-request"
	mark := a.Mark()
	a.must("turn/start", turn)
	a.waitFor(mark, "turn/completed", nil)
	if got := len(a.turn(thread, "RUN: true")); got != 0 {
		t.Errorf("after a turn that Codex has taken asked %d times", got)
	}
	a.quit()
}
