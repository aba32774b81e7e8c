package guard_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/rpc"
)

const (
	strictPolicy = `
[policy]
gate = false
sandbox = "read-only"
approval = ["untrusted"]
escalation = "ask"
project_trust = "codex"
[[policy.rule]]
command = "git push **"
decision = "deny"
reason = "Pushing is done by people."
`
	loosePolicy = `
[policy]
gate = false
sandbox = "read-only"
approval = ["untrusted", "on-request"]
escalation = "ask"
project_trust = "codex"
`
)

// converse starts a conversation with a guard that enforces a policy.
func converse(t *testing.T, text string, recorder guard.Recorder) (*bridgetest.Conversation, *guard.Guard, policy.State) {
	t.Helper()
	w := world(t)
	g := guard.New(load(t, text), w, recorder, slog.New(slog.DiscardHandler))
	c := bridgetest.Start(t, g)
	c.Bind("start", w.StartFolder)
	return c, g, w
}

// step fills in a script: METHOD, THREAD and APPROVAL.
func step(script, method, thread, approval string) string {
	return strings.NewReplacer("METHOD", method, "THREAD", thread, "APPROVAL", approval).Replace(script)
}

// opens opens a read-only thread as the client, with all settings. Codex reports the requested
// ones. The turn u runs in the thread.
func opens(c *bridgetest.Conversation, method, thread, approval string) {
	source := ""
	if method != "thread/start" {
		source = `"threadId":"t1",`
	}
	const ask = `editor> {"id":"open","method":"METHOD","params":{SOURCE"cwd":"$start","approvalPolicy":"APPROVAL","sandbox":"read-only","approvalsReviewer":"user"}}
`
	const config = `codex<  {"id":"$read-METHOD","method":"config/read","params":{"includeLayers":true,"cwd":"$start"}}
codex>  {"id":"$read-METHOD","result":{"config":{},"layers":[]}}
`
	const answer = `codex<  {"id":"open","method":"METHOD","params":{SOURCE"cwd":"$start","approvalPolicy":"APPROVAL","sandbox":"read-only","approvalsReviewer":"user"}}
codex>  {"id":"open","result":{"thread":{"id":"THREAD"},"approvalPolicy":"APPROVAL",` + threadAnswer + `
editor< {"id":"open","result":{"thread":{"id":"THREAD"},"approvalPolicy":"APPROVAL",` + threadAnswer + `
`
	script := ask + answer
	if method != "thread/start" {
		script = ask + config + answer
	}
	c.Play(method+" "+thread, step(strings.ReplaceAll(script, "SOURCE", source), method, thread, approval))
	c.StartTurn(thread, "u")
}

// takesTurn starts a turn as the client; sent is the approval policy that Codex gets.
func takesTurn(c *bridgetest.Conversation, thread, asked, sent string) {
	const script = `editor> {"id":"turn","method":"turn/start","params":{"threadId":"THREAD","input":[],"approvalPolicy":"APPROVAL"}}
codex<  {"id":"turn","method":"turn/start","params":{"threadId":"THREAD","input":[],"approvalPolicy":"SENT"}}
codex>  {"id":"turn","result":{}}
editor< {"id":"turn","result":{}}
`
	c.Play("turn in "+thread, step(strings.ReplaceAll(script, "SENT", sent), "", thread, asked))
}

const (
	pushQuestion = `{"method":"item/commandExecution/requestApproval","id":"ask","params":{"threadId":"THREAD","turnId":"u","itemId":"i","command":"git push","cwd":"$start","reason":"it needs the network"}}`
	pushDenied   = "codex> " + pushQuestion + `
codex< {"id":"ask","result":{"decision":"decline"}}
`
	pushAsked = "codex> " + pushQuestion + `
editor< {"method":"item/commandExecution/requestApproval","id":"ask","params":{"threadId":"THREAD","turnId":"u","itemId":"i","command":"git push","cwd":"$start","reason":"<text>"}}
editor> {"id":"ask","result":{"decision":"decline"}}
codex< {"id":"ask","result":{"decision":"decline"}}
`
)

