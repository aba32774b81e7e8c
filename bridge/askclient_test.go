package bridge_test

import (
	"context"
	"testing"

	"codex-bridge/bridge"
	"codex-bridge/rpc"
)

// curious asks the client something whenever codex says "need", which it keeps to itself,
// and tells it the answer.
type curious struct{ peer *bridge.Conn }

func (c *curious) Attach(p *bridge.Conn) { c.peer = p }

func (c *curious) Routes() []bridge.Route {
	return []bridge.Route{{From: bridge.Codex, Method: "need", HandleServer: func(ctx context.Context, said *bridge.ServerMessage) {
		said.Line = nil // which of the two came first would be anybody's guess
		go func() {
			result, err := c.peer.CallClient(ctx, "own/question", map[string]int{"n": 1})
			if err != nil {
				c.peer.Notify("own/failed", map[string]string{"error": err.Error()})
				return
			}
			text, _ := result.Get("n").Text()
			c.peer.Notify("own/answered", map[string]string{"n": text})
		}()
	}}}
}

// A request of the bridge's own to the client: codex sees neither it nor its answer,
// and a second answer is one to nothing.
func TestAskClientSessions(t *testing.T) {
	sessions(t, "asks-client", func(*testing.T) []bridge.Feature {
		return []bridge.Feature{&curious{}, feature{
			{From: bridge.Client, Method: bridge.Unsolicited, HandleClient: func(context.Context, *bridge.ClientMessage) *rpc.Error {
				return rpc.Errorf(rpc.CodeInvalidRequest, "an answer to nothing")
			}},
		}}
	})
}
