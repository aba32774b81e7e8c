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
	peer *bridge.Peer

	mu      sync.Mutex
	givesUp []context.CancelFunc
}

func (a *asksOwn) Attach(p *bridge.Peer) { a.peer = p }

func (a *asksOwn) Routes() []bridge.Route {
	return []bridge.Route{
		{From: bridge.Client, Method: "own/ask", Why: "t", Call: a.ask},
		{From: bridge.Client, Method: "own/stop", Why: "t", Call: func(context.Context, *bridge.Call) *rpc.Error {
			a.mu.Lock()
			defer a.mu.Unlock()
			for _, cancel := range a.givesUp {
				cancel()
			}
			a.givesUp = nil
			return nil
		}},
		{From: bridge.Codex, Method: "need", Why: "t", Said: func(ctx context.Context, said *bridge.Said) {
			said.Line = nil
			params := bytes.Clone(said.Root().Get("params").Raw())
			go func() { // ends with the client's answer, or with the conversation
				result, err := a.peer.AskClient(ctx, "own/question", raw(params))
				a.peer.Tell("own/answered", raw(own(result, err)))
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

func (a *asksOwn) ask(_ context.Context, call *bridge.Call) *rpc.Error {
	id, params := call.ID.Clone(), raw(bytes.Clone(call.Params.Raw()))
	how, _ := call.Params.Get("how").Text()
	call.Aside(func(ctx context.Context, aside *bridge.Aside) {
		var result rpc.Value
		var err error
		switch how {
		case "ask":
			result, err = a.peer.Ask(ctx, "own/question", params)
		case "request":
			result, err = a.peer.Request(ctx, "own/question", params)
		default: // one that is given up, maybe before it was answered
			ctx, cancel := context.WithCancel(ctx)
			a.mu.Lock()
			a.givesUp = append(a.givesUp, cancel)
			a.mu.Unlock()
			if how == "ask, given up" {
				result, err = a.peer.Ask(ctx, "own/question", params)
			} else {
				result, err = a.peer.Request(ctx, "own/question", params)
			}
		}
		aside.Reply(rpc.Reply(id, own(result, err)))
	})
	return nil
}

// watches marks the answers that it was promised.
func watches() feature {
	return feature{{From: bridge.Client, Method: "watch", Why: "t", Call: func(_ context.Context, call *bridge.Call) *rpc.Error {
		call.OnAnswer(func(a *bridge.Answer) {
			a.Line = bytes.Replace(a.Line, []byte(`{"t":`), []byte(`{"watched":1,"t":`), 1)
		})
		return nil
	}}}
}

// keepsQuestions holds what codex asks until codex says "release", answers what others may
// answer, too, and hears what codex has settled.
type keepsQuestions struct {
	peer *bridge.Peer
	held []*bridge.Held // of codex's messages alone, one after the other

	answered atomic.Int64
}

func (k *keepsQuestions) Attach(p *bridge.Peer) { k.peer = p }

func (k *keepsQuestions) Routes() []bridge.Route {
	by := []byte(`{"by":"bridge"}`)
	codex := func(method string, f func(*bridge.Said)) bridge.Route {
		return bridge.Route{From: bridge.Codex, Method: method, Why: "t", Said: func(_ context.Context, said *bridge.Said) { f(said) }}
	}
	return []bridge.Route{
		codex("ask/here", func(said *bridge.Said) {
			said.Reply(by)
			k.answered.Add(1)
		}),
		codex("ask/held", func(said *bridge.Said) {
			k.held = append(k.held, said.Hold(time.Hour, func() []byte { return by }))
		}),
		codex("ask/either", func(said *bridge.Said) { k.held = append(k.held, said.Either()) }),
		codex("ask/heard", func(said *bridge.Said) {
			said.OnReply(func(r *bridge.Reply) { r.Line = bytes.Replace(r.Line, []byte(`{"t":`), []byte(`{"judged":1,"t":`), 1) })
		}),
		codex("release", func(*bridge.Said) {
			for _, one := range k.held {
				if one.Reply(by) {
					k.answered.Add(1)
				}
			}
			k.held = nil
		}),
		codex("settled", func(said *bridge.Said) {
			if id, ok := rpc.IDOf(said.Root().Get("params").Get("requestId")); ok {
				k.peer.Settled(id)
			}
		}),
	}
}
