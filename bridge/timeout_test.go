package bridge_test

import (
	"context"
	"testing"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/rpc"
)

// A question that the client does not answer in time is answered for it, once; what it
// says then is an answer to nothing. Another is answered before.
func TestWithinSessions(t *testing.T) {
	sessions(t, "within", func(*testing.T) []bridge.Feature {
		asks := func(d time.Duration) func(context.Context, *bridge.ServerMessage) {
			return func(_ context.Context, s *bridge.ServerMessage) {
				s.TimeoutResult(time.Hour, func() []byte { return []byte(`"too late"`) })
				s.TimeoutResult(d, func() []byte { return []byte(`{"decision":"decline"}`) })
				s.TimeoutResult(time.Hour, func() []byte { return []byte(`"later still"`) })
			}
		}
		return []bridge.Feature{feature{
			{From: bridge.Codex, Method: "ask/soon", HandleServer: asks(time.Millisecond)},
			{From: bridge.Codex, Method: "ask/late", HandleServer: asks(time.Hour)},
			{From: bridge.Client, Method: bridge.Unsolicited, HandleClient: func(context.Context, *bridge.ClientMessage) *rpc.Error {
				return rpc.Errorf(rpc.CodeInvalidRequest, "an answer to nothing")
			}},
		}}
	})
}
