package policy_test

import (
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/policytest"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rules"
)

func TestDecideProgram(t *testing.T) {
	const onRequest, write = `"on-request"`, "workspace-write"
	deploy, old := rules.Program{Path: "/opt/deploy", Args: []string{"deploy", "x"}}, rules.Program{Path: "/opt/old", Args: []string{"old"}}
	denied := policytest.ProgramPolicy()
	denied.Methods = map[string]string{"item/commandExecution/requestApproval": "deny"}
	ungated := policytest.ProgramPolicy()
	ungated.Gate = false
	for _, test := range []struct {
		name    string
		cfg     config.Policy
		st      policy.State
		program rules.Program
		verdict policy.Verdict
		ask     bool
		reason  string // a part of the question or of the refusal
	}{
		{"no rule", policytest.ProgramPolicy(), policytest.ProgramState(onRequest, write), rules.Program{Path: "/usr/bin/ls", Args: []string{"ls"}}, policy.Pass, false, ""},
		{"an exception", policytest.ProgramPolicy(), policytest.ProgramState(onRequest, write), policytest.GitProgram("status"), policy.Pass, false, ""},
		{"outside the sandbox it does not count", policytest.ProgramPolicy(), policytest.ProgramState(onRequest, "danger-full-access"), policytest.GitProgram("status"), policy.Pass, true, "Look at git (policy.rule, "},
		{"denied", policytest.ProgramPolicy(), policytest.ProgramState(onRequest, write), policytest.GitProgram("push", "x"), policy.Deny, false, "program/start: The pipeline pushes: git push x (policy.rule, "},
		{"asked", policytest.ProgramPolicy(), policytest.ProgramState(onRequest, write), policytest.GitProgram("log"), policy.Pass, true, "Look at git (policy.rule, "},
		{"no questions", policytest.ProgramPolicy(), policytest.ProgramState(`"never"`, write), policytest.GitProgram("log"), policy.Deny, false, "this thread has none"},
		{"questions of Codex only", policytest.ProgramPolicy(), policytest.ProgramState(`"untrusted"`, write), policytest.GitProgram("log"), policy.Deny, false, "this thread has none"},
		{"no gate", ungated, policytest.ProgramState(onRequest, write), policytest.GitProgram("log"), policy.Deny, false, "this thread has none"},
		{"the question is denied", denied, policytest.ProgramState(onRequest, write), policytest.GitProgram("log"), policy.Deny, false, "the configuration denies that: Look at git"},
		{"approvers", policytest.ProgramPolicy(), policytest.ProgramState(onRequest, write), deploy, policy.Pass, true, "(approvers release)"},
		{"an expired rule hides nothing", policytest.ProgramPolicy(), policytest.ProgramState(onRequest, write), old, policy.Deny, false, "a rule says deny"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := toolcall.DecideProgram(compile(t, test.cfg), []rules.Program{test.program}, "", test.st)
			reason := d.AskReason
			if d.Err != nil {
				reason = d.Err.Message
				if r := d.Refusal(); r.Method != "program/start" || r.Rule == "" || r.Hint == "" || d.Answer != nil {
					t.Errorf("%+v", r)
				}
			}
			if d.Verdict != test.verdict || d.Ask != test.ask || !strings.Contains(reason, test.reason) {
				t.Errorf("%s, asks %v: %s", d.Verdict, d.Ask, reason)
			}
			if test.name == "an exception" != (len(d.Exceptions) == 1) {
				t.Errorf("exceptions %+v", d.Exceptions)
			}
			if test.name == "approvers" != (len(d.Approvers) == 1 && d.ApproversRule.Approvers == "release") {
				t.Errorf("approvers %+v", d.Approvers)
			}
			if d.LeavesSandbox != (d.Ask && test.st.Thread.Sandbox != write) {
				t.Errorf("leaves the sandbox: %v", d.LeavesSandbox)
			}
		})
	}
}

