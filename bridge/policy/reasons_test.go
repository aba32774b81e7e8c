package policy_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/bridge/rules"
)

// TestTextsOfArgs checks that messages name the flag, the key and the fix.
func TestTextsOfArgs(t *testing.T) {
	long := strings.Repeat("x", 61)
	for _, test := range []struct {
		args       []string
		flag, hint string
		reason     string // part of it
	}{
		{[]string{"-c", "hooks.x=[]", "app-server"}, "-c hooks.x", "remove it", ""},
		{[]string{"-chooks.x=[]", "app-server"}, "-c hooks.x", "remove it", ""},
		{[]string{"--config=hooks.x=[]", "app-server"}, "--config hooks.x", "remove it", ""},
		{[]string{"-c", "tui.x=1", "app-server"}, "-c tui.x", "remove it, or add tui.x to policy.config_keys", ""},
		{[]string{"-c", "tui={x=1}", "app-server"}, "-c tui", "remove it, or add tui.x to policy.config_keys", "tui.x: "},
		{[]string{"-c", `approvals_reviewer="auto_review"`, "app-server"}, "-c approvals_reviewer", "remove it", "use the field approvalsReviewer"},
		{[]string{"exec", "-c", `approval-policy="never"`, "x"}, "-c approval-policy", "remove it", `exec asks nobody; it uses "never" where policy.approval has it`},
		{[]string{"-c", `approval-policy="on-request"`}, "-c approval-policy", "remove it", "use the flag --ask-for-approval"},
		{[]string{"exec", "-c", `sandbox_mode="danger-full-access"`, "x"}, "-c sandbox_mode", "remove it", "use the flag --sandbox"},
		{[]string{"-c", `model="x"`, "app-server"}, "-c model", "remove it, or choose an allowed value", ""},
		{[]string{"--enable", "apps", "app-server"}, "--enable apps", "remove it, or add features.apps to policy.config_keys", "no pattern"},
		{[]string{"--enable", "unified_exec", "app-server"}, "--enable unified_exec", "remove it, or add features.unified_exec to policy.config_keys", "no pattern"},
		{[]string{"-c", long + "=1", "app-server"}, `-c "` + long[:60] + `…"`, "", ""},
		{[]string{"-c", long[:60] + "=1", "app-server"}, "-c " + long[:60], "", ""},
		{[]string{"-c", "a b=1", "app-server"}, `-c "a b"`, "", ""},
		{[]string{"-c", "a\nb=1", "app-server"}, `-c "a\nb"`, "", ""},
	} {
		d := argsPolicy(t, `models = ["gpt-5*"]`).DecideArgs(test.args, 0)
		if len(d.Changes) != 1 {
			t.Errorf("%q: %+v", test.args, d)
			continue
		}
		c := d.Changes[0]
		if c.Flag != test.flag || test.hint != "" && c.Hint != test.hint || !strings.Contains(c.Reason, test.reason) {
			t.Errorf("%q: got %+v, want %+v", test.args, c, test)
		}
	}
	for _, test := range []struct {
		args []string
		what string
	}{
		{[]string{"-c", "--help", "app-server"}, "-c"},
		{[]string{"-Zabc", "app-server"}, "-Zabc"},
		{[]string{"-Z", "app-server"}, "-Z"},
		{[]string{"--yolo=1", "app-server"}, "--yolo"},
		{[]string{"--full-auto", "x", "app-server"}, "--full-auto"},
		{[]string{"x y", "app-server"}, `the word "x y"`},
	} {
		d := argsPolicy(t, "").DecideArgs(test.args, 0)
		if d.Err == nil || d.Err.Argument != test.what {
			t.Errorf("%q: got %+v, want %s", test.args, d.Err, test.what)
		}
	}
}

func TestOpenCommands(t *testing.T) {
	for commands, want := range map[string]string{
		`"login", "mcp list", "doctor"`: "", ``: "", `"exec"`: "", `"mcp"`: "mcp add, mcp login, mcp logout, mcp remove", `"features *"`: "features disable, features enable",
		`"sandbox ls", "app-server daemon", "app-server *"`: "app-server daemon, sandbox", `"debug app-server send-message-v2", "s*"`: "", `"a*"`: "apply, archive",
	} {
		if got := strings.Join(argsPolicy(t, "commands = ["+commands+"]").OpenCommands(), ", "); got != want {
			t.Errorf("[%s]: got %v, want %v", commands, got, want)
		}
	}
	if open := argsPolicy(t, `commands = ["*"]`).OpenCommands(); !slices.Contains(open, "mcp add") || slices.Contains(open, "sandbox") {
		t.Errorf("%q", open)
	}
}

