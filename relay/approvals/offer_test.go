package approvals_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/relay/approvals"
	"codex-bridge.example/rpc"
)

// amendment is the change of the user's rules that Codex offers for make.
const amendment = `{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["make"]}}`

// asksOf starts a conversation under approvals.remember, in which what is asked may leave the sandbox.
func asksOf(t *testing.T, remember string, leaves bool, since time.Time, cut cutting) (*bridgetest.Conversation, *fakePolicy) {
	t.Helper()
	j := &fakePolicy{folder: t.TempDir(), escalates: leaves, since: since}
	current := func() config.Approvals {
		return config.Approvals{Remember: remember, TTL: config.Duration(time.Hour), Max: 8, Timeout: config.Duration(time.Hour)}
	}
	memory := approvals.NewMemory(approvals.MemoryOptions{Approvals: func() config.Approvals {
		a := current()
		if a.Remember == "always" {
			a.Remember = "session" // this test has no store
		}
		return a
	}})
	c := bridgetest.Start(t, cut, approvals.New(approvals.Options{
		Approvals: current, Policy: j, Memory: memory, Limiter: approvals.NewLimiter(), Sessions: fakeSessions{"u"}, Record: new(discardLog), Log: slog.New(slog.DiscardHandler),
	}))
	c.Bind("cwd", j.folder)
	c.Play("begun", begun)
	return c, j
}

// cutting is the policy, which cuts each answer of the client to this one; "": to none.
type cutting string

func (c cutting) Routes() []bridge.Route {
	return []bridge.Route{{From: bridge.Codex, Method: bridge.Other, Why: "a test", HandleServer: func(_ context.Context, msg *bridge.ServerMessage) {
		if id := msg.ID.Clone(); c != "" && id.IsValid() {
			msg.OnResponse(func(r *bridge.ClientResponse) { r.Line = append(rpc.EncodeResult(id, []byte(c)), '\n') })
		}
	}}}
}

func (cutting) Stage() bridge.Stage { return bridge.BeforeGuard }

// The client is offered the answers of Codex that the bridge keeps, and no others.
func TestOnlyKeptAnswersAreOffered(t *testing.T) {
	command := func(decisions, more string) string {
		return fmt.Sprintf(`{"method":"item/commandExecution/requestApproval","id":1,"params":{"threadId":"t","turnId":"u","command":"make","cwd":"$cwd"%s,"availableDecisions":[%s]}}`, more, decisions)
	}
	tool := func(persist string) string {
		return fmt.Sprintf(`{"method":"mcpServer/elicitation/request","id":1,"params":{"threadId":"t","turnId":"u","serverName":"s","mode":"form","requestedSchema":{"type":"object","properties":{}},"_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":"x"%s}}}`, persist)
	}
	question := func(id, options string) string {
		return fmt.Sprintf(`{"method":"item/tool/requestUserInput","id":1,"params":{"threadId":"t","turnId":"u","questions":[{"id":%q,"options":[%s]}]}}`, id, options)
	}
	const proposed, hosts = `,"proposedExecpolicyAmendment":["make"]`, `,"proposedNetworkPolicyAmendments":[{"host":"h","action":"allow"}]`
	const network = `{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"h","action":"deny"}}}`
	const once, lasting = `{"label":"Allow"}`, `{"label":"Allow for this session"}`
	all := command(`"accept","acceptForSession",`+amendment+`,"cancel"`, proposed)
	modelQuestion := strings.Replace(question("mcp_tool_call_approval_1", once+","+lasting), `"options"`, `"isOther":true,"options"`, 1)
	for name, test := range map[string]struct {
		remember   string
		leaves     bool
		since      time.Time
		from, want string
	}{
		"off":                        {"off", false, time.Time{}, all, command(`"accept","cancel"`, "")},
		"session":                    {"session", false, time.Time{}, all, command(`"accept","acceptForSession","cancel"`, "")},
		"always":                     {"always", false, time.Time{}, all, all},
		"leaves the sandbox":         {"always", true, time.Time{}, all, command(`"accept","cancel"`, "")},
		"Codex must always ask":      {"always", false, time.Now().Add(time.Hour), all, command(`"accept","cancel"`, "")},
		"a host":                     {"always", false, time.Time{}, command(`"accept",`+network+`,"cancel"`, hosts), command(`"accept","cancel"`, "")},
		"only proposed":              {"off", false, time.Time{}, command(`"accept","cancel"`, proposed), command(`"accept","cancel"`, "")},
		"nothing would be left":      {"off", false, time.Time{}, command(`"acceptForSession"`, ""), command(`"acceptForSession"`, "")},
		"a tool":                     {"always", false, time.Time{}, tool(`,"persist":["session","always"]`), tool("")},
		"a tool, one text":           {"off", false, time.Time{}, tool(`,"persist":"session"`), tool("")},
		"a tool, as a question":      {"always", false, time.Time{}, question("mcp_tool_call_approval_1", once+","+lasting), question("mcp_tool_call_approval_1", once)},
		"one of the model by its id": {"off", false, time.Time{}, modelQuestion, modelQuestion},
		"a question of the model":    {"off", false, time.Time{}, question("q", once+","+lasting), question("q", once+","+lasting)},
	} {
		t.Run(name, func(t *testing.T) {
			c, j := asksOf(t, test.remember, test.leaves, test.since, "")
			c.Play("question", "codex> "+test.from+"\neditor< "+test.want+"\n")
			if logged := len(j.decided) > 0; logged != (test.from != test.want) {
				t.Errorf("logged: %q", j.decided)
			}
		})
	}
}

