package guard_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/rpc"
)

// slowFeature is a feature behind the guard. It holds the response to a request that opens a thread
// until goOn is closed, and refuses each turn before that.
type slowFeature struct {
	method           string
	seen, goOn, done chan struct{}
}

func newSlowFeature(method string) slowFeature {
	return slowFeature{method, make(chan struct{}), make(chan struct{}), make(chan struct{})}
}

func (s slowFeature) Routes() []bridge.Route {
	return []bridge.Route{
		{From: bridge.Client, Method: s.method, Why: "t", HandleClient: func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
			call.OnResponse(func(*bridge.ServerResponse) {
				close(s.seen)
				<-s.goOn
				close(s.done)
			})
			return nil
		}},
		{From: bridge.Client, Method: "turn/start", Why: "t", HandleClient: func(context.Context, *bridge.ClientMessage) *rpc.Error {
			select {
			case <-s.done:
				return nil
			default:
				return rpc.Errorf(rpc.CodeInternal, "the turn came before its thread")
			}
		}},
	}
}

func (slowFeature) Stage() bridge.Stage { return bridge.Last }

// A turn that waits for the resume of its thread continues after all features have handled the
// response, because later features use the thread, too.
func TestTurnWaitsForAllOfResume(t *testing.T) {
	w := world(t)
	g := guard.New(load(t, gatePolicy), w, guard.NoRecord, slog.New(slog.DiscardHandler))
	s := newSlowFeature("thread/resume")
	c := bridgetest.Start(t, g, s)
	c.Bind("start", w.StartFolder)
	c.Play("resume", resumeT2+`
editor> {"id":3,"method":"turn/start","params":{"threadId":"t2","input":[]}}
editor> {"id":4,"method":"model/list","params":{}}
codex<  {"id":4,"method":"model/list","params":{}}
codex>  {"id":2,"result":{"thread":{"id":"t2"},"approvalPolicy":"on-request",`+threadAnswer+`
`)
	<-s.seen
	close(s.goOn)
	c.Play("turn", `
editor< {"id":2,"result":{"thread":{"id":"t2"},"approvalPolicy":"on-request",`+threadAnswer+`
codex<  {"id":3,"method":"turn/start","params":{"threadId":"t2","input":[]}}
`)
}

// If Codex ends while a turn waits for its thread, both the turn and the resume get an error.
func TestCodexEndsBeforeResume(t *testing.T) {
	w := world(t)
	g := guard.New(load(t, gatePolicy), w, guard.NoRecord, slog.New(slog.DiscardHandler))
	c := bridgetest.StartAs(t, bridge.Options{Features: []bridge.Feature{g}, AnswerAll: func() bool { return true }})
	c.Bind("start", w.StartFolder)
	c.Play("resume", resumeT2+`
editor> {"id":3,"method":"turn/start","params":{"threadId":"t2","input":[]}}
editor> {"id":4,"method":"turn/start","params":{"threadId":"t2","input":[]}}
editor> {"id":5,"method":"model/list","params":{}}
codex<  {"id":5,"method":"model/list","params":{}}
`)
	c.CodexEnds()
	answered := map[string]bool{}
	for line := range c.EditorReceives() {
		var m struct{ ID json.Number }
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		answered[m.ID.String()] = true
	}
	for _, id := range []string{"2", "3", "4", "5"} {
		if !answered[id] {
			t.Errorf("request %s has no answer", id)
		}
	}
}