func TestProgramOfAnUnknownThread(t *testing.T) {
	p, st := compile(t, policytest.ProgramPolicy()), policytest.ProgramState(`"on-request"`, "workspace-write")
	st.Thread = nil
	for words, want := range map[string]policy.Verdict{"status": policy.Deny, "push": policy.Deny, "log": policy.Deny} {
		if d := toolcall.DecideProgram(p, []rules.Program{policytest.GitProgram(words)}, "", st); d.Verdict != want {
			t.Errorf("git %s: %+v", words, d)
		}
	}
	if d := toolcall.DecideProgram(p, []rules.Program{{Path: "/usr/bin/ls"}}, "", st); d.Verdict != policy.Pass {
		t.Errorf("ls: %+v", d)
	}
}

// A person is not asked again about the program of a command that they were asked about.
func TestProgramOfAnAcceptedCommand(t *testing.T) {
	cfg, st := policytest.ProgramPolicy(), policytest.ProgramState(`"on-request"`, "workspace-write")
	st.ProgramStarts = true
	p := compile(t, cfg)
	d := toolcall.Decide(p, toolcall.Call{ID: "c", Name: "Bash", Input: value(t, `{"command":"git log \"$x\"; git diff; deploy x"}`), Cwd: "/code/proj", Shell: "bash"}, st)
	if !d.Ask || len(d.Asked) != 3 {
		t.Fatalf("%+v", d)
	}
	asks := func(prog rules.Program) bool { return toolcall.DecideProgram(p, []rules.Program{prog}, "", st).Ask }
	deploy := rules.Program{Path: "/opt/deploy", Args: []string{"deploy", "x"}}
	if !asks(policytest.GitProgram("diff")) || !asks(deploy) {
		t.Error("it does not ask without an answer")
	}
	st.Accepted = d.Asked
	if asks(policytest.GitProgram("diff")) || asks(policytest.GitProgram("log", "a b")) || asks(deploy) {
		t.Error("it asks again")
	}
	for _, prog := range []rules.Program{policytest.GitProgram("log"), policytest.GitProgram("log", "a", "b"), policytest.GitProgram("diff", "x"), policytest.GitProgram("show"), {Path: "/opt/deploy", Args: []string{"deploy", "y"}}} {
		if !asks(prog) {
			t.Errorf("%+v is not asked about", prog)
		}
	}
	if d := toolcall.DecideProgram(p, []rules.Program{policytest.GitProgram("push")}, "", st); d.Verdict != policy.Deny {
		t.Errorf("%+v", d)
	}
	changed := slices.Clone(cfg.Rules)
	changed[2].Reason = "Look again."
	cfg.Rules = changed
	if !toolcall.DecideProgram(compile(t, cfg), []rules.Program{policytest.GitProgram("diff")}, "", st).Ask {
		t.Error("an answer to another rule counts")
	}
}