// refusal returns why a command must not run in a thread; "" if it may.
func refusal(t *testing.T, g *guard.Guard, thread, command, cwd string) string {
	t.Helper()
	return g.Tool(t.Context(), thread, "u", bash(t, command, cwd), []byte("call")).Refusal
}

func bash(t *testing.T, command, cwd string) toolcall.Call {
	t.Helper()
	input, err := rpc.ParseValue(fmt.Appendf(nil, `{"command":%q}`, command))
	if err != nil {
		t.Fatal(err)
	}
	return toolcall.Call{Name: "Bash", Input: input.Root(), Cwd: cwd}
}

// A thread keeps the policy under which it was opened when a looser one becomes active: its turns,
// Codex's requests and its tool calls are checked against both. A thread that is opened or reopened
// under the new policy is checked only against that one.
func TestOpenThreadKeepsStricterPolicy(t *testing.T) {
	for _, test := range []struct{ name, policy string }{
		{"looser", loosePolicy},
		{"audit", strings.Replace(loosePolicy, "[policy]", "[policy]\nmode = \"audit\"", 1)},
		{"off", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &book{}
			c, g, w := converse(t, strictPolicy, b)
			g.SetKnowsBridge(func() bool { return true }) // no warnings
			opens(c, "thread/start", "t1", "untrusted")
			g.SetPolicy(load(t, test.policy))
			if len(b.entries) != 1 || b.entries[0].Method != "bridge/config/changed" || b.entries[0].Mode != "enforce" || !strings.Contains(b.entries[0].Reason, "1 open thread") {
				t.Errorf("the log of the change is %+v", b.entries)
			}
			takesTurn(c, "t1", "on-request", "untrusted")
			c.Play("question", step(pushDenied, "", "t1", ""))
			if got := refusal(t, g, "t1", "git push", w.StartFolder); !strings.Contains(got, "Pushing is done by people: git push") {
				t.Errorf("the refusal in t1 is %q", got)
			}
			c.Play("a thread that the bridge does not know", step(pushDenied, "", "t9", ""))
			if test.name != "looser" {
				return
			}
			opens(c, "thread/start", "t2", "on-request")
			opens(c, "thread/fork", "t3", "on-request")
			for _, thread := range []string{"t2", "t3"} {
				takesTurn(c, thread, "on-request", "on-request")
				c.Play("question", step(pushAsked, "", thread, ""))
				if got := refusal(t, g, thread, "git push", w.StartFolder); got != "" {
					t.Errorf("the refusal in %s is %q", thread, got)
				}
			}
			takesTurn(c, "t1", "on-request", "untrusted")
			opens(c, "thread/resume", "t1", "on-request")
			takesTurn(c, "t1", "on-request", "on-request")
			c.Play("question", step(pushAsked, "", "t1", ""))
		})
	}
}

// If the active policy and an extra one deny something, the client gets the reason of the active
// one.
func TestActivePolicyGivesReason(t *testing.T) {
	c, g, w := converse(t, strictPolicy, guard.NoRecord)
	opens(c, "thread/start", "t1", "untrusted")
	g.SetPolicy(load(t, strings.Replace(strictPolicy, "Pushing is done by people.", "The release is over.", 1)))
	if got := refusal(t, g, "t1", "git push", w.StartFolder); !strings.Contains(got, "The release is over: git push") {
		t.Errorf("the refusal is %q", got)
	}
	g.SetPolicy(load(t, loosePolicy+"[policy.methods]\n\"turn/start\" = \"deny\"\n"))
	c.Play("turn", `
editor> {"id":1,"method":"turn/start","params":{"threadId":"t1","input":[]}}
editor< {"id":1,"error":{"code":-32010,"message":"<text>","data":{"method":"turn/start","rule":"<text>","reason":"the configuration denies it","origin":"<text>","hint":"<text>"}}}
`)
}

