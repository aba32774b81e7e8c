package replay_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/policytest"
	"codex-bridge.example/bridge/policy/replay"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// recordedRules are rules of the policies in these tests.
var recordedRules = []config.Rule{
	{Tool: "shell", Command: "git push **", Decision: "deny", Reason: "no pushing"},
	{Tool: "shell", Command: "git **", Decision: "allow"},
	{Tool: "shell", Command: "make", Decision: "ask"},
	{Tool: "shell", Command: "make **", Decision: "allow"},
	{Path: "/etc/**", Decision: "deny"},
	{Tool: "file", Path: "${workspace}/sub/**", Decision: "allow"},
	{Path: "${workspace}/out/**", Decision: "ask"},
	{Path: "~/x/**", Decision: "deny"},
	{Tool: "mcp__tickets__*", Decision: "deny"},
	{Tool: "lookup", Decision: "allow"},
	{Command: "rm **", Escalated: true, Decision: "allow"},
	{Command: "git push **", Decision: "ask", Approvers: "release"},
	{Command: "make **", Decision: "ask", Approvers: "build", Until: "2026-03-01"},
	{Command: "rm **", Escalated: true, Decision: "ask", Approvers: "release"},
	{Command: "git push **", Decision: "allow", Until: "2026-03-01"},
	{Command: "make test", Decision: "allow", Until: "2026-09-01T12:00:00Z"},
	{Command: "cat **", Decision: "deny", Until: "2026-03-01"},
}

// today is the time of the simulations, at which some of the rules have ended.
var (
	earlier = time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	today   = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
)

// stateAt returns a state at a time.
func stateAt(st policy.State, now time.Time) policy.State {
	st.Now = func() time.Time { return now }
	return st
}

// effectOf returns the effect of a policy on a call, with the groups of its approvers.
func effectOf(p *policy.Policy, use toolcall.Call, st policy.State) string {
	a := toolcall.Explain(p, use, st)
	if d := toolcall.Decide(p, use, st); a.Decision != "deny" && len(d.Approvers) > 0 {
		return fmt.Sprint("approvers ", d.Approvers)
	}
	return a.Decision
}

func effectText(got replay.Recomputed) string {
	if got.Approvers != nil {
		return fmt.Sprint(got.Effect, " ", got.Approvers)
	}
	return got.Effect.String()
}

var recordedCommands = []string{
	"make", "make test", "git push origin main", "git status && make", "cat x > out/y", "cat x > in/y", "echo a >sub/b; git log", "rm -rf .git", "rm way/settings.json",
	"cd up && rm -rf .git", "$(curl x)", "echo \"$HOME\" > /etc/passwd", "tee loop/x < y", "FOO=1 make",
	"cd sub && apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: out/a\n+secret content\n*** End Patch\nEOF\n",
	"apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: sub/a\n*** Move to: .vscode/b\n+x\n*** End Patch\nEOF\n",
}

var recordedPatches = []string{
	"*** Begin Patch\n*** Add File: sub/a\n+secret content\n*** End Patch\n", "*** Begin Patch\n*** Update File: out/a\n@@\n-old\n+secret content\n*** End Patch\n",
	"*** Begin Patch\n*** Delete File: .git/config\n*** Add File: /etc/x\n+secret content\n*** End Patch\n", "nothing",
	"*** Begin Patch\n*** Update File: sub/a\n*** Move to: way/b\n+secret content\n*** End Patch\n",
}

