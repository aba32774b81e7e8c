package bridge_test

import (
	"context"
	"testing"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/rpc"
)

// holder holds what codex asks until codex says "release".
type holder struct {
	peer *bridge.Conn
	held []*bridge.ServerRequest // of codex's messages alone, one after the other
}

func (h *holder) Attach(p *bridge.Conn) { h.peer = p }

func (h *holder) Routes() []bridge.Route {
	hold := func(d time.Duration) func(context.Context, *bridge.ServerMessage) {
		return func(_ context.Context, s *bridge.ServerMessage) {
			h.held = append(h.held, s.Withhold(d, func() []byte { return []byte(`{"decision":"decline"}`) }))
		}
	}
	return []bridge.Route{
		{From: bridge.Codex, Method: "ask/held", HandleServer: hold(time.Hour)},
		{From: bridge.Codex, Method: "ask/soon", HandleServer: hold(time.Millisecond)},
		{From: bridge.Codex, Method: "release", HandleServer: func(_ context.Context, s *bridge.ServerMessage) {
			s.Line = nil
			answered, late := 0, 0
			for _, one := range h.held {
				if one.Reply([]byte(`{"by":"the holder"}`)) {
					answered++
				} else {
					late++
				}
			}
			h.peer.Notify("released", map[string]int{"answered": answered, "late": late})
		}},
	}
}

// A request that is held is answered once, by who holds it or for want of time, and
// by nobody else: neither the client nor a feature behind the holder hears of it.
func TestHeldSessions(t *testing.T) {
	sessions(t, "held", func(t *testing.T) []bridge.Feature {
		return []bridge.Feature{&holder{}, &settler{}, feature{
			{From: bridge.Client, Method: bridge.Unsolicited, HandleClient: func(context.Context, *bridge.ClientMessage) *rpc.Error {
				return rpc.Errorf(rpc.CodeInvalidRequest, "an answer to nothing")
			}},
			{From: bridge.Codex, Method: "ask/held", HandleServer: func(_ context.Context, s *bridge.ServerMessage) {
				t.Errorf("the feature behind hears of %s", s.Line)
			}},
			{From: bridge.Codex, Method: "ask/aloud", HandleServer: func(context.Context, *bridge.ServerMessage) {}},
		}}
	})
}
