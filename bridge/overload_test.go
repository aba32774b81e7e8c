package bridge_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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

func (*watcher) Stage() bridge.Stage { return bridge.BeforeGuard }

// Requests of Codex that the client does not answer take bounded memory: further ones are declined, and no
// feature sees them.
func TestUnansweredServerRequests(t *testing.T) {
	for name, test := range map[string]struct {
		limit  int
		params string
	}{
		"many":           {4096, `{}`},
		"long":           {17, `["` + strings.Repeat("x", 1<<20-1000) + `"]`},
		"of many values": {6, `[` + strings.Repeat("1,", 1<<17) + `1]`},
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
			n := 0
			for open := true; open; {
				c.CodexSends(fmt.Sprintf(`{"id":%d,"method":"ask","params":%s}`, n, test.params))
				select {
				case got := <-c.EditorReceives():
					if n++; n > test.limit {
						t.Fatalf("the client gets %d requests, the last is %.100s", n, got)
					}
				case got := <-c.CodexReceives():
					if want := fmt.Sprintf(`{"id":%d,"result":{"action":"decline"}}`, n); strings.TrimSpace(got) != want {
						t.Fatalf("codex gets %.100s", got)
					}
					open = false
				}
			}
			c.Play("an error", `
codex> {"id":"more","method":"other"}
codex< {"id":"more","error":{"code":-32001,"message":"<text>"}}
`)
			c.Play("an answer makes room", `
editor> {"id":0,"result":{}}
codex< {"id":0,"result":{}}
codex> {"id":"now","method":"ask"}
editor< {"id":"now","method":"ask"}
`)
			if first, seen := firsts.Load(), feature.seen.Load(); first != 1 || int(seen) != n+1 || n < test.limit/2 {
				t.Errorf("%d first refusals, the feature has seen %d of %d requests", first, seen, n+1)
			}
		})
	}
}

// Short responses that wait for a client that does not read take bounded memory: the bridge stops reading the
// client when they and what each needs besides its text have the size of the limit.
func TestShortResponsesToStoppedClient(t *testing.T) {
	const requests, limit = 300_000, 32 << 20
	c := bridgetest.Start(t, new(watcher))
	c.Play("hello", "editor> {\"method\":\"hello\"}\ncodex< {\"method\":\"hello\"}")
	blockClient(t, c)
	var sent atomic.Int64
	done := make(chan struct{})
	go func() { // ends when the client reads
		defer close(done)
		for range requests {
			c.EditorSends(`{"id":1,"method":7}`)
			sent.Add(1)
		}
	}()
	for before := int64(-1); before != sent.Load() || before == 0; time.Sleep(200 * time.Millisecond) {
		before = sent.Load()
	}
	if n := sent.Load(); n > limit/256+10_000 {
		t.Errorf("the bridge has read %d requests", n)
	}
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		case <-c.EditorReceives():
		}
	}
}