// drawRecordedPolicy returns a policy whose settings of threads are always the same.
func drawRecordedPolicy(t *rapid.T, name string) config.Policy {
	cfg := policytest.Contract()
	cfg.Gate = true
	cfg.Rules = rapid.SliceOfN(rapid.SampledFrom(recordedRules), 0, 5).Draw(t, name+" rules")
	for i := range cfg.Rules {
		cfg.Rules[i].Origin = config.Origin{Layer: config.User, File: "config.toml", Line: i + 1}
	}
	cfg.Escalation = rapid.SampledFrom([]string{"deny", "ask"}).Draw(t, name+" escalation")
	cfg.WritableRoots = rapid.SampledFrom([][]string{{"${workspace}"}, {"${workspace}", "/srv/out"}, {"${workspace}/sub", "/srv/link"}, {"~/x"}, {}}).Draw(t, name+" roots")
	cfg.ProtectedPaths = rapid.SampledFrom([][]string{{".git", ".codex", ".agents"}, {".git", ".vscode"}, {".git", "way", "sub/kept"}}).Draw(t, name+" protected")
	cfg.Network = rapid.Bool().Draw(t, name+" network")
	if rapid.Bool().Draw(t, name+" models") {
		cfg.Models = []string{"gpt-5*"}
	}
	return cfg
}

func drawRecordedState(t *rapid.T) policy.State {
	some := func(name string, all ...string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(all), 0, 3, rapid.ID).Draw(t, name)
	}
	st := policy.State{
		Home: "/home/ada", CodexHome: "/home/ada/.codex", Paths: &replay.PathLog{Paths: policytest.Disk},
		Sensitive: some("sensitive", "/code/proj/sub/kept", "/home/ada/.config/codex-bridge", "/srv", "/code"),
		Programs:  some("programs", "/usr/bin", "/code/proj/bin", "/code/proj/sub"),
		Links:     some("links", "/code/proj/link", "/usr/bin/git"),
		Temps:     []policy.TempFolder{{Name: "/tmp", Path: "/tmp"}},

		Escalation:          rapid.SampledFrom([]rules.Escalation{rules.Sandboxed, rules.Sandboxed, rules.Escalated, rules.EscalationUnknown}).Draw(t, "escalation"),
		EscalationRequested: rapid.Bool().Draw(t, "requested"),
		ThreadRevoked:       rapid.Bool().Draw(t, "revoked"),
	}
	if rapid.IntRange(0, 9).Draw(t, "known") > 0 {
		st.Thread = &policy.Thread{
			ID: "T", Workspace: "/code/proj", Cwd: "/code/proj",
			Sandbox:       rapid.SampledFrom([]string{"workspace-write", "workspace-write", "read-only", "danger-full-access"}).Draw(t, "sandbox"),
			Approval:      json.RawMessage(rapid.SampledFrom([]string{`"on-request"`, `"untrusted"`, `"never"`, `{"granular":{"sandbox_approval":true}}`}).Draw(t, "approval")),
			Gated:         rapid.Bool().Draw(t, "gated"),
			RerunsOutside: rapid.Bool().Draw(t, "reruns"),
			LacksProfile:  rapid.Bool().Draw(t, "lacks"),
			Roots:         some("roots", "/srv/out", "/code/proj/out", "/srv/link"),
			Writable:      some("writable", "/code/proj", "/tmp/x"),
			Profile:       policy.Profile{Defined: rapid.Bool().Draw(t, "profile"), Roots: some("profile roots", "/srv/out"), Protected: [][]string{{".vscode"}}},
		}
	}
	return st
}

func drawRecordedCall(t *rapid.T) toolcall.Call {
	use := toolcall.Call{
		ID: "call", Name: rapid.SampledFrom([]string{"Bash", "Bash", "apply_patch", "mcp__tickets__get", "lookup", "read_mcp_resource"}).Draw(t, "tool"),
		Cwd:   rapid.SampledFrom([]string{"/code/proj", "/code/proj/sub", "/code/proj/in", "/code/proj/out", "/srv/out"}).Draw(t, "cwd"),
		Shell: rapid.SampledFrom([]string{"bash", "zsh", ""}).Draw(t, "shell"),
		Model: rapid.SampledFrom([]string{"gpt-5", "o9", ""}).Draw(t, "model"),
	}
	input := map[string]string{"server": "tickets", "argument": "secret content"}
	switch use.Name {
	case "Bash":
		input = map[string]string{"command": rapid.SampledFrom(recordedCommands).Draw(t, "command")}
	case "apply_patch":
		input = map[string]string{"command": rapid.SampledFrom(recordedPatches).Draw(t, "patch")}
	}
	raw, _ := json.Marshal(input)
	use.Input = jsonValue(t, string(raw))
	return use
}

