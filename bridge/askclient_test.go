package bridge_test

import (
	"context"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/rpc"
)

// clientCaller sends the client a request when Codex sends "need", and passes the response on
// to it. The client does not get "need".
type clientCaller struct{ conn *bridge.Conn }

func (c *clientCaller) Attach(p *bridge.Conn) { c.conn = p }

func (c *clientCaller) Routes() []bridge.Route {
	return []bridge.Route{{From: bridge.Codex, Method: "need", HandleServer: func(ctx context.Context, msg *bridge.ServerMessage) {
		msg.Line = nil // the order of the two lines is not defined
		go func() {
			result, err := c.conn.CallClient(ctx, "own/question", map[string]int{"n": 1})
			if err != nil {
				c.conn.Notify("own/failed", map[string]string{"error": err.Error()})
				return
			}
			text, _ := result.Get("n").Text()
			c.conn.Notify("own/answered", map[string]string{"n": text})
		}()
	}}}
}

// Codex sees neither a request of CallClient nor its response. A second response is
// unsolicited.
func TestCallClientSessions(t *testing.T) {
	sessions(t, "asks-client", func(*testing.T) []bridge.Feature {
		return []bridge.Feature{&clientCaller{}, feature{
			{From: bridge.Client, Method: bridge.Unsolicited, HandleClient: func(context.Context, *bridge.ClientMessage) *rpc.Error {
				return rpc.Errorf(rpc.CodeInvalidRequest, "an answer to nothing")
			}},
		}}
	})
}

// An answer that can't be read is the refusal of a pending request, of Codex or of the bridge. Another one is only refused.
func TestUnreadableAnswers(t *testing.T) {
	sessions(t, "unreadable-answer", func(*testing.T) []bridge.Feature {
		return []bridge.Feature{&clientCaller{}, feature{
			{From: bridge.Codex, Method: "watched", HandleServer: func(_ context.Context, msg *bridge.ServerMessage) {
				msg.OnResponse(func(r *bridge.ClientResponse) {
					if r.Unreadable != nil {
						r.Line = []byte(`{"id":` + string(r.ID.Raw()) + `,"result":"unreadable"}` + "\n")
					}
				})
			}},
			{From: bridge.Client, Method: bridge.Unsolicited, HandleClient: func(context.Context, *bridge.ClientMessage) *rpc.Error {
				return rpc.Errorf(rpc.CodeInvalidRequest, "an answer to nothing")
			}},
		}}
	})
}
