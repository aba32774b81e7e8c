package guard_test

import (
	"testing"

	"codex-bridge.example/bridge/guard"
)

// A thread/closed that a slow client gets late does not concern the thread that another client has opened
// again since.
func TestLateThreadClosed(t *testing.T) {
	for _, shared := range []bool{true, false} {
		c, g, _ := converse(t, pinnedPolicy, guard.NoRecord)
		g.SetOtherSubscribers(func(string) bool { return shared })
		opens(c, "thread/start", "t1", "untrusted")
		const closed = `{"method":"thread/closed","params":{"threadId":"t1"}}`
		c.Play("closed", "codex> "+closed+"\neditor< "+closed+"\n")
		if open := g.Threads() == 1; open != shared {
			t.Errorf("open %v, shared %v", open, shared)
		}
	}
}
