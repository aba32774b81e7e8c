package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"codex-bridge.example/rpc"
)

const (
	maxLine           = 64 << 20 // bytes of a message; default of ClientOptions.MaxLine
	maxServerRequests = 256      // pending requests of the server
	maxQueue          = 64       // queued lines
	grace             = 2 * time.Second
)

// ClientOptions configure a server and its connection.
type ClientOptions struct {
	Command []string
	Dir     string
	Env     []string      // the whole environment
	Stderr  io.Writer     // gets the server's stderr; nil discards it
	Grace   time.Duration // time for each step of Close; 0 means 2 s
	MaxLine int           // maximum bytes of a message of the server; 0 means 64 MiB
	// Handle gets the server's requests and notifications. A request without an answer gets error
	// -32601. Handle must not call the server during a notification, since no response is read
	// then. ctx ends with the connection.
	Handle func(ctx context.Context, m *Message)
}

func (o ClientOptions) withDefaults() ClientOptions {
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

// errClosed is the reason of calls that are pending at Close.
var errClosed = errors.New("the connection was closed")

// Client is the connection to a server. All methods may be called concurrently. Close must be
// called; it ends the other calls.
type Client struct {
	opts    ClientOptions
	session *Session
	queue   chan []byte
	done    chan struct{} // closed when the connection has ended
	work    sync.WaitGroup
	slots   chan struct{} // one for each pending request of the server
	ctx     context.Context
	cancel  context.CancelFunc
	detach  func() bool

	mu      sync.Mutex
	reason  error // why the connection has ended, or nil
	n       int64
	pending map[string]chan *rpc.Envelope
}

// Connect starts a server. When ctx is done the server and its descendants are killed; Close must
// still be called.
func Connect(ctx context.Context, o ClientOptions) (*Client, error) {
	o = o.withDefaults()
	session, err := Open(o.Command, o.Dir, o.Env, o.Stderr)
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

// Initialize sends the initialize request, and the notification initialized after its response.
func (c *Client) Initialize(ctx context.Context, params any) (rpc.Value, error) {
	result, err := c.Call(ctx, "initialize", params)
	if err != nil {
		return rpc.Value{}, err
	}
	return result, c.Notify(ctx, "initialized", nil)
}

// Call sends a request and waits for the response. If the server returns an error, it is an
// *rpc.Error with the server's code and data. Any other error states why there is no response.
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
		case e := <-response: // the last one before the end
			return parseResult(e)
		default:
			return rpc.Value{}, fmt.Errorf("no answer to %s: %w", method, c.Err())
		}
	case <-ctx.Done():
		return rpc.Value{}, fmt.Errorf("no answer to %s: %w", method, context.Cause(ctx))
	}
}

// Notify sends a notification to the server.
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

// Done returns a channel that is closed when the connection has ended.
func (c *Client) Done() <-chan struct{} { return c.done }

// ExitCode returns the exit code of the server; -1 if a signal ended it. Call it after Close.
func (c *Client) ExitCode() int { return c.session.ExitCode() }

// Close ends the server and its descendants: it closes stdin, sends a signal to terminate, and
// kills them, each after ClientOptions.Grace, or at once when ctx is done. It cancels the ctx of
// running handlers and waits for them. The error says that a process can't be killed.
func (c *Client) Close(ctx context.Context) error {
	c.fail(errClosed)
	err := c.session.End(ctx, c.opts.Grace)
	c.detach()
	c.cancel()
	c.work.Wait()
	return err
}

// fail ends the connection with a reason. It returns false if it has ended before.
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

// write writes the queued lines. After a write error it returns without ending the connection: the
// server may still write the reason to its output.
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

// encode returns params as JSON; nil for nil.
func encode(params any) (json.RawMessage, error) {
	if params == nil {
		return nil, nil
	}
	return json.Marshal(params)
}
