package bridge_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/rpc"
)

// clientImpersonator calls b/any in the client's name when the client sends a/run, and sends
// the client the result.
type clientImpersonator struct{ conn *bridge.Conn }

func (s *clientImpersonator) Attach(p *bridge.Conn) { s.conn = p }

func (s *clientImpersonator) Routes() []bridge.Route {
	return []bridge.Route{
		{From: bridge.Client, Method: "a/run", Why: "t", HandleClient: func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
			id := call.ID.Clone()
			method, _ := call.Params.Get("method").Text()
			call.HandleAsync(func(ctx context.Context, aside *bridge.AsyncRequest) {
				result, err := s.conn.CallAsClient(ctx, method, map[string]any{"x": 1})
				if err != nil {
					aside.Reply(rpc.EncodeError(id, err))
					return
				}
				aside.Reply(rpc.EncodeResult(id, result.Raw()))
			})
			return nil
		}},
		// A feature does not get its own requests.
		{From: bridge.Client, Method: "b/any", Why: "t", HandleClient: func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
			return rpc.Errorf(rpc.CodeInternal, "it was asked itself")
		}},
	}
}

func (*clientImpersonator) Stage() bridge.Stage { return bridge.BeforeGuard }

// handlers has each way to handle a request: it marks b/any, refuses b/no, answers b/here, and
// calls another method in place of b/aside.
type handlers struct{ ended chan error }

func (o handlers) Routes() []bridge.Route {
	route := func(method string, f func(*bridge.ClientMessage) *rpc.Error) bridge.Route {
		return bridge.Route{From: bridge.Client, Method: method, Why: "t", HandleClient: func(_ context.Context, call *bridge.ClientMessage) *rpc.Error { return f(call) }}
	}
	return []bridge.Route{
		route("b/any", func(call *bridge.ClientMessage) *rpc.Error {
			call.Line = bytes.Replace(call.Line, []byte(`"x":1`), []byte(`"x":1,"held":true`), 1)
			call.OnResponse(func(a *bridge.ServerResponse) { a.Line = bytes.Replace(a.Line, []byte(`"r"`), []byte(`"R"`), 1) })
			return nil
		}),
		route("b/no", func(call *bridge.ClientMessage) *rpc.Error {
			call.OnResponse(func(a *bridge.ServerResponse) {
				if a.Envelope == nil {
					o.ended <- errors.New("refused")
				}
			})
			return rpc.WithData(rpc.Errorf(rpc.CodeRefused, "no"), map[string]any{"rule": "r"})
		}),
		route("b/here", func(call *bridge.ClientMessage) *rpc.Error { call.Reply([]byte(`"here"`)); return nil }),
		route("b/aside", func(call *bridge.ClientMessage) *rpc.Error {
			id := call.ID.Clone()
			call.HandleAsync(func(ctx context.Context, aside *bridge.AsyncRequest) {
				m, err := rpc.ParseMessage(append(rpc.EncodeRequest(id, "b/instead", []byte(`{}`)), '\n'))
				if err == nil {
					err = aside.Call(ctx, m, func(a *bridge.ServerResponse) {
						a.Line = bytes.Replace(a.Line, []byte(`"r"`), []byte(`"seen"`), 1)
					})
				}
				if err != nil {
					aside.Reply(rpc.EncodeError(id, err))
				}
			})
			return nil
		}),
	}
}

func (handlers) Stage() bridge.Stage { return bridge.BeforeGuard }

// A request of CallAsClient passes the routes for client messages. Only the caller gets the
// response.
func TestCallAsClient(t *testing.T) {
	o := handlers{make(chan error, 1)}
	c := bridgetest.Start(t, &clientImpersonator{}, o)
	c.Play("request", `
editor> {"id":1,"method":"a/run","params":{"method":"b/any"}}
codex< {"id":"$first","method":"b/any","params":{"x":1,"held":true}}
# The client's own with that id, were it to guess it, is another.
codex> {"id":"$first","result":"r"}
editor< {"id":1,"result":"R"}
editor> {"id":2,"method":"a/run","params":{"method":"b/no"}}
editor< {"id":2,"error":{"code":-32010,"message":"no","data":{"rule":"r"}}}
editor> {"id":3,"method":"a/run","params":{"method":"b/here"}}
editor< {"id":3,"result":"here"}
editor> {"id":4,"method":"a/run","params":{"method":"b/aside"}}
codex< {"id":"$second","method":"b/instead","params":{}}
codex> {"id":"$second","result":"r"}
editor< {"id":4,"result":"seen"}
# One that nobody wants reaches codex, and its answer nobody else.
editor> {"id":5,"method":"a/run","params":{"method":"b/other"}}
codex< {"id":"$third","method":"b/other","params":{"x":1}}
codex> {"id":"$third","error":{"code":-32600,"message":"what?","data":[1]}}
editor< {"id":5,"error":{"code":-32600,"message":"what?","data":[1]}}
`)
	if err := <-o.ended; err == nil {
		t.Error("who waits for an answer is not told that none will come")
	}
}

// Codex ends before its response.
func TestCallAsClientWhenCodexEnds(t *testing.T) {
	c := bridgetest.Start(t, &clientImpersonator{})
	c.Play("end", `
editor> {"id":1,"method":"a/run","params":{"method":"b/other"}}
codex< {"id":"$first","method":"b/other","params":{"x":1}}
`)
	c.CodexEnds()
	c.Play("ended", `
editor< {"id":1,"error":{"code":-32011,"message":"<text>"}}
`)
}

// cancelling calls b/slow until the client sends "enough", and reports the error to it.
type cancelling struct {
	conn   *bridge.Conn
	enough chan struct{}
}

func (i *cancelling) Attach(p *bridge.Conn) { i.conn = p }

func (i *cancelling) Routes() []bridge.Route {
	return []bridge.Route{
		{From: bridge.Client, Method: "a/run", Why: "t", HandleClient: func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
			id := call.ID.Clone()
			call.HandleAsync(func(ctx context.Context, aside *bridge.AsyncRequest) {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				go func() {
					<-i.enough
					cancel()
				}()
				_, err := i.conn.CallAsClient(ctx, "b/slow", map[string]any{})
				aside.Reply(rpc.EncodeError(id, err))
			})
			return nil
		}},
		{From: bridge.Client, Method: "enough", Why: "t", HandleClient: func(context.Context, *bridge.ClientMessage) *rpc.Error {
			close(i.enough)
			return nil
		}},
	}
}

func (*cancelling) Stage() bridge.Stage { return bridge.BeforeGuard }

// The client does not get a response that its caller no longer waits for.
func TestLateResponseOfCallAsClientIsDropped(t *testing.T) {
	c := bridgetest.Start(t, &cancelling{enough: make(chan struct{})})
	c.Play("given up", `
editor> {"id":1,"method":"a/run","params":{}}
codex< {"id":"$slow","method":"b/slow","params":{}}
editor> {"method":"enough"}
codex< {"method":"enough"}
editor< {"id":1,"error":{"code":-32012,"message":"<text>"}}
codex> {"id":"$slow","result":"late"}
editor> {"id":3,"method":"b/other","params":{}}
codex< {"id":3,"method":"b/other","params":{}}
codex> {"id":3,"result":"r"}
editor< {"id":3,"result":"r"}
`)
}
