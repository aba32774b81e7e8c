package bridge_test

import (
	"context"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/rpc"
)

// asksOnce asks Codex what it may know already, and then refuses the client's request with the result.
type asksOnce struct {
	method string
	conn   *bridge.Conn
}

func (a *asksOnce) Attach(conn *bridge.Conn) { a.conn = conn }

func (a *asksOnce) Routes() []bridge.Route {
	return []bridge.Route{{From: bridge.Client, Method: a.method, Why: "t", HandleClient: func(ctx context.Context, _ *bridge.ClientMessage) *rpc.Error {
		result, err := a.conn.CallOnce(ctx, "own/facts")
		if err != nil {
			return rpc.Errorf(rpc.CodeRefused, "failed")
		}
		return rpc.Errorf(rpc.CodeRefused, "%s", result.Raw())
	}}}
}

func (*asksOnce) Stage() bridge.Stage { return bridge.BeforeGuard }

// All features get the first result of CallOnce. After an error Codex is asked again.
func TestCallOnceIsForAllFeatures(t *testing.T) {
	c := bridgetest.Start(t, &asksOnce{method: "a"}, &asksOnce{method: "b"})
	c.Play("script", `
editor> {"id":1,"method":"a","params":{}}
codex<  {"id":"$first","method":"own/facts","params":{}}
codex>  {"id":"$first","error":{"code":-32603,"message":"not yet"}}
editor< {"id":1,"error":{"code":-32010,"message":"failed"}}
editor> {"id":2,"method":"b","params":{}}
codex<  {"id":"$second","method":"own/facts","params":{}}
codex>  {"id":"$second","result":{"x":1}}
editor< {"id":2,"error":{"code":-32010,"message":"{\"x\":1}"}}
editor> {"id":3,"method":"a","params":{}}
editor< {"id":3,"error":{"code":-32010,"message":"{\"x\":1}"}}
editor> {"id":4,"method":"b","params":{}}
editor< {"id":4,"error":{"code":-32010,"message":"{\"x\":1}"}}
`)
}
