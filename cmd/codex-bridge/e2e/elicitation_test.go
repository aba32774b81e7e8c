//go:build linux

package e2e_test

import (
	"context"
	"encoding/json"
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

// Without Codex's feature for it, the consent to a server's tool is asked as a question of the model's. It is
// on record and can be declined like the other form.
func TestConsentByUserInput(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		features, methods string
		touched           bool
	}{
		"elicitation":           {"", "", true},
		"question":              {"[features]\ntool_call_mcp_elicitation = false\n", "", true},
		"elicitation, declined": {"", "[policy.methods]\n\"mcpServer/elicitation/request\" = \"deny\"\n", false},
		"question, declined":    {"[features]\ntool_call_mcp_elicitation = false\n", "[policy.methods]\n\"mcpServer/elicitation/request\" = \"deny\"\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{codexConfig: mcpConfig("probe") + test.features, config: "[policy]\napproval = [\"untrusted\", \"on-request\"]\n" + test.methods})
			a := &agreeable{}
			a.conversation = &conversation{world: w, ctx: deadline(t)}
			a.Editor = w.start(proxyArgv, editor.Options{Answer: func(_ context.Context, m editor.Message) (any, *editor.Error) {
				if m.Method != "item/tool/requestUserInput" {
					return json.RawMessage(`{"action":"accept","content":{}}`), nil
				}
				var asked struct{ Questions []struct{ ID string } }
				if err := json.Unmarshal(m.Params, &asked); err != nil || len(asked.Questions) != 1 {
					t.Errorf("%v: %s", err, m.Params)
					return map[string]any{"answers": map[string]any{}}, nil
				}
				return map[string]any{"answers": map[string]any{asked.Questions[0].ID: map[string]any{"answers": []string{"Allow"}}}}, nil
			}})
			a.initialize(nil)
			a.turn(a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"}), `CALL: mcp__probe/touch {"path":"`+w.root+`/touched"}`)
			a.quit()
			out, problems, _ := w.own("decisions", "list", "--json", "--verdict", "accept")
			if w.left("touched") != test.touched || strings.Contains(out, "approvals.person") != test.touched {
				t.Errorf("the tool ran: %v; on record: %s %s", w.left("touched"), out, problems)
			}
		})
	}
}
