package bridge_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/rpc"
)

// markSeen appends the name of a feature to a client's message.
func markSeen(name string) func(context.Context, *bridge.ClientMessage) *rpc.Error {
	return func(_ context.Context, c *bridge.ClientMessage) *rpc.Error {
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

// resolver removes requests that Codex has resolved.
type resolver struct{ conn *bridge.Conn }

func (s *resolver) Attach(p *bridge.Conn) { s.conn = p }

func (s *resolver) Routes() []bridge.Route {
	return []bridge.Route{{From: bridge.Codex, Method: "settled", HandleServer: func(_ context.Context, msg *bridge.ServerMessage) {
		if id, ok := rpc.ParseID(msg.Root().Get("params").Get("requestId")); ok {
			s.conn.ForgetServerRequest(id)
		}
	}}}
}

func (*resolver) Stage() bridge.Stage { return bridge.BeforeGuard }

// Requests of Codex and the responses of the client.
func TestClientResponseSessions(t *testing.T) {
	pass := func(context.Context, *bridge.ClientMessage) *rpc.Error { return nil }
	sessions(t, "replies-", func(*testing.T) []bridge.Feature {
		return []bridge.Feature{
			feature{
				{From: bridge.Codex, Method: "ask/answer", HandleServer: func(_ context.Context, s *bridge.ServerMessage) { s.Reply([]byte(`{"by":"bridge"}`)) }},
				{From: bridge.Codex, Method: "ask/refuse", HandleServer: func(_ context.Context, s *bridge.ServerMessage) {
					s.Refuse(rpc.Errorf(rpc.CodeRefused, "refused"))
				}},
				{From: bridge.Codex, Method: "ask/none", HandleServer: func(context.Context, *bridge.ServerMessage) {}},
				{From: bridge.Codex, Method: "ask/rewrite", HandleServer: func(_ context.Context, s *bridge.ServerMessage) {
					s.OnResponse(func(r *bridge.ClientResponse) {
						asked := s.Root().Get("params").Raw()
						r.Line = append(rpc.EncodeResult(r.ID, append(append([]byte(`{"decision":"decline","of":`), asked...), '}')), '\n')
					})
				}},
				{From: bridge.Client, Method: "both", HandleClient: markSeen("first")},
				{From: bridge.Client, Method: bridge.Unsolicited, HandleClient: func(context.Context, *bridge.ClientMessage) *rpc.Error {
					return rpc.Errorf(rpc.CodeInvalidRequest, "an answer to nothing")
				}},
			},
			&resolver{},
			feature{
				{From: bridge.Client, Method: "hello", HandleClient: pass},
				{From: bridge.Client, Method: bridge.Other, HandleClient: markSeen("other")},
				{From: bridge.Codex, Method: bridge.Other, HandleServer: func(_ context.Context, s *bridge.ServerMessage) {
					if !strings.HasPrefix(s.Method, "ask/") { // all others must have an id
						s.Refuse(rpc.Errorf(rpc.CodeRefused, "unknown"))
					}
				}},
			},
		}
	})
}
