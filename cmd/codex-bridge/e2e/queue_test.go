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