// If Codex's response to thread/resume can't be parsed, the thread takes no turn until it is
// resumed again: it may have other settings than before.
func TestUnreadableResumeRevokesThread(t *testing.T) {
	w := world(t)
	g := guard.New(load(t, gatePolicy), w, guard.NoRecord, slog.New(slog.DiscardHandler))
	c := bridgetest.StartAs(t, bridge.Options{Features: []bridge.Feature{g}})
	c.Bind("start", w.StartFolder)
	c.Play("resume", resumeT2+`
codex>  {"id":2,"result":{"thread":{"id":"t2"},"approvalPolicy":"on-request",`+threadAnswer+`
editor< {"id":2,"result":{"thread":{"id":"t2"},"approvalPolicy":"on-request",`+threadAnswer+`
editor> {"id":3,"method":"turn/start","params":{"threadId":"t2","input":[]}}
codex<  {"id":3,"method":"turn/start","params":{"threadId":"t2","input":[]}}
`+strings.ReplaceAll(resumeT2, "$read", "$again")+`
codex>  {"id":2,"result":{"a":1,"a":2}}
editor< {"id":2,"error":{"code":-32011,"message":"<text>"}}
editor> {"id":4,"method":"turn/start","params":{"threadId":"t2","input":[]}}
editor< {"id":4,"error":{"code":-32013,"message":"<text>","data":"$data"}}
`)
}

const resumeT2 = `
editor> {"id":2,"method":"thread/resume","params":{"threadId":"t2","cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":"$read","method":"config/read","params":{"includeLayers":true,"cwd":"$start"}}
codex>  {"id":"$read","result":{"config":{},"layers":[]}}
codex<  {"id":2,"method":"thread/resume","params":{"threadId":"t2","cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
`

// A feature that answers a resume itself gets the settings on which the policies decide, with the
// config and the approval policy that the client knows.
func TestResumedParams(t *testing.T) {
	const read = `codex<  {"id":"$read","method":"config/read","params":{"includeLayers":true,"cwd":"$start"}}
codex>  {"id":"$read","result":{"config":{},"layers":[]}}
`
	for _, test := range []struct {
		name, policy, params string
		asks                 bool   // the bridge asks Codex for its configuration
		want                 string // "" if the resume is refused
	}{
		{"a forbidden sandbox", gatePolicy, `"approvalPolicy":"on-request","sandbox":"danger-full-access"`, true, `"approvalPolicy":"on-request","sandbox":"read-only"`},
		{"the bridge asks", gatePolicy, `"approvalPolicy":"untrusted","sandbox":"read-only"`, true, `"approvalPolicy":"untrusted","sandbox":"read-only"`},
		{"the client's config", gatePolicy, `"approvalPolicy":"untrusted","sandbox":"read-only","config":{"hooks":{}}`, true, `"approvalPolicy":"untrusted","config":{"hooks":{}},"sandbox":"read-only"`},
		{"refused", gatePolicy, `"approvalPolicy":"untrusted","sandbox":"read-only","history":[]`, false, ""},
		{"not enforced", inMode("audit", gatePolicy), `"approvalPolicy":"never","sandbox":"danger-full-access"`, false, `"approvalPolicy":"never","sandbox":"danger-full-access"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, g, w := converse(t, test.policy, guard.NoRecord)
			c.Play("start", `
editor> {"id":1,"method":"model/list","params":{}}
codex<  {"id":1,"method":"model/list","params":{}}
`)
			m, err := rpc.ParseMessage([]byte(`{"id":2,"method":"thread/resume","params":{"threadId":"t2","cwd":"` + w.StartFolder + `","approvalsReviewer":"user",` + test.params + `}}`))
			if err != nil {
				t.Fatal(err)
			}
			got := make(chan string, 1)
			go func() {
				params, err := g.Resumed(t.Context(), m)
				if err != nil {
					got <- ""
					return
				}
				got <- string(params.Raw())
			}()
			if test.asks {
				c.Play("configuration", read)
			}
			var have, want any
			text := <-got
			if test.want == "" {
				if text != "" {
					t.Errorf("not refused: %s", text)
				}
				return
			}
			if err := json.Unmarshal([]byte(text), &have); err != nil {
				t.Fatal(text, err)
			}
			if err := json.Unmarshal([]byte(`{"threadId":"t2","cwd":"`+w.StartFolder+`","approvalsReviewer":"user",`+test.want+`}`), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