func jsonValue(t policytest.TB, text string) rpc.Value {
	doc, err := rpc.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}

// replayOf encodes and decodes facts.
func replayOf(t policytest.TB, method string, facts replay.Facts) (*replay.Case, string) {
	decoded, err := replay.DecodeFacts(facts.Encode())
	if err != nil {
		t.Fatal(err)
	}
	return replay.NewCase(method, decoded)
}

// A policy decides recorded facts as it has decided the call. Another policy decides as it would have
// decided, or says that it does not know.
func TestRecomputedCallIsAsDecided(t *testing.T) {
	known, unknown := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		was, is := drawRecordedPolicy(t, "recorded"), drawRecordedPolicy(t, "candidate")
		p, q := policytest.Compile(t, was), policytest.Compile(t, is)
		st, use := stateAt(drawRecordedState(t), earlier), drawRecordedCall(t)
		explained, want := toolcall.Explain(p, use, st), effectOf(p, use, st)
		facts := replay.CallFacts(p, use, st)
		if text := string(facts.Encode()); use.Name != "Bash" && strings.Contains(text, "secret content") {
			t.Fatalf("the facts have contents: %s", text)
		}
		r, why := replayOf(t, "hook/preToolUse", facts)
		if why != "" {
			t.Fatalf("%v can't be recomputed: %s", use, why)
		}
		got := replay.Recompute(p, r, earlier)
		if got.Unknown != "" || effectText(got) != want {
			t.Fatalf("recomputed %+v, decided %s\n%s", got, want, facts.Encode())
		}
		if got.Approvers == nil && (got.Rule != explained.Rule || got.Reason != explained.Reason || got.Origin != explained.Origin) {
			t.Fatalf("recomputed %+v, decided %+v\n%s", got, explained, facts.Encode())
		}
		if got = replay.Recompute(q, r, today); got.Unknown != "" {
			unknown++
			return
		}
		known++
		st = stateAt(st, today)
		st.Paths = policytest.Disk
		if want := effectOf(q, use, st); effectText(got) != want {
			t.Fatalf("recomputed %+v under the candidate, it decides %s\n%s", got, want, facts.Encode())
		}
		// A rule that ends never makes a policy looser.
		if later := replay.Recompute(q, r, today.AddDate(1, 0, 0)); later.Unknown == "" && later.IsLooser(got) {
			t.Fatalf("%+v now, %+v after a year", got, later)
		}
	})
	if known < 2*unknown {
		t.Errorf("of %d calls only %d can be recomputed under another policy", known+unknown, known)
	}
}

