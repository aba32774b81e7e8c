package guard_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/rpc"
)

// withRollout starts the read-only thread t1 as the client. Codex's file of the thread has three
// calls of the model: "inside" runs make in the sandbox, in a login shell of bash, "outside" asks
// to run it outside the sandbox.
func withRollout(t *testing.T, text string, recorder guard.Recorder, approval string) (*bridgetest.Conversation, *guard.Guard, policy.State) {
	t.Helper()
	return withRolloutIn(t, world(t), text, recorder, approval)
}

// withRolloutIn is withRollout in a world.
func withRolloutIn(t *testing.T, w policy.State, text string, recorder guard.Recorder, approval string) (*bridgetest.Conversation, *guard.Guard, policy.State) {
	t.Helper()
	var err error
	if w.CodexHome, err = w.Paths.Canonical(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(w.CodexHome, "sessions", "rollout-t1.jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	const calls = `{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"make\",\"shell\":\"/bin/bash\",\"login\":true}","call_id":"inside"}}
{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"make\",\"shell\":\"/bin/bash\",\"login\":true,\"tty\":true}","call_id":"terminal"}}
{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"make\",\"sandbox_permissions\":\"require_escalated\",\"justification\":\"j\"}","call_id":"outside"}}
`
	if err := os.WriteFile(file, []byte(calls), 0o600); err != nil {
		t.Fatal(err)
	}
	g := guard.New(load(t, text), w, recorder, slog.New(slog.DiscardHandler))
	c := bridgetest.Start(t, g)
	c.Bind("start", w.StartFolder)
	c.Bind("rollout", file)
	sent := approval
	if g.Policy().GateEnabled() {
		sent = "on-request"
	}
	opened := strings.Replace(threadAnswer, `"cwd"`, `"thread":{"id":"t1","path":"$rollout"},"cwd"`, 1)
	c.Play("start", `
editor> {"id":1,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"`+approval+`","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":1,"method":"thread/start","params":"$sent"}
codex>  {"id":1,"result":{"approvalPolicy":"`+sent+`",`+opened+`
editor< {"id":1,"result":"$started"}
`)
	c.StartTurn("t1", "u")
	return c, g, w
}

// A tool call is decided with the facts of the model's call, and the user is asked if the bridge
// asks in Codex's place.
func TestToolCallOfModel(t *testing.T) {
	const asks = "[policy]\nsandbox = \"read-only\"\napproval = [\"untrusted\", \"on-request\"]\nproject_trust = \"codex\"\n"
	for _, test := range []struct {
		name, policy, thread, call, command string
		want                                guard.Ruling
		refused                             string
		logged                              string
		notified                            int
	}{
		{"inside", asks, "t1", "inside", "make", guard.Ruling{Ask: true, Shell: "bash -lc"}, "", "", 0},
		{"inside, with a terminal", asks, "t1", "terminal", "make", guard.Ruling{Ask: true, Shell: "bash -lc, with a terminal"}, "", "", 0},
		{"outside", asks, "t1", "outside", "make", guard.Ruling{}, "it would leave the sandbox", "deny", 1},
		{"outside, with a person to ask", asks + "escalation = \"ask\"\n", "t1", "outside", "make", guard.Ruling{}, "", "", 0},
		{"a call without an id", asks, "t1", "", "make", guard.Ruling{Ask: true}, "", "", 0},
		{"a thread that is not known", asks, "t9", "outside", "make", guard.Ruling{}, "its settings are not verified", "deny", 1},
		{"denied", asks + "[[policy.rule]]\ncommand = \"make\"\ndecision = \"deny\"\n", "t1", "inside", "make", guard.Ruling{}, "policy.rule", "deny", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &book{}
			_, g, w := withRollout(t, test.policy, b, "untrusted")
			b.entries = nil
			notified := heard(g)
			use := bash(t, test.command, w.StartFolder)
			use.ID = test.call
			got := g.Tool(t.Context(), test.thread, "u", use, []byte("call"))
			if !strings.Contains(got.Refusal, test.refused) || (got.Refusal != "") != (test.refused != "") {
				t.Errorf("the refusal is %q", got.Refusal)
			}
			if (got.Facts != "") != got.Ask {
				t.Errorf("the facts are %q", got.Facts)
			}
			if why := "the policy asks before each command and patch (policy.approval, user "; got.Ask != strings.HasPrefix(got.Why, why) {
				t.Errorf("the reason is %q", got.Why)
			}
			got.Refusal, got.Facts, got.Why = "", "", ""
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("the ruling is %+v", got)
			}
			if got := verdicts(b); got != test.logged {
				t.Errorf("the log has %q", got)
			}
			for _, e := range b.entries {
				if e.Method != "hook/preToolUse" || e.Thread != test.thread || e.Turn != "u" {
					t.Errorf("the log has %+v", e)
				}
			}
			if len(*notified) != test.notified {
				t.Errorf("the client is notified of %+v", *notified)
			}
		})
	}
}

// A question about a command is about its terminal, too.
func TestTerminalOfQuestion(t *testing.T) {
	_, g, _ := withRollout(t, "[policy]\nsandbox = \"read-only\"\napproval = [\"untrusted\"]\nproject_trust = \"codex\"\n", &book{}, "untrusted")
	for call, want := range map[string][2]bool{"inside": {false, true}, "terminal": {true, true}, "none": {false, false}} {
		doc, err := rpc.ParseValue([]byte(`{"threadId":"t1","turnId":"u","itemId":"` + call + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		if has, known := g.HasTerminal(doc.Root()); has != want[0] || known != want[1] {
			t.Errorf("%s: %t, known %t", call, has, known)
		}
	}
}

