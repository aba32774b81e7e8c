//go:build linux

package e2e_test

import (
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// fork is thread/fork with only the id.
func (c *conversation) fork(thread string) string {
	c.t.Helper()
	return editor.Member(c.must("thread/fork", map[string]any{"threadId": thread}), "thread", "id")
}

// A thread started by Codex alone, without limits, gets the policy in each way to open it, even if
// the client sends only its id.
func TestHooksReopened(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: hooksPolicy})
	made := w.open(codexPath, "app-server")
	made.initialize(nil)
	thread := made.thread(map[string]any{"approvalPolicy": "never", "sandbox": "workspace-write"})
	made.toolOutput(thread, "RUN: touch made")
	made.checkPresent("made")
	made.closeAndWait()
	denied := func(c *conversation, name, thread string) {
		t.Helper()
		mark := c.Mark()
		c.toolOutput(thread, "RUN: touch denied-"+name)
		if output := w.lastToolOutput(); !strings.Contains(output, "Nothing is touched here") {
			t.Errorf("%s: the model got %q", name, output)
		}
		c.waitFor(mark, "hook/completed", func(m editor.Message) bool { return hookRun(m) && m.Param("run", "status") == "blocked" })
		c.checkAbsent("denied-" + name)
	}

	c := w.open(proxyArgv...)
	c.initialize(nil)
	denied(c, "fork-of-cold", c.fork(thread))
	c.resume(thread, map[string]any{})
	denied(c, "resumed", thread)
	c.resume(thread, map[string]any{})
	denied(c, "loaded", thread)
	fork := c.fork(thread)
	denied(c, "forked", fork)
	denied(c, "fork-of-fork", c.fork(fork))
	c.closeAndWait()

	c = w.open(proxyArgv...)
	c.initialize(nil)
	c.resume(fork, map[string]any{})
	denied(c, "resumed-fork", fork)
	c.closeAndWait()
}