// The span of a consent to a known tool is offered as far as the bridge keeps it.
func TestKeptSpanOfToolIsOffered(t *testing.T) {
	m, _ := newMCPTurn(t) // approvals.remember is session
	m.starts("a", "other", `{}`)
	question := func(id int, meta string) string {
		return strings.Replace(elicitationOf(id, "other", `{}`), `"_meta":{`, `"_meta":{`+meta, 1)
	}
	m.c.Play("known", "codex> "+question(1, `"persist":["session","always"],`)+"\neditor<= "+question(1, `"persist":["session"],`)+"\n")
	m.c.Play("of the server", "codex> "+question(2, `"persist":["session","always"],`)+"\neditor<= "+strings.Replace(question(2, ""), `"codex_approval_kind":"mcp_tool_call",`, "", 1)+"\n")
}

// A client that offers an answer that is not kept learns that it counts once.
func TestAnswerThatIsCutWarns(t *testing.T) {
	const command, patch = `"method":"item/commandExecution/requestApproval"`, `"method":"item/fileChange/requestApproval"`
	const off, leaves, never = `remember = "off"`, "leaves the sandbox", "no answer to such a question"
	for name, test := range map[string]struct {
		remember         string
		leaves           bool
		asked            string
		answer, accepted string
		want             string // in the warning; "": none
	}{
		"kept":              {"session", false, command, `{"decision":"acceptForSession"}`, `{"decision":"accept"}`, ""},
		"once":              {"off", false, command, `{"decision":"accept"}`, `{"decision":"accept"}`, ""},
		"not kept":          {"off", false, command, `{"decision":"acceptForSession"}`, `{"decision":"accept"}`, off},
		"leaves":            {"session", true, command, `{"decision":` + amendment + `}`, `{"decision":"accept"}`, leaves},
		"a patch":           {"session", false, patch, `{"decision":"acceptForSession"}`, `{"decision":"accept"}`, never},
		"refused meanwhile": {"off", false, command, `{"decision":"acceptForSession"}`, `{"decision":"decline"}`, ""},
		"permissions": {"session", false, `"method":"item/permissions/requestApproval"`, `{"permissions":{"network":{"enabled":true}},"scope":"session"}`,
			`{"permissions":{"network":{"enabled":true}},"scope":"turn"}`, never},
		"no permissions": {"session", false, `"method":"item/permissions/requestApproval"`, `{"permissions":{},"scope":"session"}`, `{"permissions":{},"scope":"turn"}`, ""},
		"a tool":         {"session", false, `"method":"mcpServer/elicitation/request"`, `{"action":"accept","_meta":{"persist":"always"}}`, `{"action":"accept"}`, "does not offer"},
		"a tool, as a question": {"off", false, `"method":"item/tool/requestUserInput"`, `{"answers":{"mcp_tool_call_approval_1":{"answers":["Allow for this session"]}}}`,
			`{"answers":{"mcp_tool_call_approval_1":{"answers":["Allow"]}}}`, off},
	} {
		t.Run(name, func(t *testing.T) {
			text := warningOf(t, test.remember, test.leaves, test.asked, test.answer, test.accepted)
			if test.want == "" && text != "" || !strings.Contains(text, test.want) {
				t.Errorf("warned %q", text)
			}
		})
	}
}

// warningOf lets a client answer a question, and returns the warning that it gets; "" for none. Codex gets the
// answer as the policy cuts it.
func warningOf(t *testing.T, remember string, leaves bool, asked, answer, cut string) (text string) {
	t.Helper()
	c, j := asksOf(t, remember, leaves, time.Time{}, cutting(cut))
	c.Play("question", fmt.Sprintf(`
codex> {%s,"id":1,"params":{"threadId":"t","turnId":"u","itemId":"i","command":"make","cwd":"$cwd","_meta":{"codex_approval_kind":"mcp_tool_call"},"questions":[{"id":"mcp_tool_call_approval_1"}]}}
editor< {%[1]s,"id":1,"params":"$params"}
editor> {"id":1,"result":%s}
codex< {"id":1,"result":%s}
`, asked, answer, cut))
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, line := range j.decided {
		if rest, ok := strings.CutPrefix(line, "warned t: "); ok {
			text += rest
		}
	}
	return text
}
