package bridge_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"codex-bridge/bridge"
	"codex-bridge/bridge/bridgetest"
	"codex-bridge/rpc"
)

// speaks asks b/any in words of its own when the client asks a/run, and tells the client
// what came of it.
type speaks struct{ peer *bridge.Conn }

func (s *speaks) Attach(p *bridge.Conn) { s.peer = p }

func (s *speaks) Routes() []bridge.Route {
	return []bridge.Route{
		{From: bridge.Client, Method: "a/run", Why: "t", HandleClient: func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
			id := call.ID.Clone()
			method, _ := call.Params.Get("method").Text()
			call.HandleAsync(func(ctx context.Context, aside *bridge.AsyncRequest) {
				result, err := s.peer.CallAsClient(ctx, method, map[string]any{"x": 1})
				if err != nil {
					aside.Reply(rpc.EncodeError(id, err))
					return
				}
				aside.Reply(rpc.EncodeResult(id, result.Raw()))
			})
			return nil
		}},
		// It does not see its own.
		{From: bridge.Client, Method: "b/any", Why: "t", HandleClient: func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
			return rpc.Errorf(rpc.CodeInternal, "it was asked itself")
		}},
	}
}

// others are the ways a feature has with a request: it marks b/any, refuses b/no, answers
// b/here, and asks something else in place of b/aside.
type others struct{ ended chan error }

func (o others) Routes() []bridge.Route {
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

// A request of the bridge's own goes the way of the client's, and the answer to nobody but
// who has asked.
func TestRequest(t *testing.T) {
	o := others{make(chan error, 1)}
	c := bridgetest.Start(t, &speaks{}, o)
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

// Codex ends before it has answered.
func TestRequestAtTheEnd(t *testing.T) {
	c := bridgetest.Start(t, &speaks{})
	c.Play("end", `
editor> {"id":1,"method":"a/run","params":{"method":"b/other"}}
codex< {"id":"$first","method":"b/other","params":{"x":1}}
`)
	c.CodexEnds()
	c.Play("ended", `
editor< {"id":1,"error":{"code":-32011,"message":"<text>"}}
`)
}

// impatient asks b/slow until the client says "enough", and tells it.
type impatient struct {
	peer   *bridge.Conn
	enough chan struct{}
}

func (i *impatient) Attach(p *bridge.Conn) { i.peer = p }

func (i *impatient) Routes() []bridge.Route {
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
				_, err := i.peer.CallAsClient(ctx, "b/slow", map[string]any{})
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

// An answer that nobody waits for any more is the client's as little as before.
func TestRequestGivenUp(t *testing.T) {
	c := bridgetest.Start(t, &impatient{enough: make(chan struct{})})
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
