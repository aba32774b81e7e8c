//go:build linux

package e2e_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// The user answers a server's own questions. A policy may decline them; the server can't see the
// difference.
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
			// The tool itself asks no question here.
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
			if said := c.toolOutput(thread, "CALL: mcp__probe/ask {}"); !strings.Contains(said, tt.says) || asked.Load() != tt.asked {
				t.Errorf("%d questions, the server reports %q", asked.Load(), said)
			}
			c.closeAndWait()
		})
	}
}

// Without Codex's feature, Codex asks for the consent to a server's tool as a question of the
// model. The bridge logs it and can decline it, as the other form.
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
		if !isSampledName(2, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{codexConfig: mcpConfig("probe") + test.features, config: "[policy]\napproval = [\"untrusted\", \"on-request\"]\n" + test.methods})
			a := &acceptingEditor{}
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
			a.closeAndWait()
			out, problems, _ := w.runCommand("decisions", "list", "--json", "--verdict", "accept")
			if w.hasFile("touched") != test.touched || strings.Contains(out, "approvals.person") != test.touched {
				t.Errorf("tool ran: %v; logged: %s %s", w.hasFile("touched"), out, problems)
			}
		})
	}
}
