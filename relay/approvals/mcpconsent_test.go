package approvals_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/relay/answer"
	"codex-bridge.example/relay/approvals"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/rpc"
)

// mcpTurn is a turn in which tools of the MCP server tickets are called.
type mcpTurn struct {
	t *testing.T
	c *bridgetest.Conversation
	f *approvals.Feature
}

func mcpCall(id, tool, arguments string) *hook.Call {
	return &hook.Call{SessionID: "t", TurnID: "u", ToolUseID: id, ToolName: "mcp__tickets__" + tool, ToolInput: json.RawMessage(arguments)}
}

// reports reports a call as Codex does before it asks about the call.
func (m mcpTurn) reports(id, tool, arguments string) {
	m.t.Helper()
	m.f.Started(mcpCall(id, tool, arguments))
	item := fmt.Sprintf(`{"method":"item/started","params":{"item":{"type":"mcpToolCall","id":%q,"server":"tickets","tool":%q,"arguments":%s},"threadId":"t","turnId":"u"}}`, id, tool, arguments)
	m.c.Play("item", "codex> "+item+"\neditor<= "+item+"\n")
}

// starts reports a call, and whether it is accepted without the person.
func (m mcpTurn) starts(id, tool, arguments string) bool {
	m.t.Helper()
	m.reports(id, tool, arguments)
	return m.f.Consents(m.t.Context(), mcpCall("", tool, arguments))
}