// So do requests of Codex.
func TestRecomputedRequestIsAsDecided(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q := policytest.Compile(t, drawRecordedPolicy(t, "recorded")), policytest.Compile(t, drawRecordedPolicy(t, "candidate"))
		st := stateAt(drawRecordedState(t), earlier)
		text := rapid.SampledFrom(recordedCommands).Draw(t, "command")
		command, _ := json.Marshal("bash -c '" + strings.ReplaceAll(text, "'", `'\''`) + "'") // as Codex writes it
		plain, _ := json.Marshal(text)
		more := rapid.SampledFrom([]string{
			"", `,"reason":"command failed; retry without sandbox?"`, `,"networkApprovalContext":{"host":"x"}`, `,"additionalPermissions":{"network":true}`,
			`,"approvalId":"a"`, `,"availableDecisions":["cancel"]`, `,"kind":"exec"`,
		}).Draw(t, "more")
		request := rapid.SampledFrom([][2]string{
			{"item/commandExecution/requestApproval", `{"threadId":"T","itemId":"i","cwd":"/code/proj/in","command":` + string(command) + more + `}`},
			{"execCommandApproval", `{"conversationId":"T","callId":"i","cwd":"/code/proj","command":["bash","-lc",` + string(plain) + `]}`},
			{"item/fileChange/requestApproval", `{"threadId":"T","itemId":"i"` + more + `}`},
			{"item/fileChange/requestApproval", `{"threadId":"T","itemId":"i","grantRoot":"/code"}`},
			{"applyPatchApproval", `{"callId":"i","fileChanges":{"/code/proj/out/x":{"type":"add","content":"secret content"},"/code/proj/sub/y":{"type":"update","move_path":"/etc/x"}}}`},
			{"mcpServer/elicitation/request", `{"serverName":"tickets","message":"secret content","_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":"get","tool_params":{"a":"secret content"}}}`},
			{"mcpServer/elicitation/request", `{"serverName":"tickets","message":"secret content"}`},
			{"item/tool/call", `{"tool":"lookup","arguments":{"a":"secret content"}}`},
			{"item/permissions/requestApproval", `{"itemId":"i","permissions":{}}`},
		}).Draw(t, "request")
		if request[0] == "item/fileChange/requestApproval" {
			st.Files = rapid.SampledFrom([][]string{{"/code/proj/out/x"}, {"/code/proj/sub/x", "/code/proj/.git/x"}, nil}).Draw(t, "files")
		}
		params := jsonValue(t, request[1])
		effect := func(p *policy.Policy) string {
			var approvers []config.Quorum
			st := st
			if request[0] == "item/commandExecution/requestApproval" {
				raw, _ := json.Marshal(map[string]string{"command": text})
				d := toolcall.Decide(p, toolcall.Call{Name: "Bash", Input: jsonValue(t, string(raw)), Cwd: "/code/proj/in", Shell: "bash"}, st)
				if d.Verdict == policy.Deny {
					return "" // Codex does not ask
				}
				approvers = d.Approvers
				if serverrequest.CanBeApproved(request[0], params) {
					if st.Approved = policy.ApprovedOutside; st.Escalation == rules.Sandboxed && !st.EscalationRequested && !d.LeavesSandbox {
						st.Approved = policy.ApprovedInside
					}
				}
			}
			d := serverrequest.Decide(p, request[0], params, st)
			switch {
			case d.Verdict != policy.Deny && len(approvers) > 0:
				return fmt.Sprint("approvers ", approvers)
			case d.Verdict == policy.Deny:
				return "deny"
			case d.Verdict == policy.Accept, request[0] == "item/tool/call", d.Verdict == policy.Pass && !serverrequest.IsApproval(request[0], params):
				return "allow"
			}
			return "ask"
		}
		want := effect(p)
		facts := replay.RequestFacts(p, request[0], params, st)
		if text := string(facts.Encode()); strings.Contains(text, "secret content") && !strings.Contains(request[0], "ommand") {
			t.Fatalf("the facts have contents: %s", text)
		}
		r, why := replayOf(t, request[0], facts)
		if why != "" {
			t.Fatalf("%s can't be recomputed: %s", request, why)
		}
		if got := replay.Recompute(p, r, earlier); got.Unknown == "" && want != "" && effectText(got) != want || got.Unknown != "" && !p.HasApprovers() {
			t.Fatalf("recomputed %+v, decided %s\n%s", got, want, facts.Encode())
		}
		st = stateAt(st, today)
		st.Paths = policytest.Disk
		if got := replay.Recompute(q, r, today); got.Unknown == "" && effect(q) != "" && effectText(got) != effect(q) {
			t.Fatalf("recomputed %+v under the candidate, it decides %s\n%s", got, effect(q), facts.Encode())
		}
	})
}

