package appserver

import (
	"context"
	"io"
	"time"
)

const (
	maxLine           = 64 << 20 // bytes of a message, unless Options say otherwise
	maxServerRequests = 256      // requests of the server's that wait for an answer
	maxQueue          = 64       // lines that wait to be written
	grace             = 2 * time.Second
)

// Options say which server is started, and who hears it.
type Options struct {
	Command []string
	Dir     string
	Env     []string      // the whole environment
	Stderr  io.Writer     // what the server writes there; nil: nobody reads it
	Grace   time.Duration // how long each step of the server's end may take; 0: two seconds
	MaxLine int           // bytes of a message of the server's; 0: 64 MiB
	// Handle gets the server's requests and notifications. A request that it leaves without
	// an answer is declined with -32601. It must not call the server from a notification:
	// nothing is read meanwhile. ctx ends with the connection.
	Handle func(ctx context.Context, m *Message)
}

func (o Options) withDefaults() Options {
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	if o.Grace <= 0 {
		o.Grace = grace
	}
	if o.MaxLine <= 0 {
		o.MaxLine = maxLine
	}
	if o.Handle == nil {
		o.Handle = func(context.Context, *Message) {}
	}
	return o
}