func elicitationOf(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"method":"mcpServer/elicitation/request","id":%d,"params":{"threadId":"t","turnId":"u","serverName":"tickets","mode":"form","message":"Allow?",`+
		`"requestedSchema":{"type":"object","properties":{}},"_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":%q,"tool_params":%s}}}`, id, tool, arguments)
}

// asks lets the person accept a question about a call, with these members of _meta. The question offers as much.
func (m mcpTurn) asks(id int, tool, arguments, meta string) {
	m.t.Helper()
	question := elicitationOf(id, tool, arguments)
	if meta != "" {
		question = strings.Replace(question, `"_meta":{`, `"_meta":{`+meta+",", 1)
	}
	m.c.Play("question", fmt.Sprintf(`
codex> %s
editor<= %[1]s
editor> {"id":%d,"result":{"action":"accept","content":{},"_meta":{%s}}}
codex< {"id":%[2]d,"result":"$accepted%[2]d"}
`, question, id, meta))
}

// asksByItself lets a server ask what Codex would ask, and checks that the client gets the question without the mark.
func (m mcpTurn) asksByItself(id int, tool, arguments string) {
	m.t.Helper()
	question := elicitationOf(id, tool, arguments)
	m.c.Play("question of the server", fmt.Sprintf(`
codex> %s
editor< %s
editor> {"id":%d,"result":{"action":"accept","content":{},"_meta":{"persist":"session"}}}
codex< {"id":%[3]d,"result":"$own%[3]d"}
`, question, strings.Replace(question, `"codex_approval_kind":"mcp_tool_call",`, "", 1), id))
}

// newMCPTurn returns a turn of a thread in which Codex reports the calls.
func newMCPTurn(t *testing.T) (mcpTurn, *fakePolicy) {
	t.Helper()
	j := &fakePolicy{folder: t.TempDir()}
	current := func() config.Approvals {
		return config.Approvals{Remember: "session", TTL: config.Duration(time.Hour), Max: 8, Timeout: config.Duration(time.Hour)}
	}
	f := approvals.New(approvals.Options{
		Approvals: current, Policy: j, Memory: approvals.NewMemory(approvals.MemoryOptions{Approvals: current}), KnowsCalls: func(string) bool { return true },
		Gate: gateOf("agreed"), Limiter: approvals.NewLimiter(), Sessions: fakeSessions{"u"}, Record: new(discardLog), Log: slog.New(slog.DiscardHandler),
	})
	c := bridgetest.Start(t, f)
	c.Play("begun", begun)
	return mcpTurn{t, c, f}, j
}

// gateOf is a gate at which the person has accepted the call with this id.
type gateOf string

func (g gateOf) Accepted(request *rpc.Envelope) (shown, ok bool) {
	return false, request.Root().Get("params").Get("itemId").Is(string(g))
}

// A call is accepted without the person only at its hook, and only once.
func TestMCPCallIsAcceptedAtItsHook(t *testing.T) {
	m, j := newMCPTurn(t)
	for i, test := range []struct {
		id, tool string
		want     bool
	}{{"a", "allowed", true}, {"agreed", "other", true}, {"b", "other", false}} {
		arguments := fmt.Sprintf(`{"n":%d}`, i)
		if got := m.starts(test.id, test.tool, arguments); got != test.want {
			t.Errorf("%s of %s: accepted %t", test.tool, test.id, got)
		}
		done, cancel := context.WithCancel(t.Context())
		cancel()
		if m.f.Consents(done, mcpCall("", test.tool, arguments)) {
			t.Errorf("%s of %s: accepted twice", test.tool, test.id)
		}
	}
	m.asksByItself(1, "allowed", `{"n":0}`)
	m.asksByItself(2, "other", `{"n":1}`)
	m.asks(3, "other", `{"n":2}`, "")
	m.asksByItself(4, "other", `{"n":2}`)
	if got := strings.Join(j.decided, "\n"); got != `"agreed" accept policy.gate
1 params._meta.codex_approval_kind approvals.server
2 params._meta.codex_approval_kind approvals.server
4 params._meta.codex_approval_kind approvals.server` {
		t.Errorf("logged:\n%s", got)
	}
}

// The person's answer to a question that a server asks by itself is not remembered.
func TestAnswerToServerIsNotRemembered(t *testing.T) {
	m, _ := newMCPTurn(t)
	m.asksByItself(1, "other", `{"n":1}`)
	if m.starts("a", "other", `{"n":1}`) {
		t.Error("the server's question was remembered")
	}
	m.asks(2, "other", `{"n":1}`, `"persist":"session"`)
	if !m.starts("b", "other", `{"n":1}`) {
		t.Error("Codex's question was not remembered")
	}
}

// A hook whose call may be one of another tool, or is not reported, accepts nothing.
func TestMCPCallMustBeKnown(t *testing.T) {
	m, _ := newMCPTurn(t)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if m.f.Consents(done, mcpCall("", "allowed", `{}`)) {
		t.Error("accepted without an item")
	}
	m.reports("a", "allowed", `{}`)
	item := `{"method":"item/started","params":{"item":{"type":"mcpToolCall","id":"b","server":"tickets-","tool":"allowed","arguments":{}},"threadId":"t","turnId":"u"}}`
	m.f.Started(mcpCall("b", "allowed", `{}`))
	m.c.Play("item", "codex> "+item+"\neditor<= "+item+"\n")
	for range 2 {
		if m.f.Consents(done, mcpCall("", "allowed", `{}`)) {
			t.Error("accepted although another server's tool has the same name")
		}
	}
	m.reports("c", "ended", `{}`)
	end := strings.NewReplacer("item/started", "item/completed", `"b"`, `"c"`).Replace(item)
	m.c.Play("end", "codex> "+end+"\neditor<= "+end+"\n")
	if m.f.Consents(done, mcpCall("", "ended", `{}`)) {
		t.Error("accepted although the call has ended")
	}
}

// pluginSessions are sessions whose host has consented to what the app mail does.
type pluginSessions struct{ fakeSessions }

func (pluginSessions) Apps(context.Context, string) *answer.Apps {
	return &answer.Apps{ByID: map[string]answer.App{"mail": {Destructive: true, Servers: []string{"tickets"}}}}
}

// The host's consent to an app of a plugin counts for a question of Codex, and not for one that the app's server asks
// by itself, whatever its _meta says.
func TestHostConsentsToQuestionsOfCodex(t *testing.T) {
	j := &fakePolicy{folder: t.TempDir()}
	current := func() config.Approvals {
		return config.Approvals{Remember: "off", Timeout: config.Duration(time.Hour)}
	}
	f := approvals.New(approvals.Options{
		Approvals: current, Policy: j, Memory: approvals.NewMemory(approvals.MemoryOptions{Approvals: current}), KnowsCalls: func(string) bool { return true },
		Limiter: approvals.NewLimiter(), Sessions: pluginSessions{fakeSessions{"u"}}, Record: new(discardLog), Log: slog.New(slog.DiscardHandler),
	})
	m := mcpTurn{t, bridgetest.Start(t, f), f}
	m.c.Play("begun", begun)
	question := func(id int) string {
		return strings.Replace(elicitationOf(id, "send", `{}`), `"_meta":{`, `"_meta":{"app_id":"mail",`, 1)
	}
	m.starts("a", "send", `{}`)
	m.c.Play("of Codex", "codex> "+question(1)+"\n"+`codex< {"id":1,"result":{"action":"accept","content":null,"_meta":null}}`+"\n")
	m.c.Play("of the server", "codex> "+question(2)+"\neditor< "+strings.Replace(question(2), `"codex_approval_kind":"mcp_tool_call",`, "", 1)+"\n")
}