// The client learns which call was refused, by which rule and where that rule is.
func TestRefusedCallIsNamed(t *testing.T) {
	_, g, w := withRollout(t, "[policy]\nsandbox = \"read-only\"\napproval = [\"untrusted\"]\nproject_trust = \"codex\"\n[[policy.rule]]\ncommand = \"make **\"\ndecision = \"deny\"\nreason = \"CI builds.\"\n", &book{}, "untrusted")
	notified := heard(g)
	use := bash(t, "make all", w.StartFolder)
	use.ID = "inside"
	g.Tool(t.Context(), "t1", "u", use, []byte("call"))
	patch := toolcall.Call{ID: "p", Name: "apply_patch", Cwd: w.StartFolder, Input: bash(t, "*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n*** End Patch\n", "").Input}
	g.Tool(t.Context(), "t9", "u", patch, []byte("call"))
	if len(*notified) != 2 {
		t.Fatalf("%+v", *notified)
	}
	a := (*notified)[0]
	if a.ThreadID != "t1" || a.TurnID != "u" || a.ItemID != "inside" || a.What != "make all" {
		t.Errorf("the call is %+v", a)
	}
	if a.Error.Rule != "policy.rule" || !strings.HasPrefix(a.Error.Reason, "CI builds: make all") || !strings.HasSuffix(a.Error.Origin, ".toml:5") {
		t.Errorf("the refusal is %+v", *a.Error)
	}
	if what := (*notified)[1].What; what != "apply_patch a, b" {
		t.Errorf("the patch is %q", what)
	}
}

// Under audit a tool call runs without a question, and the log has the denials of enforce. Without
// a policy nothing is logged.
func TestToolCallRunsUnderAudit(t *testing.T) {
	const rules = "[policy]\n[[policy.rule]]\ncommand = \"make\"\ndecision = \"deny\"\n"
	for _, test := range []struct{ name, policy, logged string }{
		{"audit", inMode("audit", rules), "deny"},
		{"no policy", "", ""},
		{"enforce", rules, "deny"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &book{}
			w := world(t)
			g := guard.New(load(t, test.policy), w, b, slog.New(slog.DiscardHandler))
			notified := heard(g)
			got := g.Tool(t.Context(), "t9", "u", bash(t, "make", w.StartFolder), []byte("call"))
			if reflect.DeepEqual(got, guard.Ruling{}) == g.Enforces() {
				t.Errorf("the ruling is %+v", got)
			}
			if got := verdicts(b); got != test.logged || len(*notified) > 0 != g.Enforces() {
				t.Errorf("the log has %q, the client is notified of %+v", got, *notified)
			}
		})
	}
	asks := inMode("audit", "[policy]\nsandbox = \"read-only\"\napproval = [\"untrusted\"]\nproject_trust = \"codex\"\n[[policy.rule]]\ncommand = \"make\"\ndecision = \"ask\"\n")
	_, g, w := withRollout(t, asks, guard.NoRecord, "on-request")
	use := bash(t, "make", w.StartFolder)
	use.ID = "inside"
	if got := g.Tool(t.Context(), "t1", "u", use, nil); !reflect.DeepEqual(got, guard.Ruling{}) {
		t.Errorf("what a rule wants asked under audit: %+v", got)
	}
}

