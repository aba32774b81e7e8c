package main

import (
	"context"
	"errors"

	"go.lsp.dev/jsonrpc2"
)

// proxyJSONRPC2 has a connection to each side. It forwards messages in their order, and a response
// when the other side responded.
func proxyJSONRPC2(client, codex *pipe) error {
	ctx := context.Background()
	toClient := jsonrpc2.NewConn(jsonrpc2.NewNDJSONStream(&versioned{pipe: client}))
	toCodex := jsonrpc2.NewConn(jsonrpc2.NewNDJSONStream(&versioned{pipe: codex}))
	toClient.Go(ctx, passTo(toCodex))
	toCodex.Go(ctx, passTo(toClient))
	return both(
		func() error { <-toClient.Done(); return errors.Join(toClient.Err(), codex.Close()) },
		func() error { <-toCodex.Done(); return toCodex.Err() })
}

func passTo(other jsonrpc2.Conn) jsonrpc2.Handler {
	return func(ctx context.Context, said *jsonrpc2.Request) (any, error) {
		if !said.IsCall() {
			return nil, other.Notify(ctx, said.Method(), params(said))
		}
		jsonrpc2.Async(ctx) // from here on it reads the next message
		var result jsonrpc2.RawMessage
		_, err := other.Call(ctx, said.Method(), params(said), &result)
		return result, err
	}
}

// params returns nil without parameters: RawMessage(nil) would be encoded as null.
func params(said *jsonrpc2.Request) any {
	if said.Params() == nil {
		return nil
	}
	return said.Params()
}
