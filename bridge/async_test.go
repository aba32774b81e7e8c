package bridge_test

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/rpc"
)

// retrying calls a/one in place of a/start, and a/two if that fails.
type retrying struct{}

func (retrying) Routes() []bridge.Route {
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

func (retrying) Stage() bridge.Stage { return bridge.BeforeGuard }

// marking marks forwarded messages, and refuses a/two if the test says so.
type marking struct{ refuses *bool }

func (h marking) Routes() []bridge.Route {
	return []bridge.Route{{From: bridge.Client, Method: bridge.Other, Why: "t", HandleClient: func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
		if *h.refuses && call.Method == "a/two" {
			return rpc.Errorf(rpc.CodeRefused, "no")
		}
		call.Line = bytes.Replace(call.Line, []byte(`"x":1`), []byte(`"x":1,"held":true`), 1)
		call.OnResponse(func(a *bridge.ServerResponse) { a.Line = bytes.Replace(a.Line, []byte(`"r"`), []byte(`"R"`), 1) })
		return nil
	}}}
}

func (marking) Stage() bridge.Stage { return bridge.BeforeGuard }

// counting marks and counts the responses to a/start that the client gets.
type counting struct{ answers, none *atomic.Int64 }

func (n counting) Routes() []bridge.Route {
	return []bridge.Route{{From: bridge.Client, Method: "a/start", Why: "t", HandleClient: func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
		call.OnResponse(func(a *bridge.ServerResponse) {
			if a.Envelope == nil {
				n.none.Add(1)
				return
			}
			n.answers.Add(1)
			if !a.Result().Is("R") {
				a.Line = nil // counting must get the client's response
			}
		})
		return nil
	}}}
}

func (counting) Stage() bridge.Stage { return bridge.BeforeGuard }

func TestAsyncRequest(t *testing.T) {
	refuses := false
	seen := counting{new(atomic.Int64), new(atomic.Int64)}
	c := bridgetest.Start(t, seen, retrying{}, marking{&refuses})
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

// ending answers b/wait when Codex has sent b/end.
type ending struct {
	ended    chan struct{}
	readOnly bool
}

func (e ending) Routes() []bridge.Route {
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
		{From: bridge.Codex, Method: "b/end", Why: "t", ReadOnly: e.readOnly, HandleServer: func(context.Context, *bridge.ServerMessage) {
			e.ended <- struct{}{}
			time.Sleep(time.Millisecond) // time for another goroutine to overtake
		}},
	}
}

func (ending) Stage() bridge.Stage { return bridge.BeforeGuard }

// A reply that is caused by a message of Codex comes after that message.
func TestAsyncReplyComesAfterDelivery(t *testing.T) {
	handled, read := ending{ended: make(chan struct{})}, ending{ended: make(chan struct{}), readOnly: true}
	conversations := []*bridgetest.Conversation{bridgetest.Start(t, handled), bridgetest.Start(t, read)}
	for n := range 40 {
		c := conversations[n%2]
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
