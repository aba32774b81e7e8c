//go:build linux

package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"codex-bridge/cmd/internal/editor"
)

// A server's tool is called twice with the same arguments, and codex asks about both
// before the person has said anything. They hear one question, and what they say counts
// for both calls.
func TestSharedApproval(t *testing.T) {
	t.Parallel()
	for action, want := range map[string]string{"accept": "touched\ntouched\n", "decline": ""} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			o, dir := withTee(t, options{
				config:      "[policy]\nmode = \"enforce\"\nsandbox = \"workspace-write\"\napproval = [\"untrusted\"]\n",
				codexConfig: mcpConfig("probe") + "supports_parallel_tool_calls = true\n",
			})
			w := newWorld(t, o)
			var heard atomic.Int32
			c := &conversation{world: w, ctx: deadline(t)}
			c.Editor = w.start(proxyArgv, editor.Options{Answer: func(ctx context.Context, _ editor.Message) (any, *editor.Error) {
				heard.Add(1)
				for asked := 0; asked < 2; { // of the bridge
					select {
					case <-c.ctx.Done():
						t.Error("codex has not asked twice")
						return nil, &editor.Error{Message: "too late"}
					case <-time.After(20 * time.Millisecond):
					}
					asked = 0
					for _, line := range recordedLines(t, dir, "out") {
						if bytes.Contains(line, []byte(`"mcpServer/elicitation/request"`)) {
							asked++
						}
					}
				}
				// What codex says after its second question comes through the bridge after it.
				if _, err := c.Call(ctx, "thread/loaded/list", map[string]any{}); err != nil {
					t.Error(err)
				}
				return map[string]any{"action": action, "content": map[string]any{}, "_meta": nil}, nil
			}})
			c.initialize(nil)
			thread := c.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"})
			call := fmt.Sprintf("CALL: mcp__probe/touch {\"path\":%q}", w.workspace+"/touched")
			turn, mark := c.begin(thread, strings.Repeat(call+"\n", 2))
			c.end(thread, turn, mark)
			c.quit()
			if n := heard.Load(); n != 1 {
				t.Errorf("the person heard %d questions", n)
			}
			got := ""
			if w.left("workspace/touched") {
				got = w.read("workspace/touched")
			}
			if got != want {
				t.Errorf("the tool has left %q, want %q", got, want)
			}
		})
	}
}
