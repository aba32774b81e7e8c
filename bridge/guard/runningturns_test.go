package guard_test

import (
	"os"
	"strings"
	"testing"

	"codex-bridge.example/bridge/guard"
)

// otherTurnPolicy has a rule that accepts make.
const otherTurnPolicy = "[policy]\nsandbox = \"read-only\"\nescalation = \"ask\"\napproval = [\"untrusted\"]\nproject_trust = \"codex\"\n" +
	"[[policy.rule]]\ncommand = \"make\"\ndecision = \"allow\"\nescalated = true\n"

const (
	makeQuestion  = `"method":"item/commandExecution/requestApproval","params":{"threadId":"t1","turnId":"TURN","itemId":"outside","startedAtMs":0,"command":"make","cwd":"$start"}`
	turnCompleted = `{"method":"turn/completed","params":{"threadId":"t1","turn":{"id":"another"}}}`
)

// asksMake plays a question in a turn, which a rule accepts or the bridge declines.
func asksMake(t *testing.T, play func(name, script string), name, turn string, accepted bool) {
	t.Helper()
	result := "accept"
	if !accepted {
		result = "decline"
	}
	play(name, `codex> {"id":1,`+strings.Replace(makeQuestion, "TURN", turn, 1)+`}
codex< {"id":1,"result":{"decision":"`+result+`"}}
`)
}

// A rule answers a question only if its turn runs in its thread. A turn runs from turn/started until it is
// completed, or the thread is idle, has another turn, or is unloaded.
func TestQuestionNamesTheRunningTurn(t *testing.T) {
	const idle = `{"method":"thread/status/changed","params":{"threadId":"t1","status":{"type":"STATUS"}}}`
	for name, test := range map[string]struct {
		then     string // sent by Codex
		turn     string
		accepted bool
	}{
		"running":                  {"", "u", true},
		"never started":            {"", "v", false},
		"no turn":                  {"", "", false},
		"waiting for an answer":    {strings.Replace(idle, "STATUS", "active", 1), "u", true},
		"completed":                {turnCompleted, "u", false},
		"the thread is idle":       {strings.Replace(idle, "STATUS", "idle", 1), "u", false},
		"another turn":             {`{"method":"turn/started","params":{"threadId":"t1","turn":{"id":"v"}}}`, "u", false},
		"a turn of another":        {`{"method":"turn/completed","params":{"threadId":"t2","turn":{"id":"u"}}}`, "u", true},
		"started in another":       {`{"method":"turn/started","params":{"threadId":"t2","turn":{"id":"v"}}}`, "v", false},
		"a message without a turn": {`{"method":"turn/started","params":{"threadId":"t1","turn":{}}}`, "u", true},
	} {
		t.Run(name, func(t *testing.T) {
			b := &book{}
			c, g, _ := withRollout(t, otherTurnPolicy, b, "untrusted")
			g.SetKnowsBridge(func() bool { return true }) // no warnings
			if test.then != "" {
				c.Play("then", "codex> "+test.then+"\neditor< "+test.then+"\n")
			}
			b.entries = nil
			asksMake(t, c.Play, "question", test.turn, test.accepted)
			if got := len(b.entries) == 1 && b.entries[0].Rule == "approvals.turn"; got == test.accepted {
				t.Errorf("the log has %+v", b.entries)
			}
		})
	}
}

