package bridge_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"codex-bridge/bridge"
	"codex-bridge/rpc"
)

// mark notes in a client's message that a feature has seen it.
func mark(name string) func(context.Context, *bridge.Call) *rpc.Error {
	return func(_ context.Context, c *bridge.Call) *rpc.Error {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Seen []string `json:"seen"`
			} `json:"params"`
		}
		if err := json.Unmarshal(c.Line, &m); err != nil {
			return rpc.Errorf(rpc.CodeInternal, "%v", err)
		}
		m.Params.Seen = append(m.Params.Seen, name)
		raw, err := json.Marshal(m)
		if err != nil {
			return rpc.Errorf(rpc.CodeInternal, "%v", err)
		}
		c.Line = append(raw, '\n')
		return nil
	}
}

// settler tells the bridge what codex has settled.
type settler struct{ peer *bridge.Peer }

func (s *settler) Attach(p *bridge.Peer) { s.peer = p }

func (s *settler) Routes() []bridge.Route {
	return []bridge.Route{{From: bridge.Codex, Method: "settled", Said: func(_ context.Context, said *bridge.Said) {
		if id, ok := rpc.IDOf(said.Root().Get("params").Get("requestId")); ok {
			s.peer.Settled(id)
		}
	}}}
}

// What codex asks of its client, and what the client answers.
func TestReplySessions(t *testing.T) {
	pass := func(context.Context, *bridge.Call) *rpc.Error { return nil }
	sessions(t, "replies-", func(*testing.T) []bridge.Feature {
		return []bridge.Feature{
			feature{
				{From: bridge.Codex, Method: "ask/answer", Said: func(_ context.Context, s *bridge.Said) { s.Reply([]byte(`{"by":"bridge"}`)) }},
				{From: bridge.Codex, Method: "ask/refuse", Said: func(_ context.Context, s *bridge.Said) {
					s.Refuse(rpc.Errorf(rpc.CodeRefused, "refused"))
				}},
				{From: bridge.Codex, Method: "ask/none", Said: func(context.Context, *bridge.Said) {}},
				{From: bridge.Codex, Method: "ask/rewrite", Said: func(_ context.Context, s *bridge.Said) {
					s.OnReply(func(r *bridge.Reply) {
						asked := s.Root().Get("params").Raw()
						r.Line = append(rpc.Reply(r.ID, append(append([]byte(`{"decision":"decline","of":`), asked...), '}')), '\n')
					})
				}},
				{From: bridge.Client, Method: "both", Call: mark("first")},
				{From: bridge.Client, Method: bridge.Unasked, Call: func(context.Context, *bridge.Call) *rpc.Error {
					return rpc.Errorf(rpc.CodeInvalidRequest, "an answer to nothing")
				}},
			},
			&settler{},
			feature{
				{From: bridge.Client, Method: "hello", Call: pass},
				{From: bridge.Client, Method: bridge.Other, Call: mark("other")},
				{From: bridge.Codex, Method: bridge.Other, Said: func(_ context.Context, s *bridge.Said) {
					if !strings.HasPrefix(s.Method, "ask/") { // none is to come here without an id
						s.Refuse(rpc.Errorf(rpc.CodeRefused, "unknown"))
					}
				}},
			},
		}
	})
}
