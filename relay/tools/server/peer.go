package server

import (
	"context"

	"codex-bridge/relay/tools"
)

// peer is a server that runs, by whatever protocol.
type peer interface {
	// list asks for the tools.
	list(ctx context.Context) (offer, error)
	// call runs a tool by the server's own name for it.
	call(ctx context.Context, name string, call tools.Call) (tools.Result, error)
	// changed gets a value when the tools are said to be others.
	changed() <-chan struct{}
	// gone is closed when nothing can be asked any more.
	gone() <-chan struct{}
	// reason is why it is gone.
	reason() error
	// close ends the server, if it is ours, and the connection. When ctx is done it
	// does so at once.
	close(ctx context.Context)
}