// Each kind of question is declined for a turn that does not run, and the user learns it. A server may ask
// without a turn.
func TestQuestionsOfNoRunningTurnAreDeclined(t *testing.T) {
	c, _, _ := withRollout(t, otherTurnPolicy, guard.NoRecord, "untrusted")
	const server = `"serverName":"tickets","mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}}`
	for name, test := range map[string]struct{ method, params, answer, warning string }{
		"command":                    {"item/commandExecution/requestApproval", `"threadId":"t1","turnId":"v","itemId":"i","command":"ls"`, `"result":{"decision":"decline"}`, `has refused \"ls\"`},
		"patch":                      {"item/fileChange/requestApproval", `"threadId":"t1","turnId":"v","itemId":"i"`, `"result":{"decision":"decline"}`, "has refused a tool call"},
		"permissions":                {"item/permissions/requestApproval", `"threadId":"t1","turnId":"v","itemId":"i","permissions":{}`, `"error":"$refusal"`, "has refused a tool call"},
		"user input":                 {"item/tool/requestUserInput", `"threadId":"t1","turnId":"v","itemId":"i","questions":[]`, `"result":{"answers":{}}`, "has refused a tool call"},
		"elicitation":                {"mcpServer/elicitation/request", `"threadId":"t1","turnId":"v",` + server, `"result":{"action":"decline"}`, `has declined a question of the MCP server \"tickets\"`},
		"its running turn elsewhere": {"item/commandExecution/requestApproval", `"threadId":"t1","turnId":"","expectedTurnId":"u","conversationId":"t1","itemId":"i","command":"ls"`, `"result":{"decision":"decline"}`, `has refused \"ls\"`},
	} {
		c.Play(name, `codex> {"id":1,"method":"`+test.method+`","params":{`+test.params+`}}
codex< {"id":1,`+test.answer+`}
`)
		if got := <-c.EditorReceives(); !strings.Contains(got, `"method":"warning"`) || !strings.Contains(got, test.warning+": Codex asks for a turn that does not run") {
			t.Errorf("%s: the user learns %s", name, got)
		}
	}
	c.Play("tool of the host", `codex> {"id":1,"method":"item/tool/call","params":{"threadId":"t1","turnId":"v","callId":"i","tool":"greet","arguments":{}}}
codex< {"id":1,"result":{"contentItems":[{"type":"inputText","text":"<text>"}],"success":false}}
`)
	const asked = `{"id":2,"method":"mcpServer/elicitation/request","params":{"threadId":"t1","turnId":null,` + server + `}}`
	c.Play("a server that starts", "codex> "+asked+"\neditor< "+asked+`
editor> {"id":2,"result":{"action":"decline"}}
codex< {"id":2,"result":{"action":"decline"}}
`)
}

// The older questions have no turn. They count while a turn runs in their thread.
func TestOlderQuestionNeedsARunningTurn(t *testing.T) {
	c, g, _ := withRollout(t, otherTurnPolicy, guard.NoRecord, "untrusted")
	g.SetKnowsBridge(func() bool { return true }) // no warnings
	const asked = `codex> {"id":1,"method":"applyPatchApproval","params":{"conversationId":"t1","callId":"c","fileChanges":{}}}
`
	c.Play("running", asked+`editor< {"id":1,"method":"applyPatchApproval","params":"$asked"}
editor> {"id":1,"result":{"decision":"denied"}}
codex< {"id":1,"result":{"decision":"denied"}}
`)
	const declined = `codex< {"id":1,"result":{"decision":{"denied":{"rejection":"<text>"}}}}
`
	c.Play("completed", "codex> "+turnCompleted+"\neditor< "+turnCompleted+"\n"+asked+declined)
	c.Play("two threads", strings.Replace(asked, `"conversationId":"t1"`, `"threadId":"t1","conversationId":"unknown"`, 1)+declined)
}

// A client that opens a thread during a turn gets no turn/started for it. Codex's file has the turn.
func TestRunningTurnOfFile(t *testing.T) {
	c, g, w := withRollout(t, otherTurnPolicy, guard.NoRecord, "untrusted")
	g.SetKnowsBridge(func() bool { return true }) // no warnings
	file := w.CodexHome + "/sessions/rollout-t1.jsonl"
	calls, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	record := func(events string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(events+string(calls)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.Play("completed", "codex> "+turnCompleted+"\neditor< "+turnCompleted+"\n")
	const started = `{"type":"event_msg","payload":{"type":"task_started","turn_id":"u"}}` + "\n"
	record(started)
	asksMake(t, c.Play, "of the file", "u", true)
	asksMake(t, c.Play, "of no turn", "v", false)
	record(started + strings.Replace(started, "task_started", "task_complete", 1))
	asksMake(t, c.Play, "ended", "u", false)
}

// Under audit a question about another turn reaches the client; the log has what enforce would do.
func TestAuditPassesQuestionsOfOtherTurns(t *testing.T) {
	b := &book{}
	c, _, _ := converse(t, inMode("audit", onRequestPolicy), b)
	c.Play("start", `
editor> {"id":1,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":1,"method":"thread/start","params":"$sent"}
codex>  {"id":1,"result":{"thread":{"id":"t1"},"approvalPolicy":"on-request",`+threadAnswer+`
editor< {"id":1,"result":"$started"}
`)
	b.entries = nil
	const asked = `{"id":2,"method":"item/commandExecution/requestApproval","params":{"threadId":"t1","turnId":"v","itemId":"i","command":"ls","cwd":"/"}}`
	c.Play("asked", "codex> "+asked+"\neditor< "+asked+"\n")
	if len(b.entries) != 1 || b.entries[0].Rule != "approvals.turn" || b.entries[0].Mode != "audit" {
		t.Errorf("the log has %+v", b.entries)
	}
}
