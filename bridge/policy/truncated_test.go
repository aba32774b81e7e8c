package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// A command that the client runs by itself is held to the rules as codex would read it, not as
// far as its message is kept: a filler in front can take all places but that of the first word.
func TestOwnCommandTruncated(t *testing.T) {
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

// What would have to be changed at more than a thousand places is refused: else each of its
// 60,000 members would be looked for among all of them.
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
		asked := policy.ServerRequest{Method: "mcpServer/elicitation/request", Params: value(t, `{"_meta":{"codex_approval_kind":"mcp_tool_call"}}`)}
		for name, line := range map[string]string{
			"the answer":  `{"id":1,"result":{"action":"accept","k":1%s}}`,
			"its content": `{"id":1,"result":{"action":"accept","content":{"k":1%s}}}`,
		} {
			d := p.DecideAnswer(asked, message(t, fmt.Sprintf(line, members(n))), state())
			if d.Verdict != want || want == policy.Deny && d.Err.Code != rpc.CodeTooLarge {
				t.Errorf("%d in %s: %s %v", n, name, d.Verdict, d.Err)
			}
		}
	}
}