// TestTraceThatCodexDrops checks messages with a trace that Codex can't read.
func TestTraceThatCodexDrops(t *testing.T) {
	p := compile(t, contract())
	for trace, passes := range map[string]bool{
		`null`: true, `{}`: true, `{"traceparent":"a","tracestate":"b"}`: true, `{"traceparent":null,"tracestate":null}`: true, `{"traceparent":"a"}`: true,
		`1`: false, `"a"`: false, `["a","b"]`: false, `[]`: false, `{"traceparent":1}`: false, `{"traceparent":"a","tracestate":1}`: false, `{"traceparent":1,"tracestate":"a"}`: false,
	} {
		d := p.Decide(message(t, `{"id":1,"method":"model/list","params":{},"trace":`+trace+`}`), state())
		if passed := d.Verdict != policy.Deny; passed != passes {
			t.Errorf("%s: %+v", trace, d)
		}
	}
}

// TestRulesOfClientCommands checks that the rules apply to a client's commands, by each method.
func TestRulesOfClientCommands(t *testing.T) {
	cfg := contract()
	cfg.Methods = map[string]string{"process/spawn": "allow", "thread/shellCommand": "allow", "command/exec": "allow", "model/list": "allow"}
	cfg.Rules = []config.Rule{
		{Command: "git push **", Decision: "deny", Reason: "Pushing is done by hand."}, {Command: "rm **", Decision: "ask"}, {Command: "ls **", Decision: "allow"},
	}
	p := compile(t, cfg)
	if !p.HasRules() || compile(t, contract()).HasRules() {
		t.Error("Ruled does not say whether there are rules")
	}
	for _, test := range []struct {
		method, params string
		want           string // part of the refusal; "" none
	}{
		{"command/exec", `{"command":["git","push"],"cwd":"/code/proj"}`, "Pushing is done by hand: git push (policy.rule"},
		{"command/exec", `{"command":["ls"],"cwd":"/code/proj"}`, ""},
		{"command/exec", `{"command":["rm","x"],"cwd":"/code/proj"}`, "a rule says ask: rm x; the bridge asks nobody about a command of the client, so it refuses it"},
		{"command/exec", `{"command":[],"cwd":"/code/proj"}`, "Pushing is done by hand. (the command is not known, so a rule that could match decides)"},
		{"command/exec", `{"command":["ls",1,"x"],"cwd":"/code/proj"}`, "Pushing is done by hand. (the command is not known, so a rule that could match decides)"},
		{"process/spawn", `{"command":["git","push"]}`, "Pushing is done by hand"},
		{"process/spawn", `{"command":["ls"]}`, ""},
		{"thread/shellCommand", `{"threadId":"T","cwd":"/code/proj","command":"ls; git push"}`, "Pushing is done by hand"},
		{"thread/shellCommand", `{"threadId":"T","cwd":"/code/proj","command":"ls"}`, ""},
		{"thread/shellCommand", `{"threadId":"T","cwd":"/code/proj","command":1}`, "Pushing is done by hand. (the command is not known, so a rule that could match decides)"},
		{"model/list", `{"command":["git","push"]}`, ""},
	} {
		m := message(t, `{"id":1,"method":"`+test.method+`","params":`+test.params+`}`)
		d := p.Decide(m, state())
		if test.want == "" && d.Verdict == policy.Deny || test.want != "" && (d.Verdict != policy.Deny || !strings.Contains(d.Err.Message, test.want)) {
			t.Errorf("%s %s: %v %v", test.method, test.params, d.Verdict, d.Err)
		}
		if d.Answer != nil {
			t.Errorf("%s: a client's request is answered with %s", test.method, d.Answer)
		}
		if runs := test.method != "model/list"; p.NeedsState(m) != runs {
			t.Errorf("%s: Judges says otherwise", test.method)
		}
	}
	// A message of which not all is looked at.
	many := `{"id":1,"method":"%","params":{"command":["ls"` + strings.Repeat(`,"x"`, 1<<17) + `]}}`
	for method, denied := range map[string]bool{"process/spawn": true, "model/list": false} {
		if d := p.Decide(message(t, strings.Replace(many, "%", method, 1)), state()); (d.Verdict == policy.Deny) != denied {
			t.Errorf("%s with too many values: %v", method, d.Verdict)
		}
	}
}