// A hook's consent reaches Codex if the policy allows it, is not enforced, or does not exist.
func TestHookConsent(t *testing.T) {
	for _, test := range []struct {
		name, policy, tool string
		permits            bool
		logged             string
		notified           int
	}{
		{"a tool of a server", "[policy]\n", "mcp__tickets__read", true, "", 0},
		{"a command", "[policy]\n", "Bash", false, "deny", 1},
		{"a command under audit", "[policy]\nmode = \"audit\"\n", "Bash", true, "deny", 0},
		{"a command, without a policy", "", "Bash", true, "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &book{}
			g := guard.New(load(t, test.policy), world(t), b, slog.New(slog.DiscardHandler))
			notified := heard(g)
			if got := g.Permits(t.Context(), "t1", "u", toolcall.Call{Name: test.tool}, []byte("call")); got != test.permits {
				t.Errorf("the consent reaches Codex: %t", got)
			}
			if got := verdicts(b); got != test.logged || len(*notified) != test.notified {
				t.Errorf("the log has %q, the client is notified of %+v", got, *notified)
			}
			for _, e := range b.entries {
				if e.Method != "hook/permissionRequest" || e.Thread != "t1" || e.Turn != "u" {
					t.Errorf("the log has %+v", e)
				}
			}
		})
	}
}

// A server's tool needs no consent of the user if every policy of the thread allows that.
func TestConsentToServersTool(t *testing.T) {
	const asks = "[policy.methods]\n\"mcpServer/elicitation/request\" = \"ask\"\n"
	for _, test := range []struct {
		name, kept, current, tool string
		want                      bool
	}{
		{"a tool of a server", loosePolicy, loosePolicy, "mcp__tickets__read", true},
		{"another tool", loosePolicy, loosePolicy, "Bash", false},
		{"the policy asks", loosePolicy, loosePolicy + asks, "mcp__tickets__read", false},
		{"the policy before asks", loosePolicy + asks, loosePolicy, "mcp__tickets__read", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, g, _ := converse(t, test.kept, guard.NoRecord)
			opens(c, "thread/start", "t1", "on-request")
			g.SetPolicy(load(t, test.current))
			params, err := rpc.ParseValue([]byte(`{"threadId":"t1"}`))
			if err != nil {
				t.Fatal(err)
			}
			if got := g.Consents(params.Root(), toolcall.Call{Name: test.tool}); got != test.want {
				t.Errorf("it is consented to: %t", got)
			}
		})
	}
}

// An accepted request stays in the sandbox if this is so by every policy of the thread. Without a
// policy it does.
func TestQuestionStaysInSandbox(t *testing.T) {
	const loose = "[policy]\ngate = false\nsandbox = \"read-only\"\napproval = [\"on-request\", \"untrusted\"]\nproject_trust = \"codex\"\n"
	const network = "network = true\n"
	const ofModel, ofHost = `"command":"make"`, `"command":"make","networkApprovalContext":{"host":"example.org","protocol":"https"}`
	for _, test := range []struct {
		name, kept, current, call, more string
		stays, remains                  bool
	}{
		{"inside", loose, loose, "inside", ofModel, true, true},
		{"outside", loose, loose, "outside", ofModel, false, false},
		{"a call that is not known", loose, loose, "other", ofModel, false, false},
		{"the network, allowed", loose + network, loose + network, "inside", ofHost, false, true},
		{"the network, not allowed any more", loose + network, loose, "inside", ofHost, false, false},
		{"the network, not allowed before", loose, loose + network, "inside", ofHost, false, false},
		{"the network, only logged", loose + network, inMode("audit", loose), "inside", ofHost, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, g, _ := withRollout(t, test.kept, guard.NoRecord, "on-request")
			g.SetPolicy(load(t, test.current))
			params, err := rpc.ParseValue([]byte(`{"threadId":"t1","turnId":"u","itemId":"` + test.call + `",` + test.more + `}`))
			if err != nil {
				t.Fatal(err)
			}
			const method = "item/commandExecution/requestApproval"
			if got := g.StaysInSandbox(method, params.Root()); got != test.stays {
				t.Errorf("it stays in the sandbox: %t", got)
			}
			if got := g.RunsInSandbox(method, params.Root()); got != test.remains {
				t.Errorf("as far as is known: %t", got)
			}
		})
	}
	t.Run("no policy", func(t *testing.T) {
		g := guard.New(load(t, ""), world(t), guard.NoRecord, slog.New(slog.DiscardHandler))
		params, err := rpc.ParseValue([]byte(`{"threadId":"t1","itemId":"outside"}`))
		if err != nil {
			t.Fatal(err)
		}
		if method := "item/commandExecution/requestApproval"; !g.StaysInSandbox(method, params.Root()) || !g.RunsInSandbox(method, params.Root()) {
			t.Error("something speaks against it")
		}
	})
}

