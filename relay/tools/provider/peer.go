package provider

import (
	"context"

	"codex-bridge.example/relay/tools"
)

// peer is a connected server of any protocol.
type peer interface {
	// list returns the server's tools.
	list(ctx context.Context) (toolList, error)
	// call runs a tool by the server's name for it.
	call(ctx context.Context, name string, call tools.Call) (tools.Result, error)
	// changed receives a value when the server reports changed tools.
	changed() <-chan struct{}
	// done is closed when the connection has ended.
	done() <-chan struct{}
	// err returns why it has ended; only after done.
	err() error
	// close ends the connection, and the server if it is a child. It does so at once when
	// ctx is done.
	close(ctx context.Context)
}

// dialer returns the function that connects to the configured server.
func (s *Server) dialer() func(context.Context) (peer, error) {
	c := s.options.Config
	switch {
	case c.URL != "":
		return func(ctx context.Context) (peer, error) { return s.connectMCP(ctx, s.openHTTP) }
	case c.Protocol == "jsonrpc":
		return s.openJSONRPC
	}
	return func(ctx context.Context) (peer, error) { return s.connectMCP(ctx, s.openStdio) }
}
