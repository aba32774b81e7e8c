package bridge_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
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

func (*clientCaller) Stage() bridge.Stage { return bridge.BeforeGuard }

// userAsker asks the user with AskUser when Codex sends "need".
type userAsker struct{ conn *bridge.Conn }

func (c *userAsker) Attach(p *bridge.Conn) { c.conn = p }

func (c *userAsker) Routes() []bridge.Route {
	return []bridge.Route{{From: bridge.Codex, Method: "need", HandleServer: func(ctx context.Context, msg *bridge.ServerMessage) {
		msg.Line = nil
		go func() {
			_, err := c.conn.AskUser(ctx, "t", "own/question", map[string]int{"n": 1})
			c.conn.Notify("own/answered", map[string]bool{"unreadable": errors.As(err, new(*bridge.UnreadableError))})
		}()
	}}}
}

func (*userAsker) Stage() bridge.Stage { return bridge.BeforeGuard }

// The bridge keeps only the first values of a long answer. It must not take these for the whole.
func TestAskUserRefusesPartOfAnswer(t *testing.T) {
	c := bridgetest.Start(t, &userAsker{})
	c.Play("many values", `
editor> {"id":1,"method":"hello"}
codex<  {"id":1,"method":"hello"}
codex>  {"method":"need"}
editor< {"id":"$q","method":"own/question","params":{"n":1}}
editor> {"id":"$q","result":{"a":[`+strings.Repeat("0,", 1<<17)+`0]}}
editor< {"method":"serverRequest/resolved","params":{"threadId":"t","requestId":"$q"}}
editor< {"method":"own/answered","params":{"unreadable":true}}
`)
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
