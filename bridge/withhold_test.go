package bridge_test

import (
	"context"
	"testing"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/rpc"
)

// withholding withholds requests of Codex until Codex sends "release".
type withholding struct {
	conn *bridge.Conn
	held []*bridge.ServerRequest // used only by handlers of Codex's messages, which run in order
}

func (h *withholding) Attach(p *bridge.Conn) { h.conn = p }

func (h *withholding) Routes() []bridge.Route {
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
			h.conn.Notify("released", map[string]int{"answered": answered, "late": late})
		}},
	}
}

func (*withholding) Stage() bridge.Stage { return bridge.BeforeGuard }

// A withheld request is answered once, by the feature or at its timeout. The client and later
// features do not get it.
func TestWithholdSessions(t *testing.T) {
	sessions(t, "withhold", func(t *testing.T) []bridge.Feature {
		return []bridge.Feature{&withholding{}, &resolver{}, feature{
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
