package guard_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/rpc"
)

const gatePolicy = "[policy]\nsandbox = \"read-only\"\napproval = [\"untrusted\", \"on-request\"]\nproject_trust = \"codex\"\n"

const threadAnswer = `"approvalsReviewer":"user","sandbox":{"type":"readOnly","networkAccess":false},"activePermissionProfile":null,"cwd":"$start","model":"gpt-5.5"}}`

// startThread starts the thread t1 as the client.
func startThread(c *bridgetest.Conversation, approval string) {
	c.Play("start", `
editor> {"id":1,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"`+approval+`","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":1,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
codex>  {"id":1,"result":{"thread":{"id":"t1"},"approvalPolicy":"on-request",`+threadAnswer+`
editor< {"id":1,"result":{"thread":{"id":"t1"},"approvalPolicy":"`+approval+`",`+threadAnswer)
}

// A request that changes how often the client is asked takes effect when Codex reports success, and
// not when Codex rejects it. While it is pending, or if its outcome is unknown, the stricter
// state counts.
func TestGateChangesWithCodexsConsent(t *testing.T) {
	use, err := rpc.ParseValue([]byte(`{"command":"true"}`))
	if err != nil {
		t.Fatal(err)
	}
	unreadable := `"result":{"a":1,"a":2}`
	for method, input := range map[string]string{"turn/start": `"input":[],`, "thread/settings/update": ""} {
		for _, test := range []struct {
			before, asked, answer string
			during, after         bool // the bridge asks in Codex's place
		}{
			{"untrusted", "on-request", `"result":{}`, true, false},
			{"untrusted", "on-request", `"error":{"code":-32602,"message":"no"}`, true, true},
			{"untrusted", "on-request", unreadable, true, true},
			{"on-request", "untrusted", `"result":{}`, true, true},
			{"on-request", "untrusted", `"error":{"code":-32602,"message":"no"}`, true, false},
			{"on-request", "untrusted", unreadable, true, true},
		} {
			t.Run(fmt.Sprintf("%s from %s to %s, %.8s", method, test.before, test.asked, test.answer), func(t *testing.T) {
				w := world(t)
				g := guard.New(load(t, gatePolicy), w, guard.NoRecord, slog.New(slog.DiscardHandler))
				c := bridgetest.Start(t, g)
				c.Bind("start", w.StartFolder)
				startThread(c, test.before)
				asks := func(when string, want bool) {
					t.Helper()
					got := g.Tool(t.Context(), "t1", "", toolcall.Call{Name: "Bash", Input: use.Root(), Cwd: w.StartFolder}, nil).Ask
					if got != want {
						t.Errorf("%s the bridge asks: %t", when, got)
					}
				}
				asks("before", test.before == "untrusted")
				c.Play("change", `
editor> {"id":2,"method":"`+method+`","params":{"threadId":"t1",`+input+`"approvalPolicy":"`+test.asked+`"}}
codex< {"id":2,"method":"`+method+`","params":{"threadId":"t1",`+input+`"approvalPolicy":"on-request"}}
`)
				asks("while the request is under way", test.during)
				c.Play("answer", "codex> {\"id\":2,"+test.answer+"}\neditor< \"$answer\"")
				asks("then", test.after)
			})
		}
	}
}

// logbook is a decision log that stores nothing if the caller's context is done.
type logbook struct{ book }

func (b *logbook) Append(ctx context.Context, d decision.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return b.book.Append(ctx, d)
}

// While a request of a thread waits for the response to thread/resume, the client's responses, its
// interrupts and its messages about other threads reach Codex (R5). A request that waits too long
// is refused and logged (R6).
func TestWaitForResume(t *testing.T) {
	b := &logbook{}
	w := world(t)
	g := guard.New(load(t, gatePolicy), w, b, slog.New(slog.DiscardHandler))
	c := bridgetest.StartAs(t, bridge.Options{Features: []bridge.Feature{g}, Urgent: []string{"turn/interrupt"}})
	c.Bind("start", w.StartFolder)
	startThread(c, "on-request")
	c.Play("resume", `
editor> {"id":2,"method":"thread/resume","params":{"threadId":"t2","cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":"$read","method":"config/read","params":{"includeLayers":true,"cwd":"$start"}}
codex>  {"id":"$read","result":{"config":{},"layers":[]}}
codex<  {"id":2,"method":"thread/resume","params":{"threadId":"t2","cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
`)
	guard.SetCodexTimeout(g, time.Hour)
	c.StartTurn("t1", "u")
	c.Play("meanwhile", `
editor> {"id":3,"method":"turn/start","params":{"threadId":"t2","input":[]}}
codex>  {"method":"item/tool/requestUserInput","id":0,"params":{"threadId":"t1","turnId":"u","itemId":"i","questions":[]}}
editor< {"method":"item/tool/requestUserInput","id":0,"params":{"threadId":"t1","turnId":"u","itemId":"i","questions":[]}}
editor> {"id":0,"result":{"answers":{}}}
codex<  {"id":0,"result":{"answers":{}}}
editor> {"id":4,"method":"turn/interrupt","params":{"threadId":"t2","turnId":"u"}}
codex<  {"id":4,"method":"turn/interrupt","params":{"threadId":"t2","turnId":"u"}}
editor> {"id":5,"method":"turn/start","params":{"threadId":"t1","input":[]}}
codex<  {"id":5,"method":"turn/start","params":{"threadId":"t1","input":[]}}
editor> {"id":6,"method":"model/list","params":{}}
codex<  {"id":6,"method":"model/list","params":{}}
editor> {"id":7,"method":"turn/start","params":{"threadId":"t2","input":[]}}
codex>  {"id":2,"result":{"thread":{"id":"t2"},"approvalPolicy":"on-request",`+threadAnswer+`
editor< {"id":2,"result":{"thread":{"id":"t2"},"approvalPolicy":"on-request",`+threadAnswer+`
codex<  {"id":3,"method":"turn/start","params":{"threadId":"t2","input":[]}}
codex<  {"id":7,"method":"turn/start","params":{"threadId":"t2","input":[]}}
`)
	// Another request, with a shorter timeout.
	c.Play("resume", `
editor> {"id":8,"method":"thread/resume","params":{"threadId":"t3","cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":"$again","method":"config/read","params":{"includeLayers":true,"cwd":"$start"}}
codex>  {"id":"$again","result":{"config":{},"layers":[]}}
codex<  {"id":8,"method":"thread/resume","params":{"threadId":"t3","cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
`)
	guard.SetCodexTimeout(g, time.Millisecond)
	c.Play("late", `
editor> {"id":9,"method":"turn/start","params":{"threadId":"t3","input":[]}}
editor< {"id":9,"error":{"code":-32013,"message":"<text>","data":"$data"}}
`)
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.entries); n == 0 || b.entries[n-1].Method != "turn/start" || b.entries[n-1].Thread != "t3" || b.entries[n-1].Verdict != "deny" {
		t.Errorf("the refusal is not recorded: %+v", b.entries)
	}
	if strings.Contains(fmt.Sprint(b.entries), "t2") {
		t.Errorf("what passed is recorded: %+v", b.entries)
	}
}
