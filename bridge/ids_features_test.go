package bridge_test

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/rpc"
)

// ownCaller sends requests of its own when the client says so, in each possible way, and
// sends the client the result as {"own": …}.
type ownCaller struct {
	conn *bridge.Conn

	mu      sync.Mutex
	givesUp []context.CancelFunc
}

func (a *ownCaller) Attach(p *bridge.Conn) { a.conn = p }

func (a *ownCaller) Routes() []bridge.Route {
	return []bridge.Route{
		{From: bridge.Client, Method: "own/ask", Why: "t", HandleClient: a.ask},
		{From: bridge.Client, Method: "own/stop", Why: "t", HandleClient: func(context.Context, *bridge.ClientMessage) *rpc.Error {
			a.mu.Lock()
			defer a.mu.Unlock()
			for _, cancel := range a.givesUp {
				cancel()
			}
			a.givesUp = nil
			return nil
		}},
		{From: bridge.Codex, Method: "need", Why: "t", HandleServer: func(ctx context.Context, msg *bridge.ServerMessage) {
			msg.Line = nil
			params := bytes.Clone(msg.Root().Get("params").Raw())
			go func() { // ends with the client's response, or with the conversation
				result, err := a.conn.CallClient(ctx, "own/question", raw(params))
				a.conn.Notify("own/answered", raw(own(result, err)))
			}()
		}},
	}
}

func (*ownCaller) Stage() bridge.Stage { return bridge.BeforeGuard }

type raw []byte

func (r raw) MarshalJSON() ([]byte, error) { return r, nil }

func own(result rpc.Value, err error) []byte {
	if err != nil {
		return []byte(`{"own":null}`)
	}
	return append(append([]byte(`{"own":`), result.Raw()...), '}')
}

func (a *ownCaller) ask(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
	id, params := call.ID.Clone(), raw(bytes.Clone(call.Params.Raw()))
	how, _ := call.Params.Get("how").Text()
	call.HandleAsync(func(ctx context.Context, aside *bridge.AsyncRequest) {
		var result rpc.Value
		var err error
		switch how {
		case "ask":
			result, err = a.conn.Call(ctx, "own/question", params)
		case "request":
			result, err = a.conn.CallAsClient(ctx, "own/question", params)
		default: // its context ends, perhaps before the response
			ctx, cancel := context.WithCancel(ctx)
			a.mu.Lock()
			a.givesUp = append(a.givesUp, cancel)
			a.mu.Unlock()
			if how == "ask, given up" {
				result, err = a.conn.Call(ctx, "own/question", params)
			} else {
				result, err = a.conn.CallAsClient(ctx, "own/question", params)
			}
		}
		aside.Reply(rpc.EncodeResult(id, own(result, err)))
	})
	return nil
}

// markingRoutes marks each response that it has asked for.
func markingRoutes() feature {
	return feature{{From: bridge.Client, Method: "watch", Why: "t", HandleClient: func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
		call.OnResponse(func(a *bridge.ServerResponse) {
			a.Line = bytes.Replace(a.Line, []byte(`{"t":`), []byte(`{"watched":1,"t":`), 1)
		})
		return nil
	}}}
}

// requestKeeper withholds requests of Codex until Codex sends "release", answers shared ones,
// and handles serverRequest/resolved.
type requestKeeper struct {
	conn *bridge.Conn
	held []*bridge.ServerRequest // used only by handlers of Codex's messages, which run in order

	answered atomic.Int64
}

func (k *requestKeeper) Attach(p *bridge.Conn) { k.conn = p }

func (k *requestKeeper) Routes() []bridge.Route {
	by := []byte(`{"by":"bridge"}`)
	codex := func(method string, f func(*bridge.ServerMessage)) bridge.Route {
		return bridge.Route{From: bridge.Codex, Method: method, Why: "t", HandleServer: func(_ context.Context, msg *bridge.ServerMessage) { f(msg) }}
	}
	return []bridge.Route{
		codex("ask/here", func(msg *bridge.ServerMessage) {
			msg.Reply(by)
			k.answered.Add(1)
		}),
		codex("ask/held", func(msg *bridge.ServerMessage) {
			k.held = append(k.held, msg.Withhold(time.Hour, func() []byte { return by }))
		}),
		codex("ask/either", func(msg *bridge.ServerMessage) { k.held = append(k.held, msg.Share()) }),
		codex("ask/heard", func(msg *bridge.ServerMessage) {
			msg.OnResponse(func(r *bridge.ClientResponse) {
				r.Line = bytes.Replace(r.Line, []byte(`{"t":`), []byte(`{"judged":1,"t":`), 1)
			})
		}),
		codex("release", func(*bridge.ServerMessage) {
			for _, one := range k.held {
				if one.Reply(by) {
					k.answered.Add(1)
				}
			}
			k.held = nil
		}),
		codex("settled", func(msg *bridge.ServerMessage) {
			if id, ok := rpc.ParseID(msg.Root().Get("params").Get("requestId")); ok {
				k.conn.ForgetServerRequest(id)
			}
		}),
	}
}

func (*requestKeeper) Stage() bridge.Stage { return bridge.BeforeGuard }
