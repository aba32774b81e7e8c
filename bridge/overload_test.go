package bridge_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/rpc"
)

// A client with too many pending requests gets errors until some are answered. Urgent requests
// and those of the bridge are still sent.
func TestOverload(t *testing.T) {
	const limit = 4096
	v := &connOnly{}
	c := bridgetest.StartAs(t, bridge.Options{AnswerAll: always, Urgent: []string{"turn/interrupt"}, Features: []bridge.Feature{v}})
	for i := range limit {
		c.EditorSends(fmt.Sprintf(`{"id":%d,"method":"m"}`, i))
		if got := <-c.CodexReceives(); !strings.Contains(got, fmt.Sprintf(`"id":%d,`, i)) {
			t.Fatalf("codex gets %s", got)
		}
	}
	c.Play("too many", `
editor> {"id":"one more","method":"m"}
editor< {"id":"one more","error":{"code":-32001,"message":"<text>"}}
editor> {"method":"n"}
codex< {"method":"n"}
editor> {"id":"stop","method":"turn/interrupt"}
codex< {"id":"stop","method":"turn/interrupt"}
codex> {"id":"stop","result":{}}
editor< {"id":"stop","result":{}}
`)
	asked := make(chan error, 1)
	go func() { // ends with its response
		_, err := v.conn.Call(context.Background(), "own/question", nil)
		asked <- err
	}()
	c.Play("the bridge's own", `
codex< {"id":"$own","method":"own/question","params":null}
codex> {"id":"$own","result":{}}
`)
	if err := <-asked; err != nil {
		t.Error(err)
	}
	c.Play("an answer", `
codex> {"id":7,"result":{}}
editor< {"id":7,"result":{}}
editor> {"id":"one more","method":"m"}
codex< {"id":"one more","method":"m"}
editor> {"id":7,"method":"m"}
editor< {"id":7,"error":{"code":-32001,"message":"<text>"}}
`)
}

// The bridge does not keep long ids. It forwards them if it does not keep requests.
func TestLongIDs(t *testing.T) {
	quoted := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	for name, o := range map[string]bridge.Options{"kept": {AnswerAll: always}, "not kept": {}} {
		t.Run(name, func(t *testing.T) {
			c := bridgetest.StartAs(t, o)
			passes := func(n int) {
				c.Play("passes", fmt.Sprintf("editor> {\"id\":%[1]s,\"method\":\"m\"}\ncodex<= {\"id\":%[1]s,\"method\":\"m\"}\n"+
					"codex> {\"id\":%[1]s,\"result\":1}\neditor<= {\"id\":%[1]s,\"result\":1}", quoted(n)))
			}
			passes(1 << 10)
			if o.AnswerAll == nil {
				passes(1<<10 + 1)
				passes(1 << 19)
				return
			}
			for _, n := range []int{1<<10 + 1, 1 << 19} {
				c.Play("refused", fmt.Sprintf("editor> {\"id\":%[1]s,\"method\":\"m\"}\neditor< {\"id\":%[1]s,\"error\":{\"code\":%[2]d,\"message\":\"<text>\"}}",
					quoted(n), rpc.CodeInvalidRequest))
			}
		})
	}
}

func always() bool { return true }

// A policy may take effect during a conversation; then the bridge starts to keep requests.
func TestAnswerAllMayStartLater(t *testing.T) {
	var on atomic.Bool
	c := bridgetest.StartAs(t, bridge.Options{AnswerAll: on.Load})
	c.Play("not kept", `
editor> {"id":1,"method":"m"}
codex< {"id":1,"method":"m"}
editor> {"id":1,"method":"m"}
codex< {"id":1,"method":"m"}
`)
	on.Store(true)
	c.Play("kept", `
editor> {"id":2,"method":"m"}
codex< {"id":2,"method":"m"}
editor> {"id":2,"method":"m"}
editor< {"id":2,"error":{"code":-32600,"message":"<text>"}}
`)
	c.CodexEnds()
	c.Play("ended", `editor< {"id":2,"error":{"code":-32011,"message":"<text>"}}`)
}

// watcher counts the requests of Codex that it sees.
type watcher struct{ seen atomic.Int64 }

func (w *watcher) Routes() []bridge.Route {
	return []bridge.Route{{From: bridge.Codex, Method: bridge.Other, HandleServer: func(context.Context, *bridge.ServerMessage) { w.seen.Add(1) }}}
}

// Requests of Codex that the client does not answer take bounded memory: further ones are declined, and no
// feature sees them.
func TestUnansweredServerRequests(t *testing.T) {
	for name, test := range map[string]struct {
		limit int
		text  string
	}{
		"many": {4096, ""},
		"long": {16, strings.Repeat("x", 1<<20-100)},
	} {
		t.Run(name, func(t *testing.T) {
			var firsts atomic.Int64
			decline := func(_ context.Context, request *rpc.Envelope, first bool) []byte {
				if first {
					firsts.Add(1)
				}
				if request.Method == "other" {
					return nil
				}
				return []byte(`{"action":"decline"}`)
			}
			feature := new(watcher)
			c := bridgetest.StartAs(t, bridge.Options{Features: []bridge.Feature{feature}, DeclineExcess: decline})
			c.Play("the client's first message", "editor> {\"method\":\"initialized\"}\ncodex< {\"method\":\"initialized\"}\n")
			for i := range test.limit {
				c.CodexSends(fmt.Sprintf(`{"id":%d,"method":"ask","params":"%s"}`, i, test.text))
				if got := <-c.EditorReceives(); !strings.Contains(got, fmt.Sprintf(`"id":%d,`, i)) {
					t.Fatalf("the client gets %.100s", got)
				}
			}
			c.CodexSends(fmt.Sprintf(`{"id":"more","method":"ask","params":"%s"}`, test.text))
			c.Play("too many", `
codex< {"id":"more","result":{"action":"decline"}}
`)
			if name == "many" {
				c.Play("an error", `
codex> {"id":"more","method":"other"}
codex< {"id":"more","error":{"code":-32001,"message":"<text>"}}
`)
			}
			c.Play("an answer makes room", `
editor> {"id":0,"result":{}}
codex< {"id":0,"result":{}}
codex> {"id":"now","method":"ask"}
editor< {"id":"now","method":"ask"}
`)
			if first, seen := firsts.Load(), feature.seen.Load(); first != 1 || int(seen) != test.limit+1 {
				t.Errorf("%d first refusals, the feature has seen %d of %d requests", first, seen, test.limit+1)
			}
		})
	}
}
