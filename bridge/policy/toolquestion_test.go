package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rules"
)

// The verdict of policy.methods about a question of Codex counts for the question of the bridge in its form: "deny" refuses
// the call, and under "ask" no rule allows it.
func TestMethodVerdictsOfToolQuestions(t *testing.T) {
	const command, patch, form = "item/commandExecution/requestApproval", "item/fileChange/requestApproval", "mcpServer/elicitation/request"
	const change = "*** Begin Patch\n*** Add File: new\n+x\n*** End Patch"
	bash := func(line string) string { return `{"command":` + jsonText(line) + `}` }
	for _, test := range []struct {
		tool, input, method string
		plain, ask, deny    string // the decision without a verdict for the method, and with each
	}{
		{"Bash", bash("ls"), command, "ask", "ask", "deny"},
		{"Bash", bash("make test"), command, "pass", "ask", "deny"}, // a rule allows it
		{"Bash", bash("mkdir x"), command, "ask", "ask", "deny"},    // a rule asks
		{"Bash", bash("git push"), command, "deny", "deny", "deny"},
		{"Bash", bash("ls"), patch, "ask", "ask", "ask"},
		{"Bash", bash("apply_patch <<'E'\n" + change + "\nE"), patch, "ask", "ask", "deny"},
		{"apply_patch", bash(change), patch, "ask", "ask", "deny"},
		{"apply_patch", bash(change), command, "ask", "ask", "ask"},
		{"mcp__files__write", `{}`, form, "ask", "ask", "deny"}, // a rule asks
		{"mcp__files__read", `{}`, form, "pass", "pass", "pass"},
	} {
		for verdict, want := range map[string]string{"": test.plain, "ask": test.ask, "deny": test.deny} {
			cfg := contract()
			cfg.Mode, cfg.Gate, cfg.Escalation = "enforce", true, "ask"
			cfg.Rules = []config.Rule{
				{Command: "make test", Decision: "allow"}, {Command: "mkdir **", Decision: "ask"}, {Command: "git push", Decision: "deny"},
				{Tool: "mcp__files__write", Decision: "ask"},
			}
			if cfg.Methods = map[string]string{test.method: verdict}; verdict == "" {
				cfg.Methods = nil
			}
			st := state()
			st.Thread = &policy.Thread{ID: "T", Workspace: "/code/proj", Sandbox: "workspace-write", Approval: json.RawMessage(`"on-request"`), Gated: true}
			st.Escalation = rules.Sandboxed
			call := toolcall.Call{Name: test.tool, Input: value(t, test.input), Cwd: "/code/proj", Shell: "bash"}
			d, got := toolcall.Decide(compile(t, cfg), call, st), "pass"
			switch {
			case d.Err != nil:
				got = "deny"
			case d.Ask:
				got = "ask"
			}
			if got != want || want == "deny" && test.plain != "deny" && d.Refusal().Rule != `policy.methods."`+test.method+`"` {
				t.Errorf("%s %s, %s = %q: %s, want %s (%v)", test.tool, test.input, test.method, verdict, got, want, d.Err)
			}
			if explained := toolcall.Explain(compile(t, cfg), call, st); explained.Decision != strings.Replace(want, "pass", "allow", 1) {
				t.Errorf("%s %s, %s = %q: explained as %+v", test.tool, test.input, test.method, verdict, explained)
			}
		}
	}
}

func jsonText(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
