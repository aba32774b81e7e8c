package guard_test

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/rpc"
)

// explains returns an explanation of a message as JSON.
func explains(t *testing.T, e guard.Explanation) map[string]any {
	t.Helper()
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func message(t *testing.T, text string) *rpc.Message {
	t.Helper()
	m, err := rpc.ParseMessage([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const explainedPolicy = `
[policy]
gate = false
sandbox = "workspace-write"
approval = ["on-request"]
project_trust = "codex"
escalation = "ask"
[[policy.rule]]
command = "git push **"
decision = "deny"
[[policy.rule]]
tool = "mcp__tickets__read"
decision = "allow"
`

// Explain assigns a message to the side that sends its method, and an unknown method to the client.
func TestExplainFindsSide(t *testing.T) {
	command := func(command string) string {
		return `{"id":0,"method":"item/commandExecution/requestApproval","params":{"threadId":"t","turnId":"u","itemId":"i","command":"` + command + `","cwd":"/"}}`
	}
	const mcp = `{"id":0,"method":"mcpServer/elicitation/request","params":{"threadId":"t","serverName":"s","mode":"form","message":"m","requestedSchema":{}}}`
	for _, test := range []struct {
		name, policy, message string
		verdict, rule         string
		answers               int
	}{
		{"a turn in a thread that the bridge does not know", explainedPolicy, `{"id":1,"method":"turn/start","params":{"threadId":"t","input":[]}}`, "pass", "", 0},
		{"a start that leaves settings out", explainedPolicy, `{"id":1,"method":"thread/start","params":{}}`, "pass", "", 0},
		{"a resume that leaves the sandbox out", explainedPolicy, `{"id":1,"method":"thread/resume","params":{"threadId":"t","approvalPolicy":"on-request"}}`, "rewrite", "", 0},
		{"what only the client says", explainedPolicy, `{"id":1,"method":"fs/writeFile","params":{"path":"/x","dataBase64":""}}`, "deny", "policy.methods", 0},
		{"a request that nobody knows", explainedPolicy, `{"id":1,"method":"thread/doAnything","params":{}}`, "deny", "policy.unknown_methods", 0},
		{"a notification that nobody knows", explainedPolicy, `{"method":"thread/doAnything","params":{}}`, "deny", "policy.unknown_methods", 0},
		{"a question", explainedPolicy, command("ls"), "pass", "", 4},
		{"a question that a rule denies", explainedPolicy, command("git push"), "deny", "policy.rule", 0},
		{"a question about a tool that a rule allows: it may be the server's own", explainedPolicy, strings.NewReplacer(`"s"`, `"tickets"`, `"message"`, `"_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":"read"},"message"`).Replace(mcp), "pass", "", 0},
		{"a question about leaving the sandbox", explainedPolicy, strings.Replace(command("ls"), `"cwd"`, `"additionalPermissions":{},"cwd"`, 1), "rewrite", "", 4},
		{"a question with no list of answers", explainedPolicy, mcp, "pass", "", 0},
		{"a notification of Codex", explainedPolicy, `{"method":"turn/completed","params":{"threadId":"t"}}`, "pass", "", 0},
		{"a question without a policy", "", command("git push"), "pass", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := guard.New(load(t, test.policy), world(t), guard.NoRecord, slog.New(slog.DiscardHandler))
			m := message(t, test.message)
			e := g.Explain(m, nil)
			rule := ""
			if r := e.Decision.Refusal(); r != nil {
				rule = r.Rule
			}
			if string(e.Decision.Verdict) != test.verdict || rule != test.rule || len(e.Answers) != test.answers {
				t.Errorf("%s by %q with %d answers", e.Decision.Verdict, rule, len(e.Answers))
			}
			if test.verdict == "pass" && string(e.Decision.Message) != test.message {
				t.Errorf("Codex or the client would get %s", e.Decision.Message)
			}
			got := explains(t, e)
			if got["mode"] != string(g.Policy().Mode()) || got["verdict"] != test.verdict || (got["answers"] != nil) != (test.answers > 0) {
				t.Errorf("as JSON: %v", got)
			}
		})
	}
}

// A dry run of a command says what happens to it, and names the rule with its place.
func TestExplainCommand(t *testing.T) {
	const rules = "[[policy.rule]]\ncommand = \"git push **\"\ndecision = \"deny\"\nreason = \"CI pushes.\"\n" +
		"[[policy.rule]]\ncommand = \"make **\"\ndecision = \"allow\"\n[[policy.rule]]\ncommand = \"curl **\"\ndecision = \"ask\"\nreason = \"It downloads.\"\n"
	const asks = "[policy]\napproval = [\"untrusted\"]\nsandbox = \"workspace-write\"\n" + rules
	const works = "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\n" + rules
	for _, test := range []struct{ name, policy, command, decision, rule, origin string }{
		{"a deny rule", asks, "cd x && git push", "deny", "policy.rule", ".toml:4"},
		{"an allow rule", asks, "make all", "allow", "policy.rule", ".toml:8"},
		{"an ask rule", works, "curl x", "ask", "policy.rule", ".toml:11"},
		{"no rule under untrusted", asks, "ls", "ask", "policy.approval", ".toml:2"},
		{"no rule under on-request", works, "ls", "allow", "", ""},
		{"no policy", "", "git push", "allow", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			notes := &book{}
			g := guard.New(load(t, test.policy), world(t), notes, slog.New(slog.DiscardHandler))
			a := g.ExplainCommand(test.command, "", "")
			if a.Decision != test.decision || a.Rule != test.rule || !strings.HasSuffix(a.Origin, test.origin) || a.Reason == "" {
				t.Errorf("%+v", a)
			}
			if len(notes.entries) > 0 {
				t.Errorf("a dry run is logged: %+v", notes.entries)
			}
		})
	}
}

// For a request of Codex, the explanation has the decision on each result that Codex offers.
func TestExplainAnswers(t *testing.T) {
	g := guard.New(load(t, explainedPolicy), world(t), guard.NoRecord, slog.New(slog.DiscardHandler))
	for _, test := range []struct{ name, offered, want string }{
		{"as usual", `null`, `[
			{"answer":{"decision":"accept"},"becomes":{"decision":"accept"},"changes":null},
			{"answer":{"decision":"acceptForSession"},"becomes":{"decision":"accept"},"changes":"some"},
			{"answer":{"decision":"decline"},"becomes":{"decision":"decline"},"changes":null},
			{"answer":{"decision":"cancel"},"becomes":{"decision":"cancel"},"changes":null}
		]`},
		{"as offered", `["cancel","accept"]`, `[
			{"answer":{"decision":"cancel"},"becomes":{"decision":"cancel"},"changes":null},
			{"answer":{"decision":"accept"},"becomes":{"decision":"accept"},"changes":null}
		]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := g.Explain(message(t, `{"id":0,"method":"item/commandExecution/requestApproval","params":{"threadId":"t","turnId":"u","itemId":"i","command":"ls","cwd":"/","availableDecisions":`+test.offered+`}}`), nil)
			answers := explains(t, e)["answers"].([]any)
			for _, a := range answers {
				if changes, ok := a.(map[string]any)["changes"].([]any); ok && len(changes) > 0 {
					a.(map[string]any)["changes"] = "some"
				}
			}
			var want []any
			if err := json.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, answers); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// The explanation also has the remark that a request would leave the sandbox.
func TestExplainShowsMarkedQuestion(t *testing.T) {
	g := guard.New(load(t, explainedPolicy), world(t), guard.NoRecord, slog.New(slog.DiscardHandler))
	e := g.Explain(message(t, `{"id":0,"method":"item/commandExecution/requestApproval","params":{"threadId":"t","turnId":"u","itemId":"i","command":"ls","cwd":"/","reason":"command failed; retry without sandbox?"}}`), nil)
	shown := message(t, string(e.Decision.Message))
	if reason, _ := shown.Params.Get("reason").Text(); !strings.HasPrefix(reason, "[codex-bridge: leaves the sandbox] ") || !strings.HasSuffix(reason, `: "command failed; retry without sandbox?"`) {
		t.Errorf("the client is shown the reason %q", reason)
	}
}

// A message is explained with the given thread, configuration of Codex, and request of Codex.
func TestExplainInSituation(t *testing.T) {
	w := world(t)
	g := guard.New(load(t, explainedPolicy), w, guard.NoRecord, slog.New(slog.DiscardHandler))
	config, err := rpc.ParseValue([]byte(`{"config":{"approval_policy":"never"}}`))
	if err != nil {
		t.Fatal(err)
	}
	never, err := policy.ParseDefaults(config.Root())
	if err != nil {
		t.Fatal(err)
	}
	turn := message(t, `{"id":1,"method":"turn/start","params":{"threadId":"t","input":[]}}`)
	if e := g.ExplainIn(turn, guard.Situation{}); e.Decision.Verdict != policy.Deny {
		t.Errorf("a turn without a thread: %s", e.Decision.Verdict)
	}
	if e := g.ExplainIn(turn, guard.Situation{Thread: &policy.Thread{ID: "t", Workspace: w.StartFolder}}); e.Decision.Verdict != policy.Pass {
		t.Errorf("a turn in its thread: %s", e.Decision.Verdict)
	}

	fields := func(e guard.Explanation) string {
		var all []string
		for _, c := range e.Decision.Changes {
			all = append(all, c.Field)
		}
		return strings.Join(all, " ")
	}
	start := message(t, `{"id":1,"method":"thread/start","params":{"sandbox":"read-only","approvalsReviewer":"user"}}`)
	nothing, own := g.ExplainIn(start, guard.Situation{}), g.ExplainIn(start, guard.Situation{Defaults: never})
	if strings.Contains(fields(nothing), "approvalPolicy") || !strings.Contains(fields(own), "approvalPolicy") {
		t.Errorf("a start changes %q, with Codex's configuration %q", fields(nothing), fields(own))
	}

	asked := message(t, `{"id":0,"method":"item/fileChange/requestApproval","params":{"threadId":"t","turnId":"u","itemId":"i"}}`)
	answer := message(t, `{"id":0,"result":{"decision":"acceptForSession"}}`)
	e := g.ExplainIn(answer, guard.Situation{Question: &serverrequest.Request{Method: asked.Method, Params: asked.Params}})
	if e.Decision.Verdict != policy.Rewrite || !strings.Contains(string(e.Decision.Message), `"accept"`) {
		t.Errorf("an answer is %s, as %s", e.Decision.Verdict, e.Decision.Message)
	}
	if e := g.ExplainIn(message(t, `{"id":0,"method":"item/doAnything","params":{}}`), guard.Situation{From: bridge.Codex}); e.Decision.Verdict != policy.Deny {
		t.Errorf("what Codex does not ask: %s", e.Decision.Verdict)
	}
}

// A method of the bridge passes where the policy does not deny it, and each refusal of another method says whose it is.
func TestExplainMethodsOfOthers(t *testing.T) {
	g := guard.New(load(t, explainedPolicy+"[policy.methods]\n\"bridge/acp/spawn\" = \"deny\"\n"), world(t), guard.NoRecord, slog.New(slog.DiscardHandler))
	for _, test := range []struct {
		message string
		own     bool
		want    string // of the refusal or the change
	}{
		{`{"id":1,"method":"bridge/turn/run","params":{"sessionKey":"s"}}`, true, ""},
		{`{"id":1,"method":"bridge/status"}`, true, ""},
		{`{"id":1,"method":"bridge/acp/spawn","params":{"task":"x"}}`, false, "the configuration denies it"},
		{`{"id":1,"method":"bridge/foo"}`, false, "the bridge answers methods of its own only to a client that offers capabilities.bridge"},
		{`{"method":"bridge/turn/run","params":{}}`, false, "capabilities.bridge"},
		{`{"id":1,"method":"thread/starts"}`, false, "this is none of them"},
		{`{"id":1,"method":"thread/start","params":{"bridge":{"sessionKey":"s"}}}`, false, "the bridge reads it where a session begins or resumes"},
		{`{"id":1,"method":"thread/start","params":{"bridges":{}}}`, false, "a later version may use it"},
	} {
		e := g.Explain(message(t, test.message), nil)
		reason := ""
		if r := e.Decision.Refusal(); r != nil {
			reason = r.Reason
		}
		for _, c := range e.Decision.Changes {
			if strings.HasPrefix(c.Field, "params.bridge") {
				reason = c.Reason
			}
		}
		if e.Own != test.own || !strings.Contains(reason, test.want) || test.want == "" && reason != "" {
			t.Errorf("%s: answered by the bridge %t, %s %q", test.message, e.Own, e.Decision.Verdict, reason)
		}
	}
	for _, method := range []string{"item/commandExecution/requestApproval", "turn/completed"} {
		e := g.ExplainIn(message(t, `{"id":1,"method":"`+method+`","params":{}}`), guard.Situation{})
		if r := e.Decision.Refusal(); r == nil || r.Reason != "only Codex sends this method" {
			t.Errorf("%s from a client: %+v", method, r)
		}
	}
}

// A known thread is explained with its settings.
func TestExplainKnowsThread(t *testing.T) {
	c, g, w := converse(t, explainedPolicy, guard.NoRecord)
	elsewhere := world(t).StartFolder
	c.Bind("elsewhere", elsewhere)
	c.Play("start", `
editor> {"id":1,"method":"thread/start","params":{"cwd":"$elsewhere","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":"$config","method":"config/read","params":"$for"}
codex>  {"id":"$config","result":{"config":{},"layers":[]}}
codex<  {"id":1,"method":"thread/start","params":"$sent"}
codex>  {"id":1,"result":{"thread":{"id":"known"},"approvalPolicy":"on-request","approvalsReviewer":"user","sandbox":{"type":"readOnly","networkAccess":false},"activePermissionProfile":null,"cwd":"$elsewhere","model":"gpt-5.5"}}
editor< {"id":1,"result":"$started"}
`)
	turn := func(thread, cwd string) policy.Verdict {
		return g.Explain(message(t, `{"id":1,"method":"turn/start","params":{"threadId":"`+thread+`","input":[],"cwd":"`+cwd+`"}}`), nil).Decision.Verdict
	}
	for _, test := range []struct {
		thread, cwd string
		passes      bool
	}{{"known", elsewhere, true}, {"unknown", w.StartFolder, true}, {"unknown", "/usr/share", false}, {"known", "/usr/share", false}} {
		if got := turn(test.thread, test.cwd); (got == policy.Pass) != test.passes {
			t.Errorf("a turn of the %s thread in %s: %s", test.thread, test.cwd, got)
		}
	}
}
