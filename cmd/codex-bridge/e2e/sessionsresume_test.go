//go:build linux

package e2e_test

import (
	"strings"
	"testing"

	"codex-bridge/cmd/internal/editor"
)

// A session takes over a thread that began without one: thread/resume binds it, and each later start of the
// session goes on in it.
func TestSessionTakesOverThread(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: sessionPolicy})
	c := w.open(proxyArgv...).knows()
	thread := c.thread(nil)
	c.told(thread, "SAY: before")
	c.quit()

	c = w.open(proxyArgv...).knows()
	result := c.must("thread/resume", map[string]any{"threadId": thread, "bridge": map[string]any{"sessionKey": "chat"}})
	if action, id := editor.Member(result, "bridge", "action"), editor.Member(result, "thread", "id"); action != "resumed" || id != thread {
		t.Errorf("thread/resume with a session: %s of %s", action, id)
	}
	if failed := c.refused("thread/resume", map[string]any{"threadId": thread, "bridge": map[string]any{"sessionKey": "another"}}); !strings.Contains(failed.Message, `the session "chat"`) {
		t.Errorf("a second session for the thread: %v", failed)
	}
	c.quit()

	c = w.open(proxyArgv...).knows()
	if id, told := c.session("chat", nil, nil); id != thread || told != "resumed" {
		t.Errorf("the next start of the session: %s, %s", id, told)
	}
	c.told(thread, "SAY: after")
	requests := w.model.Requests()
	if last := requests[len(requests)-1]; !last.Contains("SAY: before") {
		t.Errorf("the model was not sent what came before: %s", last.Body)
	}
	c.quit()
}
