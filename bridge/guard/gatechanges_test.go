package guard_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/guard"
)

// If a fork has no approval policy, it gets that of its source. While a request is pending that
// ends the bridge's questions in the source, the fork keeps them.
func TestForkWhileGateMayEnd(t *testing.T) {
	const policy = "[policy]\nsandbox = \"read-only\"\napproval = [\"untrusted\", \"never\"]\nproject_trust = \"codex\"\n"
	const ends = `editor> {"id":2,"method":"turn/start","params":{"threadId":"t1","input":[],"approvalPolicy":"never"}}
codex<  {"id":2,"method":"turn/start","params":{"threadId":"t1","input":[],"approvalPolicy":"never"}}
`
	for _, test := range []struct{ name, before, sent string }{
		{"nothing is under way", "", ""},
		{"a turn that ends them is under way", ends, `,"approvalPolicy":"on-request"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, _, _ := converse(t, policy, guard.NoRecord)
			startThread(c, "untrusted")
			c.Play("fork", test.before+`
editor> {"id":3,"method":"thread/fork","params":{"threadId":"t1","cwd":"$start","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":"$read","method":"config/read","params":{"includeLayers":true,"cwd":"$start"}}
codex>  {"id":"$read","result":{"config":{},"layers":[]}}
codex<  {"id":3,"method":"thread/fork","params":{"threadId":"t1","cwd":"$start","sandbox":"read-only","approvalsReviewer":"user"`+test.sent+`}}
`)
		})
	}
}

const answered = `codex>  {"id":ID,"result":{}}
editor< {"id":ID,"result":{}}
`

// shown is a notification of the bridge: Codex gets on-request with and without the bridge's questions, so it
// does not notify the client of that change.
const shown = `editor< {"method":"thread/settings/updated","params":{"threadId":"t1","threadSettings":{"cwd":"$start","approvalPolicy":"APPROVAL","approvalsReviewer":"user",` +
	`"sandboxPolicy":{"type":"readOnly","networkAccess":false},"activePermissionProfile":null,"model":"gpt-5.5",` +
	`"collaborationMode":{"mode":"default","settings":{"model":"gpt-5.5","reasoning_effort":null,"developer_instructions":null}}}}}
`

// asksInPlace reports whether the bridge asks in Codex's place in the thread t1.
func asksInPlace(t *testing.T, g *guard.Guard, folder string) bool {
	t.Helper()
	return g.Tool(t.Context(), "t1", "", bash(t, "true", folder), nil).Ask
}

// The later of two pending requests counts, in any order of Codex's responses. While one of them
// may make the bridge ask, it asks.
func TestLaterOfTwoGateChangesCounts(t *testing.T) {
	const change = `editor> {"id":ID,"method":"thread/settings/update","params":{"threadId":"t1","approvalPolicy":"APPROVAL"}}
codex<  {"id":ID,"method":"thread/settings/update","params":{"threadId":"t1","approvalPolicy":"on-request"}}
`
	for _, test := range []struct {
		name                  string
		before, first, second string // of the approval policy
		answers               [2]string
		shown                 [2]string // the approval policies that the client is shown after the answers; "": no other one
		between, after        bool      // the bridge asks
	}{
		{"in order", "on-request", "untrusted", "on-request", [2]string{"2", "3"}, [2]string{"untrusted", "on-request"}, true, false},
		{"in reverse order", "on-request", "untrusted", "on-request", [2]string{"3", "2"}, [2]string{}, true, false},
		{"in order, the other way round", "untrusted", "on-request", "untrusted", [2]string{"2", "3"}, [2]string{"on-request", "untrusted"}, true, true},
		{"in reverse order, the other way round", "untrusted", "on-request", "untrusted", [2]string{"3", "2"}, [2]string{}, true, true},
		{"both end the questions", "untrusted", "on-request", "on-request", [2]string{"2", "3"}, [2]string{"on-request"}, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, g, w := converse(t, gatePolicy, guard.NoRecord)
			startThread(c, test.before)
			c.Play("changes", strings.NewReplacer("ID", "2", "APPROVAL", test.first).Replace(change)+strings.NewReplacer("ID", "3", "APPROVAL", test.second).Replace(change))
			answer := func(i int) {
				t.Helper()
				script := strings.ReplaceAll(answered, "ID", test.answers[i])
				if test.shown[i] != "" {
					script += strings.ReplaceAll(shown, "APPROVAL", test.shown[i])
				}
				c.Play("answer", script)
			}
			answer(0)
			if got := asksInPlace(t, g, w.StartFolder); got != test.between {
				t.Errorf("while one is under way the bridge asks: %t", got)
			}
			answer(1)
			if got := asksInPlace(t, g, w.StartFolder); got != test.after {
				t.Errorf("then the bridge asks: %t", got)
			}
		})
	}
}

// The client is shown the approval policy of its latest request, even while that is pending.
func TestLatestRequestIsShown(t *testing.T) {
	c, _, _ := converse(t, gatePolicy, guard.NoRecord)
	startThread(c, "untrusted")
	const settings = `{"method":"thread/settings/updated","params":{"threadId":"t1","threadSettings":{"approvalPolicy":"APPROVAL","approvalsReviewer":"user","sandboxPolicy":{"type":"readOnly","networkAccess":false},"activePermissionProfile":null,"cwd":"$start","model":"gpt-5.5"}}}`
	for _, approval := range []string{"on-request", "untrusted"} {
		c.Play(approval, strings.ReplaceAll(`
editor> {"id":"`+approval+`","method":"thread/settings/update","params":{"threadId":"t1","approvalPolicy":"`+approval+`"}}
codex<  {"id":"`+approval+`","method":"thread/settings/update","params":{"threadId":"t1","approvalPolicy":"on-request"}}
codex>  `+settings, "APPROVAL", "on-request")+strings.ReplaceAll(`
editor< `+settings+"\n", "APPROVAL", approval))
	}
}

// A fork with its own approval policy does not change its source.
func TestForkLeavesItsSource(t *testing.T) {
	c, g, w := converse(t, gatePolicy, guard.NoRecord)
	startThread(c, "untrusted")
	c.Play("fork", `
editor> {"id":3,"method":"thread/fork","params":{"threadId":"t1","cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":"$read","method":"config/read","params":{"includeLayers":true,"cwd":"$start"}}
codex>  {"id":"$read","result":{"config":{},"layers":[]}}
codex<  {"id":3,"method":"thread/fork","params":{"threadId":"t1","cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
codex>  {"id":3,"result":{"thread":{"id":"t2"},"approvalPolicy":"on-request",`+threadAnswer+`
editor< {"id":3,"result":{"thread":{"id":"t2"},"approvalPolicy":"on-request",`+threadAnswer+`
`)
	if !asksInPlace(t, g, w.StartFolder) {
		t.Error("the bridge does not ask in the source any more")
	}
	if g.Tool(t.Context(), "t2", "", bash(t, "true", w.StartFolder), nil).Ask {
		t.Error("the bridge asks in the fork")
	}
}

// A resume without an approval policy keeps the thread's effective one, also while the resume is
// pending. A change that the client requests in that time is kept, too.
func TestReopenedThreadKeepsItsGate(t *testing.T) {
	const reopened = `
editor> {"id":2,"method":"thread/resume","params":{"threadId":"t1","cwd":"$start","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":"$read","method":"config/read","params":{"includeLayers":true,"cwd":"$start"}}
codex>  {"id":"$read","result":{"config":{},"layers":[]}}
codex<  {"id":2,"method":"thread/resume","params":{"threadId":"t1","cwd":"$start","sandbox":"read-only","approvalsReviewer":"user"}}
`
	const answer = `codex>  {"id":2,"result":{"thread":{"id":"t1"},"approvalPolicy":"on-request",` + threadAnswer + `
editor< {"id":2,"result":"$resumed"}
`
	for _, before := range []string{"untrusted", "on-request"} {
		t.Run(before, func(t *testing.T) {
			c, g, w := converse(t, gatePolicy, guard.NoRecord)
			startThread(c, before)
			asks := func(when string) {
				t.Helper()
				if got := asksInPlace(t, g, w.StartFolder); got != (before == "untrusted") {
					t.Errorf("%s the bridge asks: %t", when, got)
				}
			}
			c.Play("resume", reopened)
			asks("while the request is under way")
			c.Play("answer", answer)
			asks("then")
		})
	}
	// A request from before the resume counts, whether Codex answers it before the resume is sent
	// or behind that.
	const update = `editor> {"id":4,"method":"thread/settings/update","params":{"threadId":"t1","approvalPolicy":"APPROVAL"}}
codex<  {"id":4,"method":"thread/settings/update","params":{"threadId":"t1","approvalPolicy":"on-request"}}
`
	updated := strings.ReplaceAll(answered, "ID", "4") + shown
	for name, script := range map[string]string{"before": update + updated + reopened + answer, "behind": update + reopened + updated + answer} {
		for asked, before := range map[string]string{"untrusted": "on-request", "on-request": "untrusted"} {
			t.Run(asked+" answered "+name, func(t *testing.T) {
				c, g, w := converse(t, gatePolicy, guard.NoRecord)
				startThread(c, before)
				c.Play("update", strings.ReplaceAll(script, "APPROVAL", asked))
				if got := asksInPlace(t, g, w.StartFolder); got != (asked == "untrusted") {
					t.Errorf("the bridge asks: %t", got)
				}
			})
		}
	}
}

// A resume without an approval policy gets one if that of the thread may not be allowed. It counts
// like one of the client.
func TestApprovalGivenToResumeCounts(t *testing.T) {
	c, g, w := converse(t, "[policy]\nsandbox = \"read-only\"\napproval = [\"untrusted\", \"never\"]\nproject_trust = \"codex\"\n", guard.NoRecord)
	startThread(c, "untrusted")
	c.Play("resume while the questions may end", `
editor> {"id":3,"method":"turn/start","params":{"threadId":"t1","input":[],"approvalPolicy":"never"}}
codex<  {"id":3,"method":"turn/start","params":{"threadId":"t1","input":[],"approvalPolicy":"never"}}
editor> {"id":2,"method":"thread/resume","params":{"threadId":"t1","cwd":"$start","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":"$read","method":"config/read","params":{"includeLayers":true,"cwd":"$start"}}
codex>  {"id":"$read","result":{"config":{},"layers":[]}}
codex<  {"id":2,"method":"thread/resume","params":{"threadId":"t1","cwd":"$start","sandbox":"read-only","approvalsReviewer":"user","approvalPolicy":"on-request"}}
codex>  {"id":3,"result":{}}
editor< {"id":3,"result":{}}
codex>  {"id":2,"result":{"thread":{"id":"t1"},"approvalPolicy":"on-request",`+threadAnswer+`
editor< {"id":2,"result":{"thread":{"id":"t1"},"approvalPolicy":"untrusted",`+threadAnswer+`
`)
	if !asksInPlace(t, g, w.StartFolder) {
		t.Error("the bridge does not ask")
	}
}

// Codex keeps the approval policy of a loaded thread. So a resume can have the bridge ask, and can't
// end that.
func TestResumeKeepsGate(t *testing.T) {
	const resume = `
editor> {"id":2,"method":"thread/resume","params":{"threadId":"t1","cwd":"$start","approvalPolicy":"APPROVAL","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":"$read","method":"config/read","params":{"includeLayers":true,"cwd":"$start"}}
codex>  {"id":"$read","result":{"config":{},"layers":[]}}
codex<  {"id":2,"method":"thread/resume","params":{"threadId":"t1","cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
`
	const resumed = `codex>  {"id":2,"result":{"thread":{"id":"t1"},"approvalPolicy":"on-request",` + threadAnswer + `
editor< {"id":2,"result":"$resumed"}
`
	const update = `editor> {"id":3,"method":"thread/settings/update","params":{"threadId":"t1","approvalPolicy":"APPROVAL"}}
codex<  {"id":3,"method":"thread/settings/update","params":{"threadId":"t1","approvalPolicy":"on-request"}}
`
	updated := strings.ReplaceAll(answered, "ID", "3") + shown
	for _, test := range []struct {
		name, before, script string
		asks                 bool
	}{
		{"an update, then a resume", "on-request", strings.ReplaceAll(update+updated, "APPROVAL", "untrusted") + strings.Replace(resume, "APPROVAL", "on-request", 1) + resumed, true},
		{"an update, then a resume, the other way round", "untrusted", strings.ReplaceAll(update+updated, "APPROVAL", "on-request") + strings.Replace(resume, "APPROVAL", "untrusted", 1) + resumed, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, g, w := converse(t, gatePolicy, guard.NoRecord)
			startThread(c, test.before)
			c.Play(test.name, test.script)
			if got := asksInPlace(t, g, w.StartFolder); got != test.asks {
				t.Errorf("the bridge asks: %t", got)
			}
		})
	}
}

// A client that knows a new thread from a notification may start a turn before it has the response
// to thread/start. The turn waits until all features have handled the response.
func TestTurnWaitsForAllOfStart(t *testing.T) {
	w := world(t)
	g := guard.New(load(t, gatePolicy), w, guard.NoRecord, slog.New(slog.DiscardHandler))
	s := newSlowFeature("thread/start")
	c := bridgetest.Start(t, g, s)
	c.Bind("start", w.StartFolder)
	c.Play("start", `
editor> {"id":1,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":1,"method":"thread/start","params":"$sent"}
codex>  {"id":1,"result":{"thread":{"id":"t1"},"approvalPolicy":"on-request",`+threadAnswer+`
`)
	<-s.seen
	c.Play("early turn", `
editor> {"id":2,"method":"turn/start","params":{"threadId":"t1","input":[]}}
editor> {"id":3,"method":"model/list","params":{}}
codex<  {"id":3,"method":"model/list","params":{}}
`)
	close(s.goOn)
	c.Play("turn", `
editor< {"id":1,"result":"$started"}
codex<  {"id":2,"method":"turn/start","params":{"threadId":"t1","input":[]}}
`)
}

// keeper is a feature before the guard that withholds a thread's settings from the client.
type keeper struct{}

func (keeper) Routes() []bridge.Route {
	return []bridge.Route{{From: bridge.Codex, Method: "thread/settings/updated", Why: "t", HandleServer: func(_ context.Context, said *bridge.ServerMessage) { said.Line = nil }}}
}

func (keeper) Stage() bridge.Stage { return bridge.BeforeGuard }

// A notification that another feature withholds stays withheld, even if the guard would show
// another approval policy.
func TestWithheldSettingsStayWithheld(t *testing.T) {
	w := world(t)
	g := guard.New(load(t, gatePolicy), w, guard.NoRecord, slog.New(slog.DiscardHandler))
	c := bridgetest.Start(t, keeper{}, g)
	c.Bind("start", w.StartFolder)
	startThread(c, "untrusted")
	c.Play("settings", `
codex>  {"method":"thread/settings/updated","params":{"threadId":"t1","threadSettings":{"approvalPolicy":"on-request","approvalsReviewer":"user","sandboxPolicy":{"type":"readOnly","networkAccess":false},"activePermissionProfile":null,"cwd":"$start","model":"gpt-5.5"}}}
codex>  {"method":"turn/completed","params":{"threadId":"t1"}}
editor< {"method":"turn/completed","params":{"threadId":"t1"}}
`)
}

// A resume waits for an earlier one that Codex has not answered, and is refused if that takes too long:
// then Codex's configuration is not known either.
func TestSecondResumeWaitsForFirst(t *testing.T) {
	c, g, w := converse(t, gatePolicy, guard.NoRecord)
	startThread(c, "untrusted")
	resume := func(id string) {
		c.EditorSends(`{"id":` + id + `,"method":"thread/resume","params":{"threadId":"t1","approvalPolicy":"untrusted","sandbox":"read-only","approvalsReviewer":"user"}}`)
	}
	resume("2")
	c.Play("configuration", `
codex<  {"id":"$read","method":"config/read","params":"$params"}
codex>  {"id":"$read","result":{"config":{},"layers":[]}}
codex<  {"id":2,"method":"thread/resume","params":"$sent"}
`)
	guard.SetCodexTimeout(g, time.Millisecond)
	resume("3")
	c.Play("refused", `
editor< {"id":3,"error":{"code":-32010,"message":"<text>","data":{"method":"thread/resume","rule":"policy.mode","reason":"the bridge could not read Codex's configuration","hint":"<text>"}}}
codex>  {"id":2,"result":{"thread":{"id":"t1"},"approvalPolicy":"on-request",`+threadAnswer+`
editor< {"id":2,"result":"$resumed"}
`)
	if !asksInPlace(t, g, w.StartFolder) {
		t.Error("the bridge does not ask")
	}
}