// TestReasonsOfRules checks that a rule's reason names the command briefly.
func TestReasonsOfRules(t *testing.T) {
	cfg := contract()
	cfg.Escalation = "ask"
	cfg.Rules = []config.Rule{
		{Command: "git push **", Decision: "deny"}, {Command: "make **", Decision: "allow"}, {Command: "go **", Decision: "allow", Reason: "Go is fine."},
		{Tool: "file", Path: "/code/proj/a", Decision: "deny", Reason: "Not that file."},
	}
	p := compile(t, cfg)
	st := state()
	st.Thread.Sandbox, st.Thread.Approval, st.Escalation = "workspace-write", json.RawMessage(`"on-request"`), rules.Sandboxed
	ask := func(method, params string) policy.Decision {
		return serverrequest.Decide(p, method, value(t, params), st)
	}
	if d := ask(commandQuestion, `{"threadId":"T","cwd":"/code/proj","command":"git push"}`); d.Err == nil || !strings.Contains(d.Err.Message, "a rule says deny: git push (") {
		t.Errorf("%v", d.Err)
	}
	if d := ask(commandQuestion, `{"threadId":"T","cwd":"/code/proj","command":"git \"$x\""}`); d.Err == nil || !strings.Contains(d.Err.Message, `a rule says deny: git "$x" (a part of it`) {
		t.Errorf("%v", d.Err)
	}
	for _, n := range []int{200, 201} {
		text := "git push " + strings.Repeat("x", n-len("git push "))
		want := text + " ("
		if n > 200 {
			want = text[:200] + "… ("
		}
		if d := ask(commandQuestion, `{"threadId":"T","cwd":"/code/proj","command":"`+text+`"}`); d.Err == nil || !strings.Contains(d.Err.Message, want) {
			t.Errorf("%d bytes: %v", n, d.Err)
		}
	}
	for command, want := range map[string]string{"make all": "a rule says allow: make all", "go vet": "Go is fine.: go vet"} {
		d := ask(commandQuestion, `{"threadId":"T","cwd":"/code/proj","command":"`+command+`"}`)
		if d.Verdict != policy.Accept || d.Changes[0].Reason != want {
			t.Errorf("%s: %v %+v", command, d.Verdict, d.Changes)
		}
	}
	// Where codex does not offer the answer, it is not given.
	for offered, accepted := range map[string]bool{`["accept"]`: true, `["decline"]`: false, `[]`: false, `null`: true} {
		d := ask(commandQuestion, `{"threadId":"T","cwd":"/code/proj","command":"make all","availableDecisions":`+offered+`}`)
		if got := d.Verdict == policy.Accept; got != accepted {
			t.Errorf("offered %s: %v", offered, d.Verdict)
		}
	}
	// A path of a patch by another name.
	st.Files = []string{"/code/link/a"}
	if d := ask(fileQuestion, `{"threadId":"T","itemId":"i"}`); d.Verdict != policy.Deny || !strings.Contains(d.Err.Message, "Not that file: /code/proj/a") {
		t.Errorf("by a link: %v %v", d.Verdict, d.Err)
	}
	// A reason inside the sandbox is quoted, too: the model may write the mark.
	said := ask(commandQuestion, `{"threadId":"T","cwd":"/code/proj","command":"unruled x","reason":"[codex-bridge: leaves the sandbox] Verified"}`)
	if want := `"Stated reason (not checked): \"(codex-bridge: leaves the sandbox) Verified\""`; said.Verdict != policy.Rewrite || string(said.ShownReason) != want {
		t.Errorf("inside the sandbox: %v %s", said.Verdict, said.ShownReason)
	}
	// The mark precedes Codex's own reason.
	st.Escalation = rules.Escalated
	for said, want := range map[string]string{`"please"`: "outside the sandbox. Stated reason (not checked): \"please\"", `"I ask\n\n\". **Verified** by [policy](x) \u202e"`: `outside the sandbox. Stated reason (not checked): "I ask\n\n'. ∗∗Verified∗∗ by (policy)(x) \u202e"`, `""`: "outside the sandbox", `null`: "outside the sandbox", `1`: "outside the sandbox"} {
		d := ask(commandQuestion, `{"threadId":"T","cwd":"/code/proj","command":"ls","reason":`+said+`}`)
		var marked string
		if err := json.Unmarshal(d.ShownReason, &marked); err != nil || !strings.HasPrefix(marked, "[codex-bridge: leaves the sandbox] ") || !strings.HasSuffix(marked, want) {
			t.Errorf("%s: %s %v", said, d.ShownReason, err)
		}
	}
}

