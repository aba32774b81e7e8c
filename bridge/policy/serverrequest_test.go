package policy_test

import (
	"strings"
	"testing"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

const unverified = "its settings are not verified"

// TestRequestsOfRevokedThread checks that a request of Codex is declined in a thread that may take
// no turn any more if Codex would act on consent. Questions of a server or the model to a person
// pass.
func TestRequestsOfRevokedThread(t *testing.T) {
	cfg := contract()
	cfg.Escalation = "ask"
	p := compile(t, cfg)
	for _, test := range []struct {
		method, params string
		answer, want   string // the client's answer, and what Codex gets instead; "" the same
		passes         bool
	}{
		{commandQuestion, `{"command":"ls"}`, `{"decision":"accept"}`, `{"decision":"decline"}`, false},
		{commandQuestion, `{"command":"ls"}`, `{"decision":"acceptForSession"}`, `{"decision":"decline"}`, false},
		{commandQuestion, `{"command":"ls"}`, `{"decision":"cancel"}`, "", false},
		{fileQuestion, `{"itemId":"i"}`, `{"decision":"accept"}`, `{"decision":"decline"}`, false},
		{"execCommandApproval", `{"command":["ls"]}`, `{"decision":"approved"}`, `{"decision":{"denied":{"rejection":"refused by policy"}}}`, false},
		{"applyPatchApproval", `{"fileChanges":{"/code/proj/a":{}}}`, `{"decision":"approved"}`, `{"decision":{"denied":{"rejection":"refused by policy"}}}`, false},
		{"item/permissions/requestApproval", `{"permissions":{"fileSystem":{"read":["/code/proj"]}}}`, `{"permissions":{"fileSystem":{"read":["/code/proj"]}},"scope":"turn"}`, `{"permissions":{},"scope":"turn"}`, false},
		{"item/permissions/requestApproval", `{"permissions":{"fileSystem":{"read":["/code/proj"]}}}`, `{"permissions":{},"scope":"turn"}`, "", false},
		{"mcpServer/elicitation/request", `{"_meta":{"codex_approval_kind":"mcp_tool_call"}}`, `{"action":"accept","content":{},"_meta":null}`, `{"action":"decline","content":{},"_meta":null}`, false},
		{"mcpServer/elicitation/request", `{"_meta":{"codex_approval_kind":"mcp_tool_call"}}`, `{"action":"cancel","content":{},"_meta":null}`, "", false},
		{"mcpServer/elicitation/request", `{"serverName":"s"}`, `{"action":"accept","content":{},"_meta":null}`, "", true},
		{"item/tool/requestUserInput", `{"questions":[{"id":"mcp_tool_call_approval_c"}]}`, `{"answers":{"mcp_tool_call_approval_c":{"answers":["Allow"]}}}`, `{"answers":{"mcp_tool_call_approval_c":{"answers":[]}}}`, false},
		{"item/tool/requestUserInput", `{"questions":[{"id":"mcp_tool_call_approval_c"}]}`, `{"answers":{"mcp_tool_call_approval_c":{"answers":[]}}}`, "", false},
		{"item/tool/requestUserInput", `{"questions":[{"id":"mcp_tool_call_approval_c","isOther":false}]}`, `{"answers":{"mcp_tool_call_approval_c":{"answers":["Allow"]}}}`, `{"answers":{"mcp_tool_call_approval_c":{"answers":[]}}}`, false},
		{"item/tool/requestUserInput", `{"questions":[{"id":"mcp_tool_call_approval_c","isOther":true}]}`, `{"answers":{"mcp_tool_call_approval_c":{"answers":["x"]}}}`, "", true},
		{"item/tool/requestUserInput", `{"questions":[{"id":"skill_mcp_dependency_install","isOther":true}]}`, `{"answers":{"skill_mcp_dependency_install":{"answers":["x"]}}}`, "", true},
		{"item/tool/requestUserInput", `{"questions":[{"id":"mcp_tool_call_approval_c","isOther":true},{"id":"mcp_tool_call_approval_d"}]}`, `{"answers":{"mcp_tool_call_approval_d":{"answers":["Allow"]}}}`, `{"answers":{"mcp_tool_call_approval_d":{"answers":[]}}}`, false},
		{"item/tool/requestUserInput", `{"questions":[{"id":"q"}]}`, `{"answers":{"q":{"answers":["x"]}}}`, "", true},
		{"item/tool/call", `{"tool":"lookup"}`, "", "", false},
		{"currentTime/read", `{}`, "", "", true},
	} {
		for _, forgotten := range []bool{false, true} {
			st := state()
			st.Escalation, st.Files = rules.Sandboxed, []string{"/code/proj/a"}
			if st.ThreadRevoked = forgotten; forgotten {
				st.Thread = nil
			}
			d := serverrequest.Decide(p, test.method, value(t, test.params), st)
			if got := d.Verdict == policy.Deny && strings.Contains(d.Err.Message, unverified); got != (forgotten && !test.passes) {
				t.Errorf("%s, forgotten %t: %s %v", test.method, forgotten, d.Verdict, d.Err)
			}
			if !forgotten || test.answer == "" {
				continue
			}
			m, err := rpc.ParseMessage([]byte(`{"id":1,"result":` + test.answer + `}`))
			if err != nil {
				t.Fatal(err)
			}
			want := test.want
			if want == "" {
				want = test.answer
			}
			d = serverrequest.DecideAnswer(p, serverrequest.Request{Method: test.method, Params: value(t, test.params)}, m, st)
			if got := strings.TrimSpace(string(d.Message)); got != `{"id":1,"result":`+want+`}` || (d.Verdict == policy.Pass) != (test.want == "") {
				t.Errorf("%s: %s becomes %s: %s", test.method, test.answer, got, d.Verdict)
			}
		}
	}
}

// TestToolCallsOfUnverifiedThread checks that a tool call runs only in a verified thread or as
// internal work of Codex.
func TestToolCallsOfUnverifiedThread(t *testing.T) {
	p := compile(t, contract())
	for _, tool := range []string{"Bash", "mcp__x__y", "lookup"} {
		for name, test := range map[string]struct {
			change func(*policy.State)
			denied bool
		}{
			"verified":     {func(*policy.State) {}, false},
			"not verified": {func(st *policy.State) { st.Thread = nil }, true},
			"Codex's own":  {func(st *policy.State) { st.Thread, st.CodexInternal = nil, true }, false},
		} {
			st := state()
			test.change(&st)
			d := toolcall.Decide(p, toolcall.Call{Name: tool, Input: value(t, `{"command":"ls"}`), Cwd: "/code/proj"}, st)
			if got := d.Verdict == policy.Deny && strings.Contains(d.Err.Message, unverified); got != test.denied {
				t.Errorf("%s, %s: %s %v", tool, name, d.Verdict, d.Err)
			}
		}
	}
	st, cfg := state(), contract()
	cfg.WritableRoots = []string{"/code/proj"}
	p, st.Files = compile(t, cfg), []string{"/code/proj/a"}
	for _, known := range []bool{true, false} {
		if !known {
			st.Thread = nil
		}
		if d := serverrequest.Decide(p, fileQuestion, value(t, `{"itemId":"i"}`), st); (d.Verdict == policy.Deny) == known {
			t.Errorf("a patch of a thread that is known %t: %s", known, d.Verdict)
		}
	}
}
