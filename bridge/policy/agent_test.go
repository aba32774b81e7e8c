package policy_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
)

// TestDecideAgent checks that rules with escalated = true and policy.escalation decide an agent's
// request, unless the agent has its own bridge.
func TestDecideAgent(t *testing.T) {
	command := func(text string) toolcall.AgentRequest { return toolcall.AgentRequest{Command: &text, Cwd: "/w"} }
	in := func(folder string, u toolcall.AgentRequest) toolcall.AgentRequest { u.RunsIn = folder; return u }
	unread := func(u toolcall.AgentRequest) toolcall.AgentRequest { u.Unread = []string{"env"}; return u }
	both := func(text, file string) toolcall.AgentRequest {
		return toolcall.AgentRequest{Command: &text, Files: []string{file}, Cwd: "/w"}
	}
	behind := func(u toolcall.AgentRequest) toolcall.AgentRequest { u.OwnBridge = true; return u }
	rules := []config.Rule{
		{Tool: "shell", Command: "git push **", Decision: "deny", Reason: "Pushing is done by people."},
		{Tool: "shell", Command: "ls **", Decision: "allow"}, // speaks of what stays inside
		{Tool: "shell", Command: "cat **", Decision: "allow", Escalated: true},
		{Tool: "shell", Command: "make **", Decision: "ask", Reason: "Look first."},
		{Tool: "file", Path: "/w/secret/**", Decision: "deny"},
		{Tool: "file", Path: "/w/open/**", Decision: "allow", Escalated: true},
		{Tool: "fetch", Decision: "deny"},
		{Tool: "think", Decision: "allow"},
		{Tool: "search", Decision: "allow", Escalated: true},
	}
	for _, test := range []struct {
		name       string
		escalation string
		use        toolcall.AgentRequest
		want       policy.Verdict
		rule       string
	}{
		{"denied", "ask", command("git push origin"), policy.Deny, "policy.rule"},
		{"denied in a list", "ask", command("ls && git push"), policy.Deny, "policy.rule"},
		{"not told which", "ask", command(""), policy.Deny, "policy.rule"},
		{"allowed where it stays inside", "ask", command("ls /"), policy.Pass, ""},
		{"allowed", "ask", command("cat x"), policy.Accept, ""},
		{"allowed, and not let out", "deny", command("cat x"), policy.Deny, "policy.escalation"},
		{"allowed in a folder below", "ask", in("/w/sub", command("cat x")), policy.Accept, ""},
		{"allowed in a writable root", "ask", in("/out/sub", command("cat x")), policy.Accept, ""},
		{"not in another folder", "ask", in("/etc", command("cat x")), policy.Pass, ""},
		{"not in an unknown folder", "ask", in("?", command("cat x")), policy.Pass, ""},
		{"denied in another folder", "ask", in("/etc", command("git push")), policy.Deny, "policy.rule"},
		{"not with an unknown member", "ask", unread(command("cat x")), policy.Pass, ""},
		{"denied with an unknown member", "ask", unread(command("git push")), policy.Deny, "policy.rule"},
		{"asked", "ask", command("make"), policy.Pass, ""},
		{"a file", "ask", toolcall.AgentRequest{Files: []string{"/w/a", "/w/secret/b"}, Cwd: "/w"}, policy.Deny, "policy.rule"},
		{"a denied command, and a file", "ask", both("git push", "/w/a"), policy.Deny, "policy.rule"},
		{"another file", "ask", toolcall.AgentRequest{Files: []string{"/w/a"}, Cwd: "/w"}, policy.Pass, ""},
		{"a file, not told which", "ask", toolcall.AgentRequest{Files: []string{""}, Cwd: "/w"}, policy.Deny, "policy.rule"},
		{"a command that changes a file", "ask", both("cat x", "/w/secret/b"), policy.Deny, "policy.rule"},
		{"an allowed file, with an unknown member", "ask", unread(toolcall.AgentRequest{Files: []string{"/w/open/a"}, Cwd: "/w"}), policy.Pass, ""},
		{"an allowed file, and perhaps a denied one", "ask", unread(toolcall.AgentRequest{Files: []string{"/w/open/a", ""}, Cwd: "/w"}), policy.Deny, "policy.rule"},
		{"a denied one, and a file", "ask", both("git push", "/w/open/a"), policy.Deny, "policy.rule"},
		{"both denied", "ask", both("git push", "/w/secret/b"), policy.Deny, "policy.rule"},
		{"both allowed", "ask", both("cat x", "/w/open/a"), policy.Accept, ""},
		{"one allowed", "ask", both("cat x", "/w/a"), policy.Pass, ""},
		{"the other allowed", "ask", both("touch x", "/w/open/a"), policy.Pass, ""},
		{"another tool", "ask", toolcall.AgentRequest{Tool: "fetch", Cwd: "/w"}, policy.Deny, "policy.rule"},
		{"a tool that is allowed inside a sandbox", "ask", toolcall.AgentRequest{Tool: "think", Cwd: "/w"}, policy.Pass, ""},
		{"a tool that no rule allows", "ask", unread(toolcall.AgentRequest{Tool: "read", Cwd: "/w"}), policy.Pass, ""},
		{"a tool that is allowed", "ask", toolcall.AgentRequest{Tool: "search", Cwd: "/w"}, policy.Accept, ""},
		{"a tool that is allowed, with an unknown member", "ask", unread(toolcall.AgentRequest{Tool: "search", Cwd: "/w"}), policy.Pass, ""},
		{"nothing is known but an allowed tool", "ask", func() toolcall.AgentRequest { u := both("", ""); u.Tool = "search"; return u }(), policy.Deny, "policy.rule"},
		{"yet another", "deny", toolcall.AgentRequest{Tool: "think", Cwd: "/w"}, policy.Deny, "policy.escalation"},
		{"its own bridge holds it", "deny", behind(command("touch x")), policy.Pass, ""},
		{"its own bridge holds it, and a rule", "deny", behind(command("git push")), policy.Deny, "policy.rule"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := config.Default().Policy
			cfg.Mode, cfg.Escalation, cfg.Rules, cfg.WritableRoots = config.Enforce, test.escalation, rules, []string{"/out"}
			switch test.use.RunsIn {
			case "":
				test.use.RunsIn = test.use.Cwd
			case "?":
				test.use.RunsIn = ""
			}
			p, err := policy.New(cfg, nil)
			if err != nil {
				t.Fatal(err)
			}
			d := toolcall.DecideAgent(p, "session/request_permission", test.use, policy.State{Paths: plainPaths{}})
			if d.Verdict != test.want {
				t.Errorf("%s: %+v", d.Verdict, d.Err)
			}
			if r := d.Refusal(); r != nil && r.Rule != test.rule {
				t.Errorf("%+v", r)
			}
			if r := d.Refusal(); test.name == "both denied" && !strings.Contains(r.Reason, "Pushing is done by people") {
				t.Errorf("the first reason is not given: %s", r.Reason)
			}
			if strings.HasSuffix(test.name, "an unknown member") && test.want == policy.Pass && !strings.HasSuffix(d.AskReason, "request: env") {
				t.Errorf("the reason is %q", d.AskReason)
			}
			if test.name == "an allowed file, and perhaps a denied one" && !strings.Contains(d.Err.Message, "request: env") {
				t.Errorf("the refusal does not say why: %s", d.Err.Message)
			}
			if test.name == "not in an unknown folder" && !strings.Contains(d.AskReason, "absolute path") {
				t.Errorf("the reason is %q", d.AskReason)
			}
			if d.Verdict == policy.Accept && !strings.HasPrefix(d.Changes[0].Reason, `a rule says allow: {"agent":"`) {
				t.Errorf("the log has the reason %q", d.Changes[0].Reason)
			}
			if test.name == "a tool that no rule allows" && d.AskReason != "" {
				t.Errorf("it would not be allowed with known members either, and the reason is %q", d.AskReason)
			}
			if test.want == policy.Pass && !d.Ask {
				t.Error("nobody is asked")
			}
		})
	}
}

