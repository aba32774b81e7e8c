package bridge_test

import (
	"context"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/rpc"
)

// helping answers Codex's request "ask" when the client sends "help", unless the client has
// answered. It reports to the client whether its answer counted.
type helping struct {
	held    *bridge.ServerRequest
	replies int
	heard   bool
}

func (h *helping) Routes() []bridge.Route {
	return []bridge.Route{
		{From: bridge.Codex, Method: "ask", Why: "t", HandleServer: func(_ context.Context, msg *bridge.ServerMessage) {
			h.held = msg.Share()
			msg.OnResponse(func(*bridge.ClientResponse) { h.heard = true })
		}},
		{From: bridge.Client, Method: "help", Why: "t", HandleClient: func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
			if h.held.Reply([]byte(`"from here"`)) {
				h.replies++
			}
			call.Reply([]byte(`{}`))
			return nil
		}},
		{From: bridge.Client, Method: bridge.Unsolicited, Why: "t", HandleClient: func(context.Context, *bridge.ClientMessage) *rpc.Error {
			return rpc.Errorf(rpc.CodeInvalidRequest, "an answer to nothing")
		}},
	}
}

func (*helping) Stage() bridge.Stage { return bridge.BeforeGuard }

// Of two answers the first counts.
func TestShare(t *testing.T) {
	h := &helping{}
	c := bridgetest.Start(t, h)
	c.Play("the bridge", `
editor> {"id":1,"method":"hello"}
codex< {"id":1,"method":"hello"}
codex> {"id":5,"method":"ask","params":{}}
editor< {"id":5,"method":"ask","params":{}}
editor> {"id":2,"method":"help"}
codex< {"id":5,"result":"from here"}
editor< {"id":2,"result":{}}
editor> {"id":5,"result":"too late"}
editor> {"id":3,"method":"help"}
editor< {"id":3,"result":{}}
`)
	if h.replies != 1 || h.heard {
		t.Errorf("%d answers counted, and the client's did: %v", h.replies, h.heard)
	}
	c.Play("the client", `
codex> {"id":6,"method":"ask","params":{}}
editor< {"id":6,"method":"ask","params":{}}
editor> {"id":6,"result":"mine"}
codex< {"id":6,"result":"mine"}
editor> {"id":4,"method":"help"}
editor< {"id":4,"result":{}}
`)
	if h.replies != 1 || !h.heard {
		t.Errorf("%d answers counted, and the client's did: %v", h.replies, h.heard)
	}
}
