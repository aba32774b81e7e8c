package server

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"

	"codex-bridge/relay/tools"
)

// Fake is a server that is no process, so that a test can have time pass.
type Fake struct {
	Tools []string
	Gone  chan struct{} // closed when it dies
}

// NewFake makes a Server whose starts are dial's.
func NewFake(o Options, dial func(context.Context) (*Fake, error)) *Server {
	s := New(o)
	s.dial = func(ctx context.Context) (peer, error) {
		f, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		return fake{s, f}, nil
	}
	return s
}

type fake struct {
	s *Server
	*Fake
}

func (f fake) list(context.Context) (offer, error) {
	var list []listed
	for _, name := range f.Tools {
		list = append(list, listed{Name: name})
	}
	return f.s.take(list), nil
}

func (f fake) call(context.Context, string, tools.Call) (tools.Result, error) {
	return tools.Result{Content: []tools.Content{{Text: "called"}}}, nil
}

func (f fake) changed() <-chan struct{} { return nil }
func (f fake) gone() <-chan struct{}    { return f.Gone }
func (f fake) reason() error            { return errors.New("it has died") }
func (f fake) close(context.Context)    {}

// Messages are those that a child's stdout has, read in pieces of size bytes.
func Messages(stdout io.Reader, size int) []string {
	var all []string
	c := &conn{lines: bufio.NewReaderSize(stdout, size), log: slog.New(slog.DiscardHandler)}
	for {
		message, err := c.next()
		if err != nil {
			return all
		}
		all = append(all, string(message))
	}
}