// TestDecideAgentByKind checks that a deny or ask rule for the kind of an agent's tool counts beside what allows the
// command and the files, and that an allow rule for the kind allows neither.
func TestDecideAgentByKind(t *testing.T) {
	line, unknown := "cat x", ""
	run := toolcall.AgentRequest{Tool: "execute", Command: &line}
	runAsRead := toolcall.AgentRequest{Tool: "read", Command: &line}
	remove := toolcall.AgentRequest{Tool: "delete", Files: []string{"/w/open/a"}}
	patch := toolcall.AgentRequest{Tool: "other", Files: []string{"/w/open/a"}}
	both := toolcall.AgentRequest{Tool: "edit", Command: &line, Files: []string{"/w/open/a"}}
	unstated := toolcall.AgentRequest{Tool: "other", Command: &unknown, Files: []string{""}}
	behind := run
	behind.OwnBridge = true
	allows := []config.Rule{
		{Command: "cat **", Decision: "allow", Escalated: true},
		{Path: "/w/open/**", Decision: "allow", Escalated: true},
	}
	rule := func(tool, decision string) config.Rule {
		return config.Rule{Tool: tool, Decision: decision, Reason: "BECAUSE", Escalated: decision == "allow"}
	}
	expired := rule("delete", "deny")
	expired.Until = "2020-01-01"
	for _, test := range []struct {
		name  string
		use   toolcall.AgentRequest
		rules []config.Rule // before allows
		later []config.Rule // behind allows
		want  policy.Verdict
	}{
		{"a command", run, nil, []config.Rule{rule("execute", "deny")}, policy.Deny},
		{"a command, by a glob", run, []config.Rule{rule("e*", "deny")}, nil, policy.Deny},
		{"a command, asked", run, nil, []config.Rule{rule("execute", "ask")}, policy.Pass},
		{"a command of an agent with its own bridge", behind, nil, []config.Rule{rule("execute", "deny")}, policy.Deny},
		{"a command of another kind", runAsRead, nil, []config.Rule{rule("execute", "deny")}, policy.Deny},
		{"a command by its other kind", runAsRead, nil, []config.Rule{rule("read", "deny")}, policy.Deny},
		{"a file", remove, nil, []config.Rule{rule("delete", "deny")}, policy.Deny},
		{"a file, by a list", remove, nil, []config.Rule{rule("{edit,delete}", "deny")}, policy.Deny},
		{"a file, asked", remove, nil, []config.Rule{rule("delete", "ask")}, policy.Pass},
		{"a file, expired", remove, nil, []config.Rule{expired}, policy.Deny},
		{"a file of another kind", patch, nil, []config.Rule{rule("edit", "deny")}, policy.Deny},
		{"a rule for edits counts for no removal", remove, nil, []config.Rule{rule("edit", "deny")}, policy.Accept},
		{"a rule for commands counts for no file", remove, nil, []config.Rule{rule("execute", "deny")}, policy.Accept},
		{"a command and a file", both, nil, []config.Rule{rule("edit", "deny")}, policy.Deny},
		{"a command and a file, by the command", both, nil, []config.Rule{rule("execute", "deny")}, policy.Deny},
		{"a command and a file, one by its own rules", both, nil, []config.Rule{rule("{shell,edit}", "deny")}, policy.Deny},
		{"nothing is stated", unstated, nil, []config.Rule{rule("fetch", "deny")}, policy.Deny},

		{"the first rule for the line decides", run, nil, []config.Rule{rule("*", "deny"), rule("{shell,execute}", "deny")}, policy.Accept},
		{"the first rule for the file decides", remove, nil, []config.Rule{rule("*", "ask")}, policy.Accept},
		{"a first rule for all tools decides", remove, []config.Rule{rule("*", "allow")}, []config.Rule{rule("delete", "deny")}, policy.Accept},
		{"a first rule for all tools asks", remove, []config.Rule{rule("*", "ask")}, []config.Rule{rule("delete", "deny")}, policy.Pass},
		{"a first rule for the kind", remove, []config.Rule{rule("delete", "allow")}, []config.Rule{rule("d*", "deny")}, policy.Accept},

		{"the kind allows no other command", toolcall.AgentRequest{Tool: "execute", Command: new(string)}, []config.Rule{rule("execute", "allow")}, nil, policy.Pass},
		{"the kind allows no other file", toolcall.AgentRequest{Tool: "delete", Files: []string{"/w/a"}}, []config.Rule{rule("delete", "allow")}, nil, policy.Pass},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := config.Default().Policy
			cfg.Mode, cfg.Escalation, cfg.Rules = config.Enforce, "ask", slices.Concat(test.rules, allows, test.later)
			p, err := policy.New(cfg, nil)
			if err != nil {
				t.Fatal(err)
			}
			test.use.Cwd, test.use.RunsIn = "/w", "/w"
			d := toolcall.DecideAgent(p, "session/request_permission", test.use, policy.State{Paths: plainPaths{}})
			if d.Verdict != test.want {
				t.Fatalf("%s: %+v", d.Verdict, d.Err)
			}
			if r := d.Refusal(); r != nil && !strings.HasPrefix(r.Reason, "BECAUSE") {
				t.Errorf("the reason is %q", r.Reason)
			}
			if strings.HasSuffix(test.name, ", asked") && d.AskReason != "BECAUSE" {
				t.Errorf("a person reads %q", d.AskReason)
			}
		})
	}
}

type plainPaths struct{}

func (plainPaths) Canonical(path string) (string, error)  { return path, nil }
func (plainPaths) Follow(path string) (string, error)     { return path, nil }
func (plainPaths) Readings(path string) ([]string, error) { return []string{filepath.Clean(path)}, nil }
