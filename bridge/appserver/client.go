package appserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"codex-bridge/bridge/child"
	"codex-bridge/rpc"
)

// errClosed is why a call has no answer that was under way at Close.
var errClosed = errors.New("the connection was closed")

// Client is the connection to a server. All methods may be called by any number of
// goroutines at once; Close must be called, and ends all others.
type Client struct {
	opts    Options
	session *child.Session
	queue   chan []byte
	done    chan struct{} // nothing is sent or comes any more
	work    sync.WaitGroup
	slots   chan struct{} // a place for each request of the server's
	ctx     context.Context
	cancel  context.CancelFunc
	detach  func() bool

	mu      sync.Mutex
	reason  error // once over
	n       int64
	pending map[string]chan *rpc.Envelope
}

// Start starts a server. When ctx is done it is killed with what it has started; Close is
// still to be called.
func Start(ctx context.Context, o Options) (*Client, error) {
	o = o.withDefaults()
	session, err := child.Open(o.Command, o.Dir, o.Env, o.Stderr)
	if err != nil {
		return nil, fmt.Errorf("the app-server %q: %w", o.Command, err)
	}
	c := &Client{
		opts: o, session: session, queue: make(chan []byte, maxQueue), done: make(chan struct{}),
		slots: make(chan struct{}, maxServerRequests), pending: make(map[string]chan *rpc.Envelope),
	}
	c.ctx, c.cancel = context.WithCancel(ctx)
	c.detach = context.AfterFunc(ctx, func() {
		c.fail(context.Cause(ctx))
		session.Kill()
	})
	c.work.Go(c.read)
	c.work.Go(c.write)
	return c, nil
}

// Initialize opens the conversation: the request, and the notification that follows its
// answer.
func (c *Client) Initialize(ctx context.Context, params any) (rpc.Value, error) {
	result, err := c.Call(ctx, "initialize", params)
	if err != nil {
		return rpc.Value{}, err
	}
	return result, c.Notify(ctx, "initialized", nil)
}

// Call asks the server. A call that it refuses is a *rpc.Error with the server's code and
// data; every other error says why there is no answer.
func (c *Client) Call(ctx context.Context, method string, params any) (rpc.Value, error) {
	raw, err := encode(params)
	if err != nil {
		return rpc.Value{}, fmt.Errorf("%s: %w", method, err)
	}
	id, response := c.register()
	defer c.unregister(id)
	if err := c.send(ctx, rpc.EncodeRequest(id, method, raw)); err != nil {
		return rpc.Value{}, fmt.Errorf("%s: %w", method, err)
	}
	select {
	case e := <-response:
		return parseResult(e)
	case <-c.done:
		select {
		case e := <-response: // it was the last that came
			return parseResult(e)
		default:
			return rpc.Value{}, fmt.Errorf("no answer to %s: %w", method, c.Err())
		}
	case <-ctx.Done():
		return rpc.Value{}, fmt.Errorf("no answer to %s: %w", method, context.Cause(ctx))
	}
}

// Notify tells the server something.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	raw, err := encode(params)
	if err == nil {
		err = c.send(ctx, rpc.EncodeRequest(rpc.ID{}, method, raw))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// Done is closed when the server answers no more.
func (c *Client) Done() <-chan struct{} { return c.done }

// How is how the server ended, such as "exit status 1"; call it after Close.
func (c *Client) Status() string { return c.session.Status() }

// Close ends the server with what it has started: end of input, then a signal to
// terminate, then the end of all; without politeness when ctx is done. It waits for
// handlers that run, whose ctx has ended. The error is that something can't be ended.
func (c *Client) Close(ctx context.Context) error {
	c.fail(errClosed)
	err := c.session.End(ctx, c.opts.Grace)
	c.detach()
	c.cancel()
	c.work.Wait()
	return err
}

// end notes why nothing comes any more, and tells whether it was not over yet.
func (c *Client) fail(reason error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reason != nil {
		return false
	}
	c.reason = reason
	close(c.done)
	c.cancel()
	return true
}

// Err returns the reason why the connection has ended, or nil.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason
}

func (c *Client) register() (rpc.ID, <-chan *rpc.Envelope) {
	response := make(chan *rpc.Envelope, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	id := rpc.NewStringID(strconv.FormatInt(c.n, 10))
	c.pending[id.Key()] = response
	return id, response
}

func (c *Client) unregister(id rpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id.Key())
}

func (c *Client) send(ctx context.Context, line []byte) error {
	select {
	case <-c.done:
		return c.Err()
	default:
	}
	select {
	case c.queue <- append(line, '\n'):
		return nil
	case <-c.done:
		return c.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// write writes what is in line. A server that has closed its input may still say why on its
// output, so that is not the end.
func (c *Client) write() {
	for {
		select {
		case line := <-c.queue:
			if _, err := c.session.Write(line); err != nil {
				return
			}
		case <-c.done:
			return
		}
	}
}

// encode is params as JSON; nil are none.
func encode(params any) (json.RawMessage, error) {
	if params == nil {
		return nil, nil
	}
	return json.Marshal(params)
}