// A policy that was not enforced is not kept: only the next one counts, and the change is not
// logged.
func TestAuditPolicyIsNotKept(t *testing.T) {
	audit := func(text string) string { return strings.Replace(text, "[policy]", "[policy]\nmode = \"audit\"", 1) }
	b := &book{}
	c, g, w := converse(t, audit(strictPolicy), b)
	opens(c, "thread/start", "t1", "untrusted")
	g.SetPolicy(load(t, audit(loosePolicy)))
	takesTurn(c, "t1", "on-request", "on-request")
	if got := refusal(t, g, "t1", "git push", w.StartFolder); got != "" {
		t.Errorf("the refusal is %q", got)
	}
	if len(b.entries) != 0 {
		t.Errorf("the log has %+v", b.entries)
	}
}

// A change of the policy is logged only if there are open threads.
func TestChangeWithoutThreadsIsNotLogged(t *testing.T) {
	b := &book{}
	g := guard.New(load(t, strictPolicy), world(t), b, slog.New(slog.DiscardHandler))
	g.SetPolicy(load(t, loosePolicy))
	if len(b.entries) != 0 {
		t.Errorf("the log has %+v", b.entries)
	}
}

// A revoked thread is checked against its own extra policies, and not against those of other
// threads. Its requests are declined.
func TestRevokedThreadKeepsItsPolicies(t *testing.T) {
	b := &book{}
	c, g, _ := converse(t, strictPolicy, b)
	opens(c, "thread/start", "t1", "untrusted")
	g.SetPolicy(load(t, loosePolicy))
	opens(c, "thread/start", "t2", "on-request")
	g.SetPolicy(load(t, loosePolicy))
	const loosened = `{"method":"thread/settings/updated","params":{"threadId":"t2","threadSettings":{"approvalPolicy":"never","approvalsReviewer":"user","sandboxPolicy":{"type":"readOnly","networkAccess":false},"activePermissionProfile":null,"cwd":"$start","model":"gpt-5.5"}}}`
	c.Play("loosened", "codex> "+loosened+"\neditor< "+loosened+"\n")
	if n := g.Threads(); n != 1 {
		t.Errorf("%d threads may take turns", n)
	}
	for thread, rule := range map[string]string{"t2": "policy.mode", "t9": "policy.rule"} {
		b.entries = nil
		c.Play("question", step(pushDenied, "", thread, ""))
		if len(b.entries) != 1 || b.entries[0].Rule != rule {
			t.Errorf("the log of the question in %s has %+v, want %s", thread, b.entries, rule)
		}
	}
}

// A thread has up to 32 extra policies. With one more it takes no turn until it is opened again;
// other threads keep theirs.
func TestThreadKeepsBoundedPolicies(t *testing.T) {
	c, g, _ := converse(t, strictPolicy, guard.NoRecord)
	for i := range 4 {
		opens(c, "thread/start", fmt.Sprint("old", i), "untrusted")
	}
	for i := range 32 {
		g.SetPolicy(load(t, loosePolicy+fmt.Sprintf("config_keys = [\"k%d\"]\n", i)))
	}
	if n := g.Threads(); n != 4 {
		t.Errorf("with 32 policies %d threads may take turns", n)
	}
	g.SetPolicy(load(t, strictPolicy))
	if n := g.Threads(); n != 0 {
		t.Errorf("with 33 policies %d threads may take turns", n)
	}
	opens(c, "thread/start", "t1", "untrusted")
	g.SetPolicy(load(t, loosePolicy))
	takesTurn(c, "t1", "on-request", "untrusted")
}