// A person who accepts a request of Codex has read the commands of its line: those that are known, and that no other person
// must approve.
func TestCommandsOfAnAcceptedRequest(t *testing.T) {
	const method = "item/commandExecution/requestApproval"
	cfg := policytest.ProgramPolicy()
	cfg.Rules = cfg.Rules[:len(cfg.Rules)-1] // which is about each shell
	p, st := compile(t, cfg), policytest.ProgramState(`"on-request"`, "workspace-write")
	st.Escalation, st.EscalationRequested = rules.Escalated, true
	for more, counts := range map[string]bool{
		``: true, `,"kind":"command","approvalId":null`: true, `,"approvalId":"a"`: false, `,"kind":"writeStdin"`: false,
		`,"networkApprovalContext":{"host":"a.example","protocol":"https"}`: false, `,"additionalPermissions":{"network":{"enabled":true}}`: false,
	} {
		params := value(t, `{"threadId":"T","turnId":"u","itemId":"c","cwd":"/code/proj","command":"/bin/bash -lc 'git log \"$x\"; git diff; $y; deploy x'"`+more+`}`)
		st.Accepted = serverrequest.AskedCommands(p, method, params, st)
		if len(st.Accepted) == 1 != counts {
			t.Errorf("%s: %+v", more, st.Accepted)
		}
		for _, prog := range []rules.Program{policytest.GitProgram("diff"), policytest.GitProgram("log", "a"), policytest.GitProgram("show"), {Path: "/opt/deploy", Args: []string{"deploy", "x"}}} {
			d := toolcall.DecideProgram(p, []rules.Program{prog}, "", st)
			if asks := !counts || prog.Args[len(prog.Args)-1] != "diff"; d.Verdict != policy.Pass || d.Ask != asks {
				t.Errorf("%s: %+v: %+v", more, prog, d)
			}
		}
	}
	if asked := serverrequest.AskedCommands(p, "item/fileChange/requestApproval", value(t, `{"command":"git diff"}`), st); len(asked) > 0 {
		t.Errorf("a question about files: %+v", asked)
	}
	// Where Codex asks about each command, the bridge asks about none.
	st = policytest.ProgramState(`"untrusted"`, "workspace-write")
	st.Accepted = serverrequest.AskedCommands(p, method, value(t, `{"cwd":"/code/proj","command":"/bin/bash -lc 'git diff'"}`), st)
	if d := toolcall.DecideProgram(p, []rules.Program{policytest.GitProgram("diff")}, "", st); d.Verdict != policy.Pass || d.Ask {
		t.Errorf("under untrusted: %+v", d)
	}
}

func TestHasProgramRules(t *testing.T) {
	for _, test := range []struct {
		rule config.Rule
		want bool
	}{
		{config.Rule{Command: "git **", Decision: "deny"}, true}, {config.Rule{Command: "kill **", Decision: "ask"}, true},
		{config.Rule{Command: "git **", Decision: "allow"}, false}, {config.Rule{Command: "**", Decision: "deny"}, false}, {config.Rule{Path: "**", Decision: "deny"}, false},
	} {
		cfg := contract()
		cfg.Rules = []config.Rule{test.rule}
		if got := compile(t, cfg).HasProgramRules(); got != test.want {
			t.Errorf("%+v: %v", test.rule, got)
		}
	}
	if compile(t, contract()).HasProgramRules() {
		t.Error("a policy without rules has one")
	}
}

// The interpreters of a script count, too, and a program that can't be read may be any.
func TestProgramsOfOneStart(t *testing.T) {
	p, st := compile(t, policytest.ProgramPolicy()), policytest.ProgramState(`"on-request"`, "workspace-write")
	script := rules.Program{Path: "/code/proj/x", Args: []string{"x"}, Dir: "/code/proj"}
	interpreter := func(words ...string) rules.Program { return policytest.GitProgram(append(words, "/code/proj/x")...) }
	if d := toolcall.DecideProgram(p, []rules.Program{script, interpreter("push")}, "", st); d.Verdict != policy.Deny {
		t.Errorf("%+v", d)
	}
	deploy := rules.Program{Path: "/opt/deploy", Args: []string{"deploy"}}
	d := toolcall.DecideProgram(p, []rules.Program{deploy, interpreter("log"), policytest.GitProgram("status")}, "", st)
	if !d.Ask || len(d.Approvers) != 1 || d.ApproversRule == nil || d.ApproversRule.Approvers != "release" || len(d.AnswerTerms.AskedBy) != 2 || len(d.Exceptions) != 1 {
		t.Errorf("%+v", d)
	}
	st.Accepted = []rules.AskedCommand{{Words: []rules.Word{{Text: "deploy", Known: true}}, Rule: d.ApproversRule}}
	if d = toolcall.DecideProgram(p, []rules.Program{deploy, interpreter("log")}, "", st); !d.Ask || d.Approvers != nil {
		t.Errorf("%+v", d)
	}
	if d = toolcall.DecideProgram(p, []rules.Program{script}, "it has too many words", st); d.Verdict != policy.Deny || !strings.Contains(d.Err.Message, "/code/proj/x (it has too many words, so a rule") {
		t.Errorf("%+v", d)
	}
}
