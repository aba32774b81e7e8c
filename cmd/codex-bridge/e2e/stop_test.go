//go:build linux

package e2e_test

import (
	"fmt"
	"strings"
	"testing"
)

// A handler has the model go on at the end of a turn, as often as it may and no more;
// one that fails there has no opinion.
func TestHooksStop(t *testing.T) {
	t.Parallel()
	w := hooking(t, func(w *world) string {
		return "[hooks]\nmax_revisions = 2\n" + w.handler("stop", "1m", fmt.Sprintf("cat > %[1]q/asked; cat %[1]q/answer", w.root))
	})
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(writing)
	for _, test := range []struct {
		answer string
		passes int
	}{
		{`{"decision":"revise","reason":"SAY: once more"}`, 3},
		{`{"decision":"block","reason":"SAY: once more"}`, 3}, // codex's own word
		{`{"decision":"revise","reason":"not yet","retry":{"instruction":"SAY: once more","maxAttempts":1,"idempotencyKey":"k"}}`, 2},
		{`{"decision":"revise"}`, 1},
		{`{"decision":"finish"}`, 1},
		{``, 1},
		{`nonsense`, 1},
	} {
		w.write("answer", test.answer)
		mark := c.Mark()
		c.told(thread, "good day")
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
			t.Errorf("%s: the handler was last asked %s", test.answer, asked)
		}
	}
	c.quit()
}

// A handler keeps the output of a tool from the model, which reads its reason instead.
func TestHooksPost(t *testing.T) {
	t.Parallel()
	w := hooking(t, func(w *world) string {
		return w.handler("post_tool_use", "1m", `case "$(cat)" in *SECRET*) echo '{"decision":"block","reason":"it is kept from you"}';; *FAILS*) exit 1;; esac`)
	})
	w.write("workspace/key", "SECRET\n")
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(writing)
	for text, want := range map[string]string{
		"RUN: tee copy < key": "it is kept from you",
		"RUN: echo plain":     "plain",
		"RUN: echo FAILS":     "FAILS", // who looks on and fails has no opinion
	} {
		c.told(thread, text)
		if told := w.told(); !strings.Contains(told, want) || strings.Contains(told, "SECRET") {
			t.Errorf("%s: the model was told %q", text, told)
		}
	}
	c.present("copy")
	c.quit()
}
