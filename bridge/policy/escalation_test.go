package policy_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/bridge/rules"
)

const (
	commandQuestion = "item/commandExecution/requestApproval"
	fileQuestion    = "item/fileChange/requestApproval"
)

// TestRulesAllowNoReruns checks that an allow rule accepts a command only if the acceptance keeps
// the command in the sandbox, and not after an approval policy under which Codex runs accepted
// commands again outside.
func TestRulesAllowNoReruns(t *testing.T) {
	cfg := contract()
	cfg.Rules = []config.Rule{{Tool: "shell", Command: "make", Decision: "allow"}}
	p := compile(t, cfg)
	params := value(t, `{"threadId":"T","command":"make","cwd":"/code/proj"}`)
	for _, test := range []struct {
		name   string
		thread policy.Thread
		stays  bool
	}{
		{"on-request", policy.Thread{Approval: json.RawMessage(`"on-request"`)}, true},
		{"on-request now, untrusted before", policy.Thread{Approval: json.RawMessage(`"on-request"`), RerunsOutside: true}, false},
		{"untrusted", policy.Thread{Approval: json.RawMessage(`"untrusted"`)}, false},
		{"granular that asks", policy.Thread{Approval: json.RawMessage(`{"granular":{"sandbox_approval":true}}`)}, false},
		{"granular that does not", policy.Thread{Approval: json.RawMessage(`{"granular":{"sandbox_approval":false,"rules":true}}`)}, true},
	} {
		st := state()
		st.Escalation = rules.Sandboxed
		st.Thread = &test.thread
		st.Thread.ID, st.Thread.Workspace, st.Thread.Sandbox = "T", "/code/proj", "workspace-write"
		if got := serverrequest.AcceptStaysInSandbox(p, commandQuestion, params, st); got != test.stays {
			t.Errorf("%s: stays %v, want %v", test.name, got, test.stays)
		}
		if got := serverrequest.Decide(p, commandQuestion, params, st).Verdict == policy.Accept; got != test.stays {
			t.Errorf("%s: accepted by the rule: %v, want %v", test.name, got, test.stays)
		}
	}
	for approval, want := range map[string]bool{`"on-request"`: false, `"never"`: false, `"untrusted"`: true, `{"granular":{}}`: true, `"other"`: true, `{`: true} {
		if got := policy.RerunsOutside(json.RawMessage(approval)); got != want {
			t.Errorf("%s: reruns %v, want %v", approval, got, want)
		}
	}
}

// TestQuestionsUnderSandboxApproval checks that the reason of a question tells whether the command
// would leave the sandbox or the user's own rules require the question.
func TestQuestionsUnderSandboxApproval(t *testing.T) {
	p := compile(t, contract())
	for _, test := range []struct {
		approval, reason string
		remains          bool
	}{
		{`{"granular":{"sandbox_approval":true}}`, "", false},
		{`{"granular":{"sandbox_approval":true}}`, "`make` requires approval by policy", true},
		{`{"granular":{"sandbox_approval":true}}`, "`make` requires approval by policy, it says", false},
		{`{"granular":{"sandbox_approval":false,"rules":true}}`, "", true},
		{`"on-request"`, "", true},
		{`"on-request"`, "command failed; retry without sandbox?", false},
	} {
		st := state()
		st.Escalation = rules.Sandboxed
		st.Thread.Approval = json.RawMessage(test.approval)
		params := value(t, `{"threadId":"T","command":"make","reason":`+strconv.Quote(test.reason)+`}`)
		if got := serverrequest.RunsInSandbox(p, commandQuestion, params, st); got != test.remains {
			t.Errorf("%s, %q: remains %v, want %v", test.approval, test.reason, got, test.remains)
		}
	}
}

// TestPatchesOfSensitiveFiles checks that a patch to CODEX_HOME or a sensitive path is refused even
// if all files are writable, except for a worktree of Codex.
func TestPatchesOfSensitiveFiles(t *testing.T) {
	cfg := contract()
	cfg.Sandbox = "danger-full-access"
	p := compile(t, cfg)
	for path, remains := range map[string]bool{
		"/home/ada/notes":                               true,
		"/home/ada/.codex/config.toml":                  false,
		"/home/ada/.CODEX/rules/default.rules":          false,
		"/home/ada/.codex":                              false,
		"/home/ada/.config/codex-bridge/config.toml":    false,
		"/home/ada/.config/codex-bridge":                false, // holds it
		"/home/ada/.local/state/codex-bridge/state.db":  false,
		"/home/ada/.local/state/codex-bridged":          true,
		"/home/ada/.config/codex-bridge/config.toml.md": true,
	} {
		st := state()
		st.Thread.Sandbox = "danger-full-access"
		st.Files = []string{"/home/ada/other", path}
		params := value(t, `{"threadId":"T","itemId":"i"}`)
		if got := serverrequest.RunsInSandbox(p, fileQuestion, params, st); got != remains {
			t.Errorf("%s: remains %v, want %v", path, got, remains)
		}
		d := serverrequest.Decide(p, fileQuestion, params, st)
		if refused := d.Verdict == policy.Deny; refused == remains {
			t.Errorf("%s: %+v", path, d)
		}
		legacy := value(t, `{"fileChanges":{`+strconv.Quote(path)+`:{"type":"add","content":""}}}`)
		if got := serverrequest.RunsInSandbox(p, "applyPatchApproval", legacy, st); got != remains {
			t.Errorf("%s, legacy: remains %v, want %v", path, got, remains)
		}
	}
}