// The model's call is found by the ids of a request; other requests have no call.
func TestEscalationOfQuestion(t *testing.T) {
	const policy = "[policy]\ngate = false\nsandbox = \"read-only\"\napproval = [\"on-request\"]\nproject_trust = \"codex\"\nescalation = \"ask\"\n"
	c, g, _ := withRollout(t, policy, guard.NoRecord, "on-request")
	for _, test := range []struct {
		method, params string
		remains        bool
	}{
		{"item/commandExecution/requestApproval", `"threadId":"t1","turnId":"u","itemId":"inside"`, true},
		{"item/commandExecution/requestApproval", `"threadId":"t1","turnId":"u","callId":"inside"`, false},
		{"item/commandExecution/requestApproval", `"threadId":"t1","turnId":"v","itemId":"inside"`, false},
		{"item/commandExecution/requestApproval", `"threadId":"t1","itemId":"inside"`, false},
		{"item/commandExecution/requestApproval", `"threadId":"t9","turnId":"u","itemId":"inside"`, false},
		{"execCommandApproval", `"threadId":"t1","callId":"inside"`, false}, // an older Codex does not name the turn
	} {
		params, err := rpc.ParseValue([]byte(`{` + test.params + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := g.RunsInSandbox(test.method, params.Root()); got != test.remains {
			t.Errorf("%s %s remains in the sandbox: %t", test.method, test.params, got)
		}
	}
	// The client is shown that a command leaves the sandbox.
	for call, shown := range map[string]string{"inside": "", "outside": `,"reason":"<text>"`} {
		c.Play(call, `
codex>  {"method":"item/commandExecution/requestApproval","id":"`+call+`","params":{"threadId":"t1","turnId":"u","itemId":"`+call+`","command":"make","cwd":"$start"}}
editor< {"method":"item/commandExecution/requestApproval","id":"`+call+`","params":{"threadId":"t1","turnId":"u","itemId":"`+call+`","command":"make","cwd":"$start"`+shown+`}}
editor> {"id":"`+call+`","result":{"decision":"decline"}}
codex<  {"id":"`+call+`","result":{"decision":"decline"}}
`)
	}
}

// WantsNotification is false for notifications that the client has disabled.
func TestWantsNotification(t *testing.T) {
	g := guard.New(load(t, readOnlyPolicy), world(t), guard.NoRecord, slog.New(slog.DiscardHandler))
	c := bridgetest.Start(t, g)
	c.Play("opted out", `
editor> {"id":1,"method":"initialize","params":{"clientInfo":{"name":"e"},"capabilities":{"optOutNotificationMethods":["item/completed"]}}}
codex<  {"id":1,"method":"initialize","params":{"clientInfo":{"name":"e"},"capabilities":{"optOutNotificationMethods":["item/completed"]}}}
codex>  {"id":1,"result":{}}
editor< {"id":1,"result":{}}
`)
	for method, want := range map[string]bool{"item/completed": false, "item/started": true} {
		if got := g.WantsNotification(method); got != want {
			t.Errorf("it hears %s: %t", method, got)
		}
	}
}

// A response in the user's place is logged with its reason.
func TestRecordAnswerIsLoggedWithItsReason(t *testing.T) {
	asked, err := rpc.ParseEnvelope([]byte(`{"method":"item/commandExecution/requestApproval","id":0,"params":{"threadId":"t","turnId":"u"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for verdict, fields := range map[policy.Verdict]string{policy.Accept: "result", policy.Deny: ""} {
		b := &book{}
		g := guard.New(load(t, readOnlyPolicy), world(t), b, slog.New(slog.DiscardHandler))
		notified := heard(g)
		if err := g.RecordAnswer(t.Context(), asked, verdict, "approvals.timeout", "no answer", ""); err != nil {
			t.Fatal(err)
		}
		if len(b.entries) != 1 || len(*notified) != 1 {
			t.Fatalf("the log has %+v, the client is notified of %+v", b.entries, *notified)
		}
		e, a := b.entries[0], (*notified)[0]
		if e.Rule != "approvals.timeout" || e.Reason != "no answer" || strings.Join(e.Fields, " ") != fields || e.Thread != "t" || e.Turn != "u" {
			t.Errorf("%s: the log has %+v", verdict, e)
		}
		if a.Verdict != verdict || (a.Error != nil) != (verdict == policy.Deny) || string(a.ID) != "0" || a.ThreadID != "t" {
			t.Errorf("%s: the client is notified of %+v", verdict, a)
		}
	}
	g := guard.New(load(t, readOnlyPolicy), world(t), &book{err: errors.New("the disk is full")}, slog.New(slog.DiscardHandler))
	if err := g.RecordAnswer(t.Context(), asked, policy.Accept, "approvals.remember", "as before", ""); err == nil {
		t.Error("what can't be logged is settled")
	}
}
