package bridge_test

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/bridgetest"
	"codex-bridge/rpc"
)

// twice asks a/one in the place of a/start, and a/two when that fails.
type twice struct{}

func (twice) Routes() []bridge.Route {
	return []bridge.Route{{From: bridge.Client, Method: "a/start", Why: "t", HandleClient: func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
		id := call.ID.Clone()
		call.HandleAsync(func(ctx context.Context, aside *bridge.AsyncRequest) {
			again := true
			for _, method := range []string{"a/one", "a/two"} {
				if !again {
					return
				}
				again = false
				m, err := rpc.ParseMessage(append(rpc.EncodeRequest(id, method, []byte(`{"x":1}`)), '\n'))
				if err == nil {
					err = aside.Call(ctx, m, func(a *bridge.ServerResponse) {
						if a.Root().Get("error").Exists() && method == "a/one" {
							again = true
							a.Withhold()
						}
					})
				}
				if err != nil {
					aside.Reply(rpc.EncodeError(id, err))
				}
			}
		})
		return nil
	}}}
}

// holds marks what it lets pass, and refuses a/two when it is told to.
type holds struct{ refuses *bool }

func (h holds) Routes() []bridge.Route {
	return []bridge.Route{{From: bridge.Client, Method: bridge.Other, Why: "t", HandleClient: func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
		if *h.refuses && call.Method == "a/two" {
			return rpc.Errorf(rpc.CodeRefused, "no")
		}
		call.Line = bytes.Replace(call.Line, []byte(`"x":1`), []byte(`"x":1,"held":true`), 1)
		call.OnResponse(func(a *bridge.ServerResponse) { a.Line = bytes.Replace(a.Line, []byte(`"r"`), []byte(`"R"`), 1) })
		return nil
	}}}
}

// counts marks what the client gets of a/start, and counts it.
type counts struct{ answers, none *atomic.Int64 }

func (n counts) Routes() []bridge.Route {
	return []bridge.Route{{From: bridge.Client, Method: "a/start", Why: "t", HandleClient: func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
		call.OnResponse(func(a *bridge.ServerResponse) {
			if a.Envelope == nil {
				n.none.Add(1)
				return
			}
			n.answers.Add(1)
			if !a.Result().Is("R") {
				a.Line = nil // it is to see what the client would
			}
		})
		return nil
	}}}
}

func TestAside(t *testing.T) {
	refuses := false
	seen := counts{new(atomic.Int64), new(atomic.Int64)}
	c := bridgetest.Start(t, seen, twice{}, holds{&refuses})
	c.Play("aside", `
editor> {"id":1,"method":"a/start","params":{}}
codex< {"id":1,"method":"a/one","params":{"x":1,"held":true}}
# Others are not held up.
editor> {"id":2,"method":"a/other","params":{}}
codex< {"id":2,"method":"a/other","params":{}}
codex> {"id":2,"result":"r"}
editor< {"id":2,"result":"R"}
codex> {"id":1,"result":"r"}
editor< {"id":1,"result":"R"}
# The first fails: the client hears of the second.
editor> {"id":3,"method":"a/start","params":{}}
codex< {"id":3,"method":"a/one","params":{"x":1,"held":true}}
codex> {"id":3,"error":{"code":-32600,"message":"lost"}}
codex< {"id":3,"method":"a/two","params":{"x":1,"held":true}}
codex> {"id":3,"result":"r"}
editor< {"id":3,"result":"R"}
`)
	refuses = true
	c.Play("refused", `
editor> {"id":4,"method":"a/start","params":{}}
codex< {"id":4,"method":"a/one","params":{"x":1,"held":true}}
codex> {"id":4,"error":{"code":-32600,"message":"lost"}}
editor< {"id":4,"error":{"code":-32010,"message":"no"}}
`)
	if answers, none := seen.answers.Load(), seen.none.Load(); answers != 2 || none != 1 {
		t.Errorf("who waits for the answer has got %d, and %d times none", answers, none)
	}
}

// ends answers b/wait when codex has said b/end.
type ends struct{ ended chan struct{} }

func (e ends) Routes() []bridge.Route {
	return []bridge.Route{
		{From: bridge.Client, Method: "b/wait", Why: "t", HandleClient: func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
			id := call.ID.Clone()
			call.HandleAsync(func(_ context.Context, aside *bridge.AsyncRequest) {
				<-e.ended
				aside.AfterDelivery()
				aside.Reply(rpc.EncodeResult(id, []byte(`{}`)))
			})
			return nil
		}},
		{From: bridge.Codex, Method: "b/end", Why: "t", HandleServer: func(context.Context, *bridge.ServerMessage) {
			e.ended <- struct{}{}
			time.Sleep(time.Millisecond) // who would overtake has the time to
		}},
	}
}

// An answer that is made of what codex says stands behind that.
func TestAsideBehind(t *testing.T) {
	c := bridgetest.Start(t, ends{make(chan struct{})})
	for range 20 {
		c.Play("behind", `
editor> {"id":1,"method":"b/wait"}
editor> {"id":9,"method":"b/other"}
codex< {"id":9,"method":"b/other"}
codex> {"method":"b/end"}
editor< {"method":"b/end"}
editor< {"id":1,"result":{}}
`)
	}
}
