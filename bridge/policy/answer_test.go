package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/bridge/toml"
	"codex-bridge.example/rpc"
)

// TestAnswers runs testdata/answers. A file is a txtar archive; each of its files
// is one case:
//
//	policy> key = value     over the policy of the contract, TOML
//	state> as in testdata/policy
//	asked> METHOD {params}
//	editor> the client's answer
//	codex< what Codex gets; "the same" for the line as it came
//	change> FIELD RULE      one for each change, in order
func TestAnswers(t *testing.T) { playCases(t, "answers", answered) }

func answered(t *testing.T, text string) string {
	t.Helper()
	cfg, st := contract(), state()
	st.Thread = &policy.Thread{ID: "T", Workspace: "/code/proj"}
	st.Escalation, st.Files = rules.Sandboxed, []string{"/code/proj/a"}
	var asked serverrequest.Request
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "codex<", "change>", "error>":
			continue
		case "policy>":
			if err := toml.Decode(rest, &cfg); err != nil {
				t.Fatal(err)
			}
		case "state>":
			setState(t, &st, rest)
		case "asked>":
			method, params, _ := strings.Cut(rest, " ")
			asked = serverrequest.Request{Method: method, Params: value(t, params)}
		case "editor>":
			m, err := rpc.ParseMessage([]byte(rest))
			if err != nil {
				t.Fatal(err)
			}
			out.WriteString(line + "\n")
			d := serverrequest.DecideAnswer(compile(t, cfg), asked, m, st)
			checkAnswer(t, cfg, asked, m, d, st)
			out.WriteString(printed(d, rest))
			continue
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}

// TestClientCommandTruncated checks that the rules see a client's command as Codex reads it: a
// filler in front could fill the parser's limit.
func TestClientCommandTruncated(t *testing.T) {
	cfg := contract()
	cfg.Methods = map[string]string{"process/spawn": "allow"}
	cfg.Rules = []config.Rule{{Tool: "shell", Command: "git push **", Decision: "deny", Reason: "no"}}
	p := compile(t, cfg)
	const kept = 1 << 17 // values, by rpc
	for _, fill := range []int{0, kept - 10, kept - 9, kept - 8, kept - 7, kept - 6, kept} {
		m := message(t, `{"method":"process/spawn","id":1,"params":{"x":[`+strings.Repeat("0,", fill)+`0],"command":["git","push","--force"]}}`)
		if d := p.Decide(m, policy.State{}); d.Verdict != policy.Deny {
			t.Errorf("behind %d values it is %s", fill, d.Verdict)
		}
	}
}

// TestTooManyChanges checks that a message with more than 1000 changes is refused, because each
// change of 60,000 members would search all of them.
func TestTooManyChanges(t *testing.T) {
	members := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"k%d":1`, i)
		}
		return b.String()
	}
	p := compile(t, contract())
	for n, want := range map[int]policy.Verdict{999: policy.Rewrite, 1000: policy.Deny, 60000: policy.Deny} {
		for name, line := range map[string]string{
			"members":    `{"method":"initialize","id":1,"params":{"k":1%s}}`,
			"an overlay": `{"method":"thread/start","id":1,"params":{"config":{"k":1%s},"approvalPolicy":"on-request","approvalsReviewer":"user","sandbox":"read-only"}}`,
		} {
			d := p.Decide(message(t, fmt.Sprintf(line, members(n))), state())
			if d.Verdict != want || want == policy.Deny && d.Err.Code != rpc.CodeTooLarge {
				t.Errorf("%d in %s: %s %v", n, name, d.Verdict, d.Err)
			}
		}
		asked := serverrequest.Request{Method: "mcpServer/elicitation/request", Params: value(t, `{"_meta":{"codex_approval_kind":"mcp_tool_call"}}`)}
		for name, line := range map[string]string{
			"the answer":  `{"id":1,"result":{"action":"accept","k":1%s}}`,
			"its content": `{"id":1,"result":{"action":"accept","content":{"k":1%s}}}`,
		} {
			d := serverrequest.DecideAnswer(p, asked, message(t, fmt.Sprintf(line, members(n))), state())
			if d.Verdict != want || want == policy.Deny && d.Err.Code != rpc.CodeTooLarge {
				t.Errorf("%d in %s: %s %v", n, name, d.Verdict, d.Err)
			}
		}
	}
}
