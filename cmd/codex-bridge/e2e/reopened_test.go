//go:build linux

package e2e_test

import (
	"strings"
	"testing"

	"codex-bridge/cmd/internal/editor"
)

// fork is thread/fork with no more than the id.
func (c *conversation) fork(thread string) string {
	c.t.Helper()
	return editor.Member(c.must("thread/fork", map[string]any{"threadId": thread}), "thread", "id")
}

// A thread that somebody made with codex alone, where nothing is held, is held in each
// way to open it, though the client sends nothing but its id.
func TestHooksReopened(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: hooksPolicy})
	made := w.open(codexPath, "app-server")
	made.initialize(nil)
	thread := made.thread(map[string]any{"approvalPolicy": "never", "sandbox": "workspace-write"})
	made.told(thread, "RUN: touch made")
	made.present("made")
	made.quit()
	denied := func(c *conversation, name, thread string) {
		t.Helper()
		mark := c.Mark()
		c.told(thread, "RUN: touch denied-"+name)
		if told := w.told(); !strings.Contains(told, "Nothing is touched here") {
			t.Errorf("%s: the model was told %q", name, told)
		}
		c.waitFor(mark, "hook/completed", func(m editor.Message) bool { return hookRun(m) && m.Param("run", "status") == "blocked" })
		c.absent("denied-" + name)
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
	c.quit()

	c = w.open(proxyArgv...)
	c.initialize(nil)
	c.resume(fork, map[string]any{})
	denied(c, "resumed-fork", fork)
	c.quit()
}
