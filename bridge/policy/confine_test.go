package policy_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/bridge/userrules"
)

// TestConfineCommand checks that a command stays inside if the user's rules for Codex allow it,
// unless the thread has no sandbox.
func TestConfineCommand(t *testing.T) {
	own := &userrules.Set{Rules: []userrules.Rule{{File: "user.rules", Line: 1, Decision: userrules.Allow, Pattern: [][]string{{"make"}}}}}
	inside := &policy.Thread{ID: "T", Sandbox: "workspace-write"}
	full := &policy.Thread{ID: "T", Sandbox: "danger-full-access"}
	p := compile(t, contract())
	for _, test := range []struct {
		tool, input string
		thread      *policy.Thread
		want        policy.Verdict
	}{
		{"Bash", `{"command":"make all"}`, inside, policy.Rewrite},
		{"Bash", `{"command":"make all"}`, nil, policy.Deny},
		{"Bash", `{"command":"make all"}`, full, policy.Pass},
		{"Bash", `{"command":"ls"}`, inside, policy.Pass},
		{"Bash", `{"command":1}`, inside, policy.Pass},
		{"Bash", `{}`, inside, policy.Pass},
		{"apply_patch", `{"command":"make all"}`, inside, policy.Pass},
		{"mcp__x__y", `{"command":"make all"}`, inside, policy.Pass},
		{"mcp__x__y", `{"command":"make all"}`, nil, policy.Deny},
	} {
		st := state()
		st.Thread = test.thread
		d := toolcall.Confine(p, toolcall.Call{Name: test.tool, Input: value(t, test.input)}, st, own, "")
		if d.Verdict != test.want {
			t.Errorf("%s %s in %+v: %v, want %v", test.tool, test.input, test.thread, d.Verdict, test.want)
		}
		other := toolcall.Confine(p, toolcall.Call{Name: test.tool, Input: value(t, test.input)}, st, own, "the hook x")
		if denies := test.want == policy.Rewrite || test.input == `{"command":"ls"}`; denies && (other.Err == nil || !strings.Contains(other.Err.Message, "the hook x may replace") || !strings.Contains(other.Err.Message, "user.rules")) ||
			!denies && other.Verdict != test.want {
			t.Errorf("%s %s beside another hook: %+v", test.tool, test.input, other)
		}
		if test.want == policy.Rewrite && (!strings.Contains(string(d.Message), "make all") || string(d.Message) == test.input) {
			t.Errorf("%s", d.Message)
		}
	}
}

