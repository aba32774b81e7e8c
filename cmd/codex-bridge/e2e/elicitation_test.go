//go:build linux

package e2e_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"codex-bridge/cmd/internal/editor"
)

// What a server asks of its own is the person's to answer; where the policy says so it
// is declined, and the server hears that as it would from a person.
func TestElicitations(t *testing.T) {
	t.Parallel()
	const config = "[policy]\nmode = \"enforce\"\nsandbox = \"read-only\"\napproval = [\"on-request\"]\n"
	for name, tt := range map[string]struct {
		config, says string
		asked        int64
	}{
		"by default": {config, `"action":"accept"`, 1},
		"denied":     {config + "[policy.methods]\n\"mcpServer/elicitation/request\" = \"deny\"\n", `"action":"decline"`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The tool itself is asked about no more, so that what is asked is its own.
			w := newWorld(t, options{config: tt.config, codexConfig: mcpConfig("probe") + "[mcp_servers.probe.tools.ask]\napproval_mode = \"approve\"\n"})
			var asked atomic.Int64
			c := &conversation{world: w, ctx: deadline(t), Editor: w.start(proxyArgv, editor.Options{
				Answer: func(_ context.Context, m editor.Message) (any, *editor.Error) {
					asked.Add(1)
					return map[string]any{"action": "accept", "content": map[string]any{"n": 7}, "_meta": nil}, nil
				},
			})}
			c.initialize(nil)
			thread := c.thread(confined)
			if said := c.told(thread, "CALL: mcp__probe/ask {}"); !strings.Contains(said, tt.says) || asked.Load() != tt.asked {
				t.Errorf("the editor was asked %d times, the server says %q", asked.Load(), said)
			}
			c.quit()
		})
	}
}
