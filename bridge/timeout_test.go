package bridge_test

import (
	"context"
	"testing"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/rpc"
)

// If the client does not answer in time the bridge answers, once. A later response of the client
// is unsolicited.
func TestTimeoutSessions(t *testing.T) {
	sessions(t, "timeout", func(*testing.T) []bridge.Feature {
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