// TestTrustHint checks that the hint has the file and the lines that trust a project.
func TestTrustHint(t *testing.T) {
	cfg := contract()
	cfg.ProjectTrust = "user"
	st := state()
	st.Defaults.Projects.File = "/home/ada/.codex/config.toml"
	for name, test := range map[string]struct {
		trust string
		st    policy.State
		want  string
	}{
		"never":            {"never", st, `policy.project_trust is "never"`},
		"the user's file":  {"user", st, "add these lines to /home/ada/.codex/config.toml:\n\n[projects.\"/code/proj\"]\ntrust_level = \"trusted\""},
		"no file":          {"user", state(), "add these lines to codex's config.toml:"},
		"nothing is known": {"user", policy.State{}, "add these lines to codex's config.toml:"},
	} {
		cfg.ProjectTrust = test.trust
		if got := compile(t, cfg).TrustHint("/code/proj", test.st); !strings.Contains(got, test.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestReasonsOfChanges checks that changes have a reason of bounded length.
func TestReasonsOfChanges(t *testing.T) {
	ten := func(format string) string {
		var all []string
		for i := range 10 {
			all = append(all, strings.Replace(format, "%", string(rune('0'+i)), 1))
		}
		return strings.Join(all, ",")
	}
	for name, test := range map[string]struct {
		text   string // the policy
		method string
		params string
		want   []string // in the reasons of the changes or of the refusal
		never  string
	}{
		"ten roots":           {"", "turn/start", `{"threadId":"T","input":[],"runtimeWorkspaceRoots":[` + ten(`"/etc/%"`) + `]}`, []string{`"/etc/7" is`, "; and more"}, `"/etc/8"`},
		"nine roots":          {"", "turn/start", `{"threadId":"T","input":[],"runtimeWorkspaceRoots":[` + strings.TrimSuffix(ten(`"/etc/%"`), `,"/etc/9"`) + `]}`, []string{"; and more"}, "and more; and more"},
		"the second entry":    {"", "turn/start", `{"threadId":"T","input":[],"environments":[{"environmentId":"local","cwd":"/code/proj"},{"environmentId":"local","cwd":1}]}`, []string{"environments[1]: "}, "environments[0]"},
		"untrusted, gated":    {"gate = true", "thread/start", `{"cwd":"/code/proj","approvalPolicy":"never"}`, []string{`"never" is not in policy.approval [untrusted, on-request]; Codex refuses what the client does not want to be asked about, and codex-bridge decides`}, ""},
		"untrusted by itself": {"gate = true", "thread/start", `{"cwd":"/code/proj","approvalPolicy":"untrusted"}`, []string{"Codex is set to on-request"}, "; untrusted"},
		"the home folder":     {"", "thread/start", `{"cwd":"/home/ada","sandbox":"workspace-write"}`, []string{"the workspace /home/ada is, or contains, the home folder"}, ""},
		"no writable root":    {`writable_roots = ["/srv"]`, "thread/start", `{"cwd":"/code/proj","sandbox":"workspace-write"}`, []string{"the workspace /code/proj is in none of the writable roots"}, ""},
		"protected":           {`protected_paths = [".vscode"]`, "thread/start", `{"cwd":"/code/proj/.vscode/x","sandbox":"workspace-write"}`, []string{"is in, or leads to, one of policy.protected_paths; open a folder above it"}, ""},
		"a known name":        {"", "turn/start", `{"threadId":"T","input":[],"sandbox":"read-only"}`, []string{"this method does not have it"}, "reads like"},
		"a similar name":      {"", "turn/start", `{"threadId":"T","input":[],"sandbox_policy":1}`, []string{"it reads like sandboxPolicy"}, ""},
		"trust of the user":   {`project_trust = "user"`, "thread/start", `{"cwd":"/code/proj"}`, []string{"the user's own configuration does not trust /code/proj"}, `"never"`},
		"trust of nobody":     {`project_trust = "never"`, "thread/start", `{"cwd":"/code/proj"}`, []string{`its .codex configuration never counts`}, "does not trust"},
	} {
		st := state()
		d := argsPolicy(t, test.text).Decide(message(t, `{"id":1,"method":"`+test.method+`","params":`+test.params+`}`), st)
		if d.Want == policy.WantConfiguration {
			st.Defaults.Cwd = d.ConfigCwd
			d = argsPolicy(t, test.text).Decide(message(t, `{"id":1,"method":"`+test.method+`","params":`+test.params+`}`), st)
		}
		got := strings.Join(reasonsOf(d), "\n")
		for _, want := range test.want {
			if !strings.Contains(got, want) || test.never != "" && strings.Contains(got, test.never) {
				t.Errorf("%s: got %q (%v), want %q and not %q", name, got, d.Err, want, test.never)
			}
		}
	}
}

// TestReasonsOfGrants checks the same for grants.
func TestReasonsOfGrants(t *testing.T) {
	st := state()
	paths := strings.TrimSuffix(strings.Repeat(`"/etc/x",`, 10), ",")
	asked := serverrequest.Request{Method: "item/permissions/requestApproval", Params: value(t, `{"permissions":{}}`)}
	d := serverrequest.DecideAnswer(compile(t, contract()), asked, message(t, `{"id":0,"result":{"permissions":{"fileSystem":{"read":[`+paths+`]}}}}`), st)
	if len(d.Changes) != 1 || strings.Count(d.Changes[0].Reason, "/etc/x") != 8 {
		t.Errorf("%+v", d.Changes)
	}
}

// TestUsableWorkspaces checks that only the folder itself decides whether it is usable.
func TestUsableWorkspaces(t *testing.T) {
	for _, test := range []struct{ home, cwd, want string }{
		{"/home/ada", "/home/ada", "read-only"}, {"/home/ada", "/home", "read-only"}, {"/home/ada", "/", "read-only"}, {"/home/ada", "/home/ada/p", "workspace-write"},
		{"", "/", "read-only"}, {"", "/home/ada", "workspace-write"},
	} {
		st := state()
		st.Home, st.CodexHome, st.Sensitive = test.home, "", nil
		d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"thread/start","params":{"sandbox":"workspace-write","cwd":"`+test.cwd+`"}}`), st)
		if d.Sent == nil || d.Sent.Sandbox != test.want {
			t.Errorf("%s with the home %q: %+v %v", test.cwd, test.home, d.Sent, d.Err)
		}
	}
}

type oddPaths string

func (o oddPaths) Canonical(string) (string, error)  { return string(o), nil }
func (o oddPaths) Follow(string) (string, error)     { return string(o), nil }
func (o oddPaths) Readings(string) ([]string, error) { return []string{string(o)}, nil }

// TestOddPaths checks that a relative path, or one that JSON can't express, has no canonical form.
func TestOddPaths(t *testing.T) {
	for path, denied := range map[oddPaths]bool{"/code/proj": false, "rel": true, "/a\xff": true} {
		st := state()
		st.Paths = path
		d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj"}}`), st)
		if (d.Verdict == policy.Deny) != denied {
			t.Errorf("%q: %v %v", path, d.Verdict, d.Err)
		}
	}
}

