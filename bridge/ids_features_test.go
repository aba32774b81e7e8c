package bridge_test

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/rpc"
)

// asksOwn asks for itself whenever the client says so, in each of the ways that there are,
// and gives the client what came of it as {"own": …}.
type asksOwn struct {
	peer *bridge.Conn

	mu      sync.Mutex
	givesUp []context.CancelFunc
}

func (a *asksOwn) Attach(p *bridge.Conn) { a.peer = p }

func (a *asksOwn) Routes() []bridge.Route {
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
		{From: bridge.Codex, Method: "need", Why: "t", HandleServer: func(ctx context.Context, said *bridge.ServerMessage) {
			said.Line = nil
			params := bytes.Clone(said.Root().Get("params").Raw())
			go func() { // ends with the client's answer, or with the conversation
				result, err := a.peer.CallClient(ctx, "own/question", raw(params))
				a.peer.Notify("own/answered", raw(own(result, err)))
			}()
		}},
	}
}

type raw []byte

func (r raw) MarshalJSON() ([]byte, error) { return r, nil }

func own(result rpc.Value, err error) []byte {
	if err != nil {
		return []byte(`{"own":null}`)
	}
	return append(append([]byte(`{"own":`), result.Raw()...), '}')
}

func (a *asksOwn) ask(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
	id, params := call.ID.Clone(), raw(bytes.Clone(call.Params.Raw()))
	how, _ := call.Params.Get("how").Text()
	call.HandleAsync(func(ctx context.Context, aside *bridge.AsyncRequest) {
		var result rpc.Value
		var err error
		switch how {
		case "ask":
			result, err = a.peer.Call(ctx, "own/question", params)
		case "request":
			result, err = a.peer.CallAsClient(ctx, "own/question", params)
		default: // one that is given up, maybe before it was answered
			ctx, cancel := context.WithCancel(ctx)
			a.mu.Lock()
			a.givesUp = append(a.givesUp, cancel)
			a.mu.Unlock()
			if how == "ask, given up" {
				result, err = a.peer.Call(ctx, "own/question", params)
			} else {
				result, err = a.peer.CallAsClient(ctx, "own/question", params)
			}
		}
		aside.Reply(rpc.EncodeResult(id, own(result, err)))
	})
	return nil
}

// watches marks the answers that it was promised.
func watches() feature {
	return feature{{From: bridge.Client, Method: "watch", Why: "t", HandleClient: func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
		call.OnResponse(func(a *bridge.ServerResponse) {
			a.Line = bytes.Replace(a.Line, []byte(`{"t":`), []byte(`{"watched":1,"t":`), 1)
		})
		return nil
	}}}
}

// keepsQuestions holds what codex asks until codex says "release", answers what others may
// answer, too, and hears what codex has settled.
type keepsQuestions struct {
	peer *bridge.Conn
	held []*bridge.ServerRequest // of codex's messages alone, one after the other

	answered atomic.Int64
}

func (k *keepsQuestions) Attach(p *bridge.Conn) { k.peer = p }

func (k *keepsQuestions) Routes() []bridge.Route {
	by := []byte(`{"by":"bridge"}`)
	codex := func(method string, f func(*bridge.ServerMessage)) bridge.Route {
		return bridge.Route{From: bridge.Codex, Method: method, Why: "t", HandleServer: func(_ context.Context, said *bridge.ServerMessage) { f(said) }}
	}
	return []bridge.Route{
		codex("ask/here", func(said *bridge.ServerMessage) {
			said.Reply(by)
			k.answered.Add(1)
		}),
		codex("ask/held", func(said *bridge.ServerMessage) {
			k.held = append(k.held, said.Withhold(time.Hour, func() []byte { return by }))
		}),
		codex("ask/either", func(said *bridge.ServerMessage) { k.held = append(k.held, said.Share()) }),
		codex("ask/heard", func(said *bridge.ServerMessage) {
			said.OnResponse(func(r *bridge.ClientResponse) {
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
		codex("settled", func(said *bridge.ServerMessage) {
			if id, ok := rpc.ParseID(said.Root().Get("params").Get("requestId")); ok {
				k.peer.ForgetServerRequest(id)
			}
		}),
	}
}
