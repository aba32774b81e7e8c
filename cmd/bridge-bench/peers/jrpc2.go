package main

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
)

// proxyJRPC2 is a server for the client and a client of Codex.
func proxyJRPC2(client, codex *pipe) error {
	var server atomic.Pointer[jrpc2.Server]
	ready := make(chan struct{})
	up := jrpc2.NewClient(strict{channel.Line(codex, codex)}, &jrpc2.ClientOptions{
		OnNotify: func(said *jrpc2.Request) {
			<-ready
			_ = server.Load().Notify(context.Background(), said.Method(), raw(said)) // fails only if the client has disconnected
		},
		OnCallback: func(ctx context.Context, said *jrpc2.Request) (any, error) {
			<-ready
			return result(server.Load().Callback(ctx, said.Method(), raw(said)))
		},
	})
	s := jrpc2.NewServer(everything{up}, &jrpc2.ServerOptions{AllowPush: true, DisableBuiltin: true, Concurrency: 64})
	server.Store(s)
	close(ready)
	s.Start(strict{channel.Line(client, client)})
	return errors.Join(s.Wait(), up.Close())
}

// everything has one handler for all methods.
type everything struct{ up *jrpc2.Client }

// Assign implements jrpc2.Assigner.
func (e everything) Assign(context.Context, string) jrpc2.Handler { return e.pass }

func (e everything) pass(ctx context.Context, said *jrpc2.Request) (any, error) {
	if said.IsNotification() {
		return nil, e.up.Notify(ctx, said.Method(), raw(said))
	}
	return result(e.up.Call(ctx, said.Method(), raw(said)))
}

// raw returns the parameters of a message; nil without any.
func raw(said *jrpc2.Request) any {
	if !said.HasParams() {
		return nil
	}
	return json.RawMessage(said.ParamString())
}

func result(answer *jrpc2.Response, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	var value json.RawMessage
	return value, answer.UnmarshalResult(&value)
}