// A command about which Codex would ask by a rule of its own is asked about, since Confine hides it from
// Codex. One that Codex would refuse is denied.
func TestRestrictionsOfCodexRules(t *testing.T) {
	prompt := userrules.Rule{File: "user.rules", Line: 2, Decision: userrules.Prompt, Pattern: [][]string{{"make"}, {"install"}}}
	own := &userrules.Set{Rules: []userrules.Rule{
		{File: "user.rules", Line: 1, Decision: userrules.Allow, Pattern: [][]string{{"make"}}}, prompt,
		{File: "user.rules", Line: 3, Decision: userrules.Forbidden, Pattern: [][]string{{"make"}, {"push"}}},
	}}
	onRequest := &policy.Thread{ID: "T", Sandbox: "workspace-write", Approval: []byte(`"on-request"`)}
	with := func(sandbox, approval string) *policy.Thread {
		return &policy.Thread{ID: "T", Sandbox: sandbox, Approval: []byte(approval)}
	}
	for name, test := range map[string]struct {
		command  string
		thread   *policy.Thread
		escalate bool // the call requests to leave the sandbox
		noGate   bool
		allowed  bool // by a rule of the policy
		denied   bool
		asks     bool
		terms    bool // the rule counts for remembered answers
	}{
		"prompt":                {command: "make install", thread: onRequest, asks: true, terms: true},
		"allowed":               {command: "make install", thread: onRequest, allowed: true, terms: true},
		"allowed, no question":  {command: "make install", thread: with("workspace-write", `"never"`), allowed: true, denied: true},
		"allowed and forbidden": {command: "make push", thread: onRequest, allowed: true, denied: true},
		"no restriction":        {command: "make all", thread: onRequest},
		"no allow rule":         {command: "ls", thread: onRequest},
		"forbidden":             {command: "make push", thread: onRequest, denied: true},
		"no question":           {command: "make install", thread: with("workspace-write", `"never"`), denied: true},
		"rules off in granular": {command: "make install", thread: with("workspace-write", `{"granular":{"sandbox_approval":true,"rules":false}}`), denied: true},
		"no gate":               {command: "make install", thread: onRequest, noGate: true, denied: true},
		"no thread":             {command: "make install", denied: true},
		"no sandbox":            {command: "make install", thread: with("danger-full-access", `"on-request"`), terms: true},
		"Codex asks":            {command: "make install", thread: with("workspace-write", `"untrusted"`), terms: true},
		"Codex asks to leave":   {command: "make install", thread: onRequest, escalate: true, terms: true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := contract()
			cfg.Gate = !test.noGate
			p, st := compile(t, cfg), state()
			st.Thread, st.EscalationRequested = test.thread, test.escalate
			use := toolcall.Call{Name: "Bash", Input: value(t, `{"command":"`+test.command+`"}`)}
			d := toolcall.ApplyCodexRules(p, policy.Decision{Verdict: policy.Pass, AllowedByRule: test.allowed}, use, st, own)
			if (d.Verdict == policy.Deny) != test.denied || d.Ask != test.asks || test.terms != slices.Equal(d.AnswerTerms.AskedBy, []string{prompt.Digest()}) {
				t.Errorf("%+v", d)
			}
			if d.Ask && !strings.Contains(d.AskReason, "user.rules:2 asks about it") || test.denied && !strings.Contains(d.Err.Message, "user.rules:") {
				t.Errorf("%q, %v", d.AskReason, d.Err)
			}
			if before := (policy.Decision{Verdict: policy.Pass, Ask: true, AskReason: "why"}); test.asks {
				if d := toolcall.ApplyCodexRules(p, before, use, st, own); d.AskReason != "why" {
					t.Errorf("a second reason: %+v", d)
				}
			}
		})
	}
	st := state()
	st.Thread = onRequest
	p := compile(t, contract())
	for command, want := range map[string]policy.Verdict{"make install": policy.Rewrite, "make push": policy.Deny} {
		d := toolcall.Confine(p, toolcall.Call{Name: "Bash", Input: value(t, `{"command":"`+command+`"}`)}, st, own, "")
		if d.Verdict != want || want == policy.Deny && (!strings.Contains(d.Err.Message, "user.rules:3 forbids it") || strings.Contains(d.Err.Message, "leave the sandbox")) {
			t.Errorf("%s: %+v, %v", command, d, d.Err)
		}
	}
}

// TestAllowRulesKeepInside checks that an allow rule accepts only actions that stay in the sandbox.
func TestAllowRulesKeepInside(t *testing.T) {
	cfg := contract()
	cfg.Escalation, cfg.Network = "ask", true
	cfg.Rules = []config.Rule{{Command: "ls **", Decision: "allow"}}
	p := compile(t, cfg)
	for _, test := range []struct {
		name       string
		sandbox    string // "" no thread
		escalation rules.Escalation
		want       policy.Verdict
	}{
		{"read-only", "read-only", rules.Sandboxed, policy.Accept},
		{"workspace-write", "workspace-write", rules.Sandboxed, policy.Accept},
		{"no sandbox", "danger-full-access", rules.Sandboxed, policy.Pass},
		{"outside", "workspace-write", rules.Escalated, policy.Rewrite},
		{"no thread", "", rules.Sandboxed, policy.Pass},
	} {
		st := state()
		st.Escalation, st.Thread.Sandbox, st.Thread.Approval = test.escalation, test.sandbox, json.RawMessage(`"on-request"`)
		if test.sandbox == "" {
			st.Thread = nil
		}
		if d := serverrequest.Decide(p, commandQuestion, value(t, `{"threadId":"T","cwd":"/code/proj","command":"ls"}`), st); d.Verdict != test.want {
			t.Errorf("%s: %v, want %v", test.name, d.Verdict, test.want)
		}
	}
}

// TestPatchesWithoutGate checks that the bridge asks about a patch that leaves the sandbox only if
// it asks at all.
func TestPatchesWithoutGate(t *testing.T) {
	for gate, want := range map[bool]bool{true: true, false: false} {
		cfg := contract()
		cfg.Gate, cfg.Escalation = gate, "ask"
		st := state()
		st.Thread.Sandbox, st.Thread.Approval = "workspace-write", json.RawMessage(`"on-request"`)
		input := value(t, `{"command":"*** Begin Patch\n*** Add File: /etc/new\n+x\n*** End Patch"}`)
		d := toolcall.Decide(compile(t, cfg), toolcall.Call{ID: "c", Name: "apply_patch", Input: input, Cwd: "/code/proj"}, st)
		if d.Ask != want {
			t.Errorf("gate %v: %+v", gate, d)
		}
	}
}
