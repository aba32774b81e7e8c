//go:build linux

package e2e_test

import (
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// The mode "queue" of bridge/turn/enqueue works like Codex's thread/queue/add: each message gets
// its own turn after the running one, in order.
func TestQueueRunsOneTurnPerMessage(t *testing.T) {
	t.Parallel()
	for name, add := range map[string]func(c *conversation, thread, text string){
		"codex": func(c *conversation, thread, text string) {
			p := input(thread, "SAY: "+text)
			p["clientUserMessageId"] = text
			c.must("thread/queue/add", p)
		},
		"bridge": func(c *conversation, thread, text string) {
			c.enqueue(map[string]any{"threadId": thread, "input": "SAY: " + text, "mode": "queue", "quietMs": 0})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{})
			c := w.open(proxyArgv...).initializeWithBridge()
			thread := c.thread(nil)
			mark := c.Mark()
			c.must("turn/start", input(thread, "SLOW: 1500"))
			for _, text := range []string{"one", "two"} {
				add(c, thread, text)
			}
			for range 3 {
				m, err := c.Wait(c.ctx, mark, func(m editor.Message) bool { return m.Method == "turn/completed" })
				if err != nil {
					t.Fatal(err)
				}
				mark = m.Index + 1
			}
			requests := w.model.Requests()
			if len(requests) != 3 {
				t.Fatalf("%d requests to the model, want 3", len(requests))
			}
			for i, want := range [][2]bool{{false, false}, {true, false}, {true, true}} {
				if got := [2]bool{requests[i].Contains("SAY: one"), requests[i].Contains("SAY: two")}; got != want {
					t.Errorf("request %d has messages %v, want %v", i+1, got, want)
				}
			}
			c.closeAndWait()
		})
	}
}

// Messages that wait for a turn which ends while the client is unsubscribed from the thread are sent, in their order,
// after the client has resumed it.
func TestQueueAfterUnsubscribe(t *testing.T) {
	t.Parallel()
	for _, excluded := range []bool{false, true} {
		w := newWorld(t, options{})
		release := w.holdReply("begin")
		c := w.open(proxyArgv...).initializeWithBridge()
		thread := c.thread(nil)
		_, mark := c.startTurn(thread, "begin")
		c.waitFor(mark, "turn/started", nil)
		for _, text := range []string{"one", "two"} {
			c.enqueue(map[string]any{"threadId": thread, "input": "SAY: " + text, "mode": "queue", "quietMs": 0})
		}
		c.must("thread/unsubscribe", map[string]any{"threadId": thread})
		mark = c.Mark()
		release()
		c.waitFor(mark, "thread/status/changed", func(m editor.Message) bool { return m.Param("status", "type") == "idle" })
		mark = c.Mark()
		c.must("thread/resume", map[string]any{"threadId": thread, "excludeTurns": excluded})
		for range 2 {
			mark = c.waitFor(mark, "turn/completed", nil).Index + 1
		}
		requests := w.model.Requests()
		if len(requests) != 3 || !requests[1].Contains("SAY: one") || requests[1].Contains("SAY: two") || !requests[2].Contains("SAY: two") {
			t.Errorf("without turns %v: %d requests to the model", excluded, len(requests))
		}
		c.closeAndWait()
	}
}