// TestThreadKeepsItsState checks that a gated thread stays gated if nothing is sent, and that
// LacksProfile needs workspace-write.
func TestThreadKeepsItsState(t *testing.T) {
	st := state()
	st.Thread.Gated = true
	answer := value(t, `{"thread":{"id":"T"},"cwd":"/code/proj","sandbox":{"type":"readOnly"},"approvalPolicy":"on-request"}`)
	for _, sent := range []*policy.SentSettings{{}, {Approval: json.RawMessage(`"on-request"`)}, nil} {
		got, err := policy.NewThread(sent, answer, st)
		if err != nil || got.Gated != (sent != nil && sent.Approval == nil) {
			t.Errorf("%+v: %+v %v", sent, got, err)
		}
	}
	for settings, want := range map[string]bool{
		`{"sandboxPolicy":{"type":"workspaceWrite"}}`:                                                     true,
		`{"sandboxPolicy":{"type":"readOnly"}}`:                                                           false,
		`{"sandboxPolicy":{"type":"workspaceWrite"},"activePermissionProfile":{"id":"codex-bridge"}}`:     false,
		`{"sandboxPolicy":{"type":"workspaceWrite"},"activePermissionProfile":{"id":":workspace"}}`:       true,
		`{"sandboxPolicy":{"type":"dangerFullAccess"},"activePermissionProfile":{"id":"codex-bridge-x"}}`: false,
	} {
		if got := policy.LacksProfile(policy.Profile{Defined: true}, value(t, settings)); got != want {
			t.Errorf("%s: %v", settings, got)
		}
		if policy.LacksProfile(policy.Profile{}, value(t, settings)) {
			t.Errorf("%s: a thread without the profile is said to have left it", settings)
		}
	}
}

