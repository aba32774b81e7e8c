//go:build linux

package e2e_test

import (
	"fmt"
	"strings"
	"testing"
)

// A handler makes the model continue at the end of a turn, up to the limit; a failed one does not
// decide.
func TestHooksStop(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t, func(w *world) string {
		return "[hooks]\nmax_revisions = 2\n" + w.writeHandler("stop", "1m", fmt.Sprintf("cat > %[1]q/asked; cat %[1]q/answer", w.root))
	})
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(writing)
	for _, test := range []struct {
		answer string
		passes int
	}{
		{`{"decision":"revise","reason":"SAY: once more"}`, 3},
		{`{"decision":"block","reason":"SAY: once more"}`, 3}, // Codex's own form
		{`{"decision":"revise","reason":"not yet","retry":{"instruction":"SAY: once more","maxAttempts":1,"idempotencyKey":"k"}}`, 2},
		{`{"decision":"revise"}`, 1},
		{`{"decision":"finish"}`, 1},
		{``, 1},
		{`nonsense`, 1},
	} {
		w.write("answer", test.answer)
		mark := c.Mark()
		c.toolOutput(thread, "good day")
		passes := 0
		for _, m := range c.Messages()[mark:] {
			if m.Method == "item/completed" && m.Param("item", "type") == "agentMessage" {
				passes++
			}
		}
		if passes != test.passes {
			t.Errorf("%s: %d passes, want %d", test.answer, passes, test.passes)
		}
		if asked := w.read("asked"); !strings.Contains(asked, fmt.Sprintf(`"stop_hook_active":%t`, test.passes > 1)) {
			t.Errorf("%s: last input of the handler: %s", test.answer, asked)
		}
	}
	c.closeAndWait()
}

// A handler replaces the output of a tool by its reason.
func TestHooksPost(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t, func(w *world) string {
		return w.writeHandler("post_tool_use", "1m", `case "$(cat)" in *SECRET*) echo '{"decision":"block","reason":"it is kept from you"}';; *FAILS*) exit 1;; esac`)
	})
	w.write("workspace/key", "SECRET\n")
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(writing)
	for text, want := range map[string]string{
		"RUN: tee copy < key": "it is kept from you",
		"RUN: echo plain":     "plain",
		"RUN: echo FAILS":     "FAILS", // a failed observer does not decide
	} {
		c.toolOutput(thread, text)
		if told := w.lastToolOutput(); !strings.Contains(told, want) || strings.Contains(told, "SECRET") {
			t.Errorf("%s: the model got %q", text, told)
		}
	}
	c.checkPresent("copy")
	c.closeAndWait()
}
