package provider

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"

	"codex-bridge.example/relay/tools"
)

// Fake is a server without a process, for tests with a fake clock.
type Fake struct {
	Tools []string
	Gone  chan struct{} // closed when it dies
}

// NewFake returns a Server that dial starts.
func NewFake(o ServerOptions, dial func(context.Context) (*Fake, error)) *Server {
	s := NewServer(o)
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

func (f fake) list(context.Context) (toolList, error) {
	var list []listedTool
	for _, name := range f.Tools {
		list = append(list, listedTool{Name: name})
	}
	return f.s.newToolList(list), nil
}

func (f fake) call(context.Context, string, tools.Call) (tools.Result, error) {
	return tools.Result{Content: []tools.Content{{Text: "called"}}}, nil
}

func (f fake) changed() <-chan struct{} { return nil }
func (f fake) done() <-chan struct{}    { return f.Gone }
func (f fake) err() error               { return errors.New("it has died") }
func (f fake) close(context.Context)    {}

// Messages returns the messages in a child's stdout, read in pieces of size bytes.
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