// TestUnknownQuestions checks that policy.unknown_methods decides about unknown requests of Codex.
func TestUnknownQuestions(t *testing.T) {
	for override, want := range map[string]policy.Verdict{"allow": policy.Pass, "ask": policy.Pass, "deny": policy.Deny, "": policy.Deny} {
		cfg := contract()
		if override != "" {
			cfg.Methods = map[string]string{"new/question": override}
		}
		if d := serverrequest.Decide(compile(t, cfg), "new/question", value(t, `{}`), state()); d.Verdict != want {
			t.Errorf("%q: %v, want %v", override, d.Verdict, want)
		}
	}
}

// TestToolQuestionIsDeniedAsElicitation checks that denied elicitations include the question about
// an MCP tool.
func TestToolQuestionIsDeniedAsElicitation(t *testing.T) {
	const question = `{"threadId":"T","questions":[{"id":"mcp_tool_call_approval_call-1"}]}`
	for _, test := range []struct {
		methods map[string]string
		want    policy.Verdict
	}{
		{nil, policy.Pass},
		{map[string]string{"mcpServer/elicitation/request": "deny"}, policy.Deny},
		{map[string]string{"mcpServer/elicitation/request": "ask"}, policy.Pass},
		{map[string]string{"model/list": "deny"}, policy.Pass},
	} {
		cfg := contract()
		cfg.Methods = test.methods
		if d := serverrequest.Decide(compile(t, cfg), "item/tool/requestUserInput", value(t, question), state()); d.Verdict != test.want {
			t.Errorf("%v: %v, want %v", test.methods, d.Verdict, test.want)
		}
	}
}

// TestGateEnabled checks that the bridge asks in Codex's place only under enforce with the gate.
func TestGateEnabled(t *testing.T) {
	for _, gate := range []bool{false, true} {
		for _, mode := range []config.Mode{config.Enforce, config.Audit} {
			cfg := contract()
			cfg.Gate, cfg.Mode = gate, mode
			if got := compile(t, cfg).GateEnabled(); got != (gate && mode == config.Enforce) {
				t.Errorf("gate %v, %s: %v", gate, mode, got)
			}
		}
	}
}

// TestNeedsStateWithConsent checks that a message with the verdict ask is judged as after consent.
func TestNeedsStateWithConsent(t *testing.T) {
	cfg := contract()
	cfg.Methods = map[string]string{"model/list": "ask", "turn/start": "ask", "skills/list": "deny"}
	p := compile(t, cfg)
	for method, want := range map[string]bool{"model/list": false, "turn/start": true, "skills/list": false} {
		if got := p.NeedsState(message(t, `{"id":1,"method":"`+method+`","params":{}}`)); got != want {
			t.Errorf("%s: %t", method, got)
		}
	}
}