// Where a candidate would give the thread other rights, only a rule's denial is certain.
func TestRecomputeKnowsOtherSettings(t *testing.T) {
	cfg := policytest.Contract()
	p := policytest.Compile(t, cfg)
	st := policy.State{
		Home: "/home/ada", Paths: &replay.PathLog{Paths: policytest.Disk}, Escalation: rules.Sandboxed,
		Thread: &policy.Thread{Workspace: "/code/proj", Sandbox: "workspace-write", Approval: json.RawMessage(`"on-request"`)},
	}
	use := toolcall.Call{Name: "Bash", Input: jsonValue(t, `{"command":"git push"}`), Cwd: "/code/proj", Shell: "bash"}
	toolcall.Decide(p, use, st)
	r, why := replayOf(t, "hook/preToolUse", replay.CallFacts(p, use, st))
	if why != "" {
		t.Fatal(why)
	}
	for name, change := range map[string]func(*config.Policy){
		"approval": func(c *config.Policy) { c.Approval = []string{"on-request"} },
		"sandbox":  func(c *config.Policy) { c.Sandbox = "read-only" },
		"gate":     func(c *config.Policy) { c.Gate = !c.Gate },
	} {
		other := cfg
		change(&other)
		if got := replay.Recompute(policytest.Compile(t, other), r, today); !strings.Contains(got.Unknown, "another sandbox or approval policy") {
			t.Errorf("%s: %+v", name, got)
		}
		other.Rules = slices.Clone(recordedRules[:1])
		if got := replay.Recompute(policytest.Compile(t, other), r, today); got.Unknown != "" || got.Effect != replay.Denies {
			t.Errorf("%s with a rule: %+v", name, got)
		}
		other.Mode = config.Audit
		if got := replay.Recompute(policytest.Compile(t, other), r, today); got.Unknown != "" || got.Effect != replay.Allows {
			t.Errorf("%s under audit: %+v", name, got)
		}
	}
}

// The method table decides again about methods, unless the verdict depends on the message.
func TestRecomputeMethod(t *testing.T) {
	cfg := policytest.Contract()
	cfg.Methods = map[string]string{"fs/remove": "allow", "thread/name/set": "deny", "thread/archive": "ask"}
	p := policytest.Compile(t, cfg)
	for method, want := range map[string]string{
		"fs/remove": "allow", "thread/name/set": "deny", "thread/archive": "ask", "no/method": "deny", "turn/start": "", "command/exec": "",
	} {
		got := replay.RecomputeMethod(p, method)
		if text := got.Effect.String(); (want == "") != (got.Unknown != "") || want != "" && text != want {
			t.Errorf("%s: %+v", method, got)
		}
	}
}

// Facts that can't determine a decision say why.
func TestFactsThatAreNotEnough(t *testing.T) {
	shared := policytest.Contract()
	shared.FromWorkspace = true
	many := "cat x"
	for i := range 100 {
		many += " > out/" + strings.Repeat("y", i+1) + " && cat x"
	}
	for name, test := range map[string]struct {
		cfg             config.Policy
		tool, text, why string
	}{
		"a file of a workspace": {shared, "Bash", "make", "the file of a workspace"},
		"a subagent":            {policytest.Contract(), "spawn_agent", "", "a subagent"},
		"a long line":           {policytest.Contract(), "Bash", "echo " + strings.Repeat("a", 20<<10), "too long"},
		"many paths":            {policytest.Contract(), "Bash", many, "too many paths"},
	} {
		p := policytest.Compile(t, test.cfg)
		st := policy.State{Home: "/home/ada", Paths: &replay.PathLog{Paths: policytest.Disk}, Thread: &policy.Thread{Workspace: "/code/proj", Sandbox: "workspace-write"}}
		raw, _ := json.Marshal(map[string]string{"command": test.text})
		use := toolcall.Call{ID: "call", Name: test.tool, Input: jsonValue(t, string(raw)), Cwd: "/code/proj", Shell: "bash"}
		toolcall.Decide(p, use, st)
		facts := replay.CallFacts(p, use, st)
		if _, why := replayOf(t, "hook/preToolUse", facts); !strings.Contains(why, test.why) || !strings.Contains(string(facts.Encode()), `"id":"call"`) {
			t.Errorf("%s: %q, %s", name, why, facts.Encode())
		}
	}
	if _, err := replay.DecodeFacts([]byte(`{"later":true}`)); err == nil {
		t.Error("facts of a later version are read")
	}
}