// A policy that becomes active again is kept by the threads that were opened since, and only once
// by those that have it.
func TestPolicyThatComesBackIsKept(t *testing.T) {
	strict, loose := load(t, strictPolicy), load(t, loosePolicy)
	c, g, _ := converse(t, strictPolicy, guard.NoRecord)
	g.SetKnowsBridge(func() bool { return true }) // no warnings
	g.SetPolicy(strict)
	for i := range 4 {
		opens(c, "thread/start", fmt.Sprint("old", i), "untrusted")
	}
	g.SetPolicy(loose)
	g.SetPolicy(strict)
	for i := range 4 {
		opens(c, "thread/start", fmt.Sprint("new", i), "untrusted")
	}
	for range 20 {
		g.SetPolicy(loose)
		g.SetPolicy(strict)
	}
	g.SetPolicy(loose)
	if n := g.Threads(); n != 8 {
		t.Errorf("%d threads may take turns", n)
	}
	for i := range 4 {
		for _, age := range []string{"old", "new"} {
			thread := fmt.Sprint(age, i)
			c.Play("question", step(pushDenied, "", thread, ""))
			takesTurn(c, thread, "on-request", "untrusted")
		}
	}
}

// The strictest decision about a request of Codex counts: a denial before a question with a remark,
// and that before a plain question.
func TestStricterDecisionAboutQuestionCounts(t *testing.T) {
	const patch = `codex> {"method":"item/started","params":{"threadId":"t1","turnId":"u","item":{"type":"fileChange","id":"p","changes":[{"path":"$file","kind":{"type":"add"},"diff":"x"}]}}}
editor< {"method":"item/started","params":"$item"}
codex> {"method":"item/fileChange/requestApproval","id":"ask","params":{"threadId":"t1","turnId":"u","itemId":"p"}}
`
	const tool = `codex> {"method":"mcpServer/elicitation/request","id":"ask","params":{"threadId":"t1","serverName":"tickets","mode":"form","_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":"read"},"message":"m","requestedSchema":{}}}
`
	const allowed, denied = "[[policy.rule]]\ntool = \"mcp__tickets__read\"\ndecision = \"allow\"\n", "[[policy.rule]]\ntool = \"mcp__tickets__read\"\ndecision = \"deny\"\n"
	for _, test := range []struct{ name, kept, current, script string }{
		{"a warning", loosePolicy, strings.Replace(loosePolicy, "read-only", "danger-full-access", 1), patch + `editor< {"method":"item/fileChange/requestApproval","id":"ask","params":{"threadId":"t1","turnId":"u","itemId":"p","reason":"<text>"}}`},
		{"a question", loosePolicy, loosePolicy + allowed, tool + `editor< {"method":"mcpServer/elicitation/request","id":"ask","params":"$question"}`},
		{"a denial", loosePolicy + denied, loosePolicy + allowed, tool + `codex< {"id":"ask","result":{"action":"decline"}}`},
		{"a server's question", loosePolicy + allowed, loosePolicy + allowed, tool + `editor< {"method":"mcpServer/elicitation/request","id":"ask","params":"$question"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, g, w := converse(t, test.kept, guard.NoRecord)
			c.Bind("file", w.StartFolder+"/a")
			opens(c, "thread/start", "t1", "on-request")
			g.SetPolicy(load(t, test.current))
			c.Play("question", test.script+"\n")
		})
	}
}

// A call of an MCP server's tool is accepted before Codex asks, if the rules of each policy allow it and Codex
// would ask the client.
func TestAcceptsCallByEveryPolicy(t *testing.T) {
	const rule = "[[policy.rule]]\ntool = \"mcp__tickets__read\"\ndecision = \"allow\"\n"
	never := strings.Replace(loosePolicy, `"on-request"`, `"on-request", "never"`, 1)
	for _, test := range []struct {
		name, kept, current, approval, tool string
		failure                             error
		want                                bool
	}{
		{"both", loosePolicy + rule, loosePolicy + rule, "on-request", "read", nil, true},
		{"the current one", loosePolicy, loosePolicy + rule, "on-request", "read", nil, false},
		{"the kept one", loosePolicy + rule, loosePolicy, "on-request", "read", nil, false},
		{"another tool", loosePolicy + rule, loosePolicy + rule, "on-request", "write", nil, false},
		{"not logged", loosePolicy + rule, loosePolicy + rule, "on-request", "read", errors.New("the disk is full"), false},
		{"nobody is asked", never + rule, never + rule, "never", "read", nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &book{}
			c, g, _ := converse(t, test.kept, b)
			opens(c, "thread/start", "t1", test.approval)
			g.SetPolicy(load(t, test.current))
			b.err = test.failure
			question, err := rpc.ParseEnvelope([]byte(`{"id":"i","method":"mcpServer/elicitation/request","params":{"threadId":"t1","turnId":"u","itemId":"i","serverName":"tickets","mode":"form","_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":"` + test.tool + `"}}}`))
			if err != nil {
				t.Fatal(err)
			}
			if got := g.AcceptsCall(t.Context(), question); got != test.want {
				t.Errorf("accepted: %t", got)
			}
		})
	}
}

// The client's response is checked by the active policy, and the result by the extra policies.
func TestAnswerIsCheckedAgainstKeptPolicy(t *testing.T) {
	const question = `{"method":"item/permissions/requestApproval","id":"ask","params":{"threadId":"t1","turnId":"u","itemId":"i","permissions":{"network":{"enabled":true}}}}`
	const withNetwork, without = `{"permissions":{"network":{"enabled":true}},"scope":"turn"}`, `{"permissions":{},"scope":"turn"}`
	network := func(text string) string { return strings.Replace(text, "[policy]", "[policy]\nnetwork = true", 1) }
	audit := strings.Replace(loosePolicy, "[policy]", "[policy]\nmode = \"audit\"", 1)
	for _, test := range []struct {
		name, kept, current, answer, sent string
		fields                            string // that the log of the answer names
	}{
		{"both allow it", network(loosePolicy), network(loosePolicy), withNetwork, withNetwork, ""},
		{"the kept one does not", loosePolicy, network(loosePolicy), withNetwork, without, "result.permissions"},
		{"the current one does not", network(loosePolicy), loosePolicy, withNetwork, without, "result.permissions"},
		{"the current one is only logged", network(loosePolicy), audit, withNetwork, withNetwork, ""},
		{"each something", loosePolicy, network(loosePolicy), strings.Replace(withNetwork, "turn", "session", 1), without, "result.scope result.permissions"},
		{"both the same", loosePolicy, loosePolicy, `{"permissions":{},"scope":"session","x":0}`, without, "result.scope result.x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &book{}
			c, g, _ := converse(t, test.kept, b)
			opens(c, "thread/start", "t1", "on-request")
			g.SetPolicy(load(t, test.current))
			b.entries = nil
			c.Play("answer", "codex> "+question+"\neditor< "+question+"\neditor> {\"id\":\"ask\",\"result\":"+test.answer+"}\ncodex< {\"id\":\"ask\",\"result\":"+test.sent+"}\n")
			var fields []string
			for _, e := range b.entries {
				fields = append(fields, e.Fields...)
			}
			if got := strings.Join(fields, " "); got != test.fields {
				t.Errorf("the log names %q", got)
			}
		})
	}
}

// A response that the active policy refuses is refused under any extra policy.
func TestRefusedAnswerStaysRefused(t *testing.T) {
	c, g, _ := converse(t, loosePolicy, guard.NoRecord)
	opens(c, "thread/start", "t1", "on-request")
	g.SetPolicy(load(t, loosePolicy))
	var members strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&members, `,"x%d":0`, i)
	}
	const question = `{"method":"item/permissions/requestApproval","id":"ask","params":{"threadId":"t1","turnId":"u","itemId":"i","permissions":{}}}`
	c.Play("answer", "codex> "+question+"\neditor< "+question+`
editor> {"id":"ask","result":{"permissions":{}`+members.String()+`}}
codex< {"id":"ask","error":{"code":-32014,"message":"<text>","data":"$data"}}
`)
}

// The bridge asks in Codex's place if one of the policies requires it.
func TestOnePolicyHasTheBridgeAsk(t *testing.T) {
	const gated = "[policy]\nsandbox = \"read-only\"\nproject_trust = \"codex\"\n"
	const both, one, network = "approval = [\"untrusted\", \"on-request\"]\n", "approval = [\"untrusted\"]\n", "network = true\n"
	for _, test := range []struct {
		name, kept, current, asked string
		asks                       bool
	}{
		{"the kept one", gated + one, gated + both + network, "on-request", true},
		{"the current one", gated + both, gated + both + network, "untrusted", true},
		{"none", gated + both, gated + both + network, "on-request", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, g, w := converse(t, test.kept, guard.NoRecord)
			startThread(c, "untrusted")
			g.SetPolicy(load(t, test.current))
			c.Play("turn", `
editor> {"id":2,"method":"turn/start","params":{"threadId":"t1","input":[],"sandboxPolicy":{"type":"readOnly","networkAccess":true},"approvalPolicy":"`+test.asked+`"}}
codex<  {"id":2,"method":"turn/start","params":{"threadId":"t1","input":[],"sandboxPolicy":{"type":"readOnly","networkAccess":false},"approvalPolicy":"on-request"}}
codex>  {"id":2,"result":{}}
editor< {"id":2,"result":{}}
`)
			if got := g.Tool(t.Context(), "t1", "", bash(t, "true", w.StartFolder), nil).Ask; got != test.asks {
				t.Errorf("the bridge asks: %t", got)
			}
		})
	}
}

// A message is refused if the policies require values that exclude each other.
func TestPoliciesThatContradictEachOther(t *testing.T) {
	efforts := func(name string) string {
		return strings.Replace(loosePolicy, "[policy]", "[policy]\nefforts = [\""+name+"\"]", 1)
	}
	c, g, _ := converse(t, loosePolicy, guard.NoRecord)
	opens(c, "thread/start", "t1", "on-request")
	g.SetPolicy(load(t, efforts("low")))
	g.SetPolicy(load(t, efforts("high")))
	c.Play("turns", `
editor> {"id":2,"method":"turn/start","params":{"threadId":"t1","input":[],"effort":"high"}}
editor< {"id":2,"error":{"code":-32010,"message":"<text>","data":{"method":"turn/start","rule":"policy.efforts","field":"params.effort","origin":"<text>","reason":"<text>","hint":"<text>"}}}
editor> {"id":3,"method":"turn/start","params":{"threadId":"t1","input":[]}}
codex<  {"id":3,"method":"turn/start","params":{"threadId":"t1","input":[]}}
`)
}

// A change of the configuration that leaves the policy as it is takes no thread away, and is not
// logged. A policy that comes back counts once.
func TestEqualPolicyChangesNothing(t *testing.T) {
	b := &book{}
	c, g, _ := converse(t, strictPolicy, b)
	opens(c, "thread/start", "t1", "untrusted")
	for i := range 40 {
		g.SetPolicy(load(t, strings.Repeat("# a comment\n", i)+strictPolicy+fmt.Sprintf("[approvals]\ntimeout = \"%dm\"\n", i+1)))
	}
	if len(b.entries) != 0 {
		t.Errorf("%d changes are logged", len(b.entries))
	}
	takesTurn(c, "t1", "on-request", "untrusted")
	for range 40 {
		g.SetPolicy(load(t, loosePolicy))
		g.SetPolicy(load(t, strictPolicy))
	}
	takesTurn(c, "t1", "on-request", "untrusted")
	g.SetPolicy(load(t, loosePolicy))
	c.Play("question", step(pushDenied, "", "t1", ""))
}
