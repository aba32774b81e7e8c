package child

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"codex-bridge.example/rpc"
)

// maxExitWait is how long the client waits, after a server has closed its output, for its exit
// status.
const maxExitWait = time.Second

// errTooLong means that a message is longer than ClientOptions.MaxLine.
var errTooLong = errors.New("it sent a message that is too long")

// read reads messages to the end of the output. It goes on after the end of the connection, since a
// server with a full pipe would not exit.
func (c *Client) read() {
	lines := bufio.NewReaderSize(c.session, 64<<10)
	for c.Err() == nil {
		line, err := readLine(lines, c.opts.MaxLine)
		if err == nil {
			err = c.handle(line)
		}
		if err != nil && c.fail(c.exitError(err)) {
			c.session.Kill()
		}
	}
	_, _ = io.Copy(io.Discard, lines)
}

// readLine returns a copy of the next line that is not blank.
func readLine(lines *bufio.Reader, maxLen int) ([]byte, error) {
	for {
		var line []byte
		for {
			part, err := lines.ReadSlice('\n')
			if line = append(line, part...); len(line) > maxLen {
				return nil, fmt.Errorf("%w: more than %d bytes", errTooLong, maxLen)
			}
			if err == nil {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				return nil, err // also for an incomplete last line
			}
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// handle handles a line. An error ends the connection: a line that can't be read may have been a
// response.
func (c *Client) handle(line []byte) error {
	e, err := rpc.ParseEnvelope(line)
	switch {
	case err != nil:
		return fmt.Errorf("it sent an invalid message: %w", err)
	case e.Truncated():
		return errTooLong
	case e.Method == "":
		c.mu.Lock()
		defer c.mu.Unlock()
		if response, ok := c.pending[e.ID.Key()]; ok {
			delete(c.pending, e.ID.Key())
			response <- e
		}
		return nil
	}
	m := &Message{Method: e.Method, Params: e.Root().Get("params"), id: e.ID}
	if !m.IsRequest() {
		c.opts.Handle(c.ctx, m)
		return nil
	}
	m.send = func(line []byte) error { return c.send(c.ctx, line) }
	select {
	case c.slots <- struct{}{}:
	default:
		return fmt.Errorf("it has more than %d pending requests", maxServerRequests)
	}
	c.work.Go(func() {
		defer func() { <-c.slots }()
		c.opts.Handle(c.ctx, m)
		_ = m.Refuse(rpc.Errorf(rpc.CodeUnknownMethod, "%s is not supported", m.Method)) // has no effect after a reply
	})
	return nil
}

// exitError returns err or, at the end of the output, how the server ended.
func (c *Client) exitError(err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	late := time.NewTimer(maxExitWait)
	defer late.Stop()
	select {
	case <-c.session.Exited():
		return fmt.Errorf("the app-server has ended, %s", c.session.Status())
	case <-late.C:
		return errors.New("the app-server closed its output")
	}
}

// parseResult returns the result or the error of a response.
func parseResult(e *rpc.Envelope) (rpc.Value, error) {
	failed := e.Root().Get("error")
	if !failed.Exists() {
		return e.Root().Get("result"), nil
	}
	code, err := strconv.ParseInt(string(failed.Get("code").Raw()), 10, 32)
	if err != nil {
		code = int64(rpc.CodeInternal)
	}
	text, _ := failed.Get("message").Text()
	refused := rpc.Errorf(rpc.Code(code), "%s", text)
	if data := failed.Get("data"); data.Exists() {
		refused.Data = data.Raw()
	}
	return rpc.Value{}, refused
}

// ErrAnswered means that a request has been answered before.
var ErrAnswered = errors.New("the request has been answered already")

// Message is a request or notification of the server. It stays valid after Handle.
type Message struct {
	Method string
	Params rpc.Value

	id   rpc.ID
	send func(line []byte) error

	mu       sync.Mutex
	answered bool
}

// IsRequest reports whether the server waits for a response.
func (m *Message) IsRequest() bool { return m.id.IsValid() }

// Reply answers a request with a result. Later answers return ErrAnswered.
func (m *Message) Reply(result any) error {
	raw, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return m.reply(rpc.EncodeResult(m.id, raw))
}

// Refuse answers a request with an error, an *rpc.Error or any other. Later answers return
// ErrAnswered.
func (m *Message) Refuse(err error) error { return m.reply(rpc.EncodeError(m.id, err)) }

func (m *Message) reply(line []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.answered || !m.IsRequest() {
		return ErrAnswered
	}
	m.answered = true
	return m.send(line)
}
