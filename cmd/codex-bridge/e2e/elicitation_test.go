//go:build linux

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
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

// A server may ask without end while no answer comes. The bridge has room for 4,096 questions, and declines the
// others at once; Codex alone puts them all to the client.
func TestServerThatAsksWithoutEnd(t *testing.T) {
	t.Parallel()
	const room, more = 4096, 5
	for name, test := range map[string]struct {
		argv    []string
		config  string
		answers int // for which the server waits
		asked   int64
		says    string
	}{
		"the bridge":  {proxyArgv, "[policy]\nsandbox = \"read-only\"\napproval = [\"on-request\"]\n", more, room, "5 declined"},
		"codex alone": {[]string{codexPath, "app-server"}, "", 0, room + more, "0 declined"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: test.config, codexConfig: mcpConfig("probe") + "[mcp_servers.probe.tools.floods]\napproval_mode = \"approve\"\n", mute: "many"})
			var asked atomic.Int64
			end := make(chan struct{})
			c := &conversation{world: w, ctx: deadline(t), Editor: w.start(test.argv, editor.Options{
				Answer: func(context.Context, editor.Message) (any, *editor.Error) {
					asked.Add(1)
					<-end
					return map[string]any{"action": "cancel"}, nil
				},
			})}
			c.initialize(nil)
			said := c.toolOutput(c.thread(confined), fmt.Sprintf(`CALL: mcp__probe/floods {"count":%d,"answers":%d}`, room+more, test.answers))
			if !strings.Contains(said, test.says) {
				t.Errorf("the server reports %q", said)
			}
			c.waitUntil("the client's questions", func() bool { return asked.Load() >= test.asked })
			if asked.Load() != test.asked {
				t.Errorf("the client got %d questions, want %d", asked.Load(), test.asked)
			}
			close(end)
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
