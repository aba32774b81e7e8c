//go:build linux

package e2e_test

import (
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// thread/resume binds a thread that started without a session; each later start of the session
// continues it.
func TestSessionTakesOverThread(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: sessionPolicy})
	c := w.open(proxyArgv...).initializeWithBridge()
	thread := c.thread(nil)
	c.toolOutput(thread, "SAY: before")
	c.closeAndWait()

	c = w.open(proxyArgv...).initializeWithBridge()
	result := c.must("thread/resume", map[string]any{"threadId": thread, "bridge": map[string]any{"sessionKey": "chat"}})
	if action, id := editor.Member(result, "bridge", "action"), editor.Member(result, "thread", "id"); action != "resumed" || id != thread {
		t.Errorf("thread/resume with a session: %s of %s", action, id)
	}
	if failed := c.mustFail("thread/resume", map[string]any{"threadId": thread, "bridge": map[string]any{"sessionKey": "another"}}); !strings.Contains(failed.Message, `the session "chat"`) {
		t.Errorf("second session of the thread: %v", failed)
	}
	c.closeAndWait()

	c = w.open(proxyArgv...).initializeWithBridge()
	if id, output := c.startSession("chat", nil, nil); id != thread || output != "resumed" {
		t.Errorf("the next start of the session: %s, %s", id, output)
	}
	c.toolOutput(thread, "SAY: after")
	requests := w.model.Requests()
	if last := requests[len(requests)-1]; !last.Contains("SAY: before") {
		t.Errorf("the model did not get the history: %s", last.Body)
	}
	c.closeAndWait()
}
