package appserver

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"codex-bridge/rpc"
)

// farewell is how long the end of a server is waited for that has closed its output, to
// tell how it ended.
const maxExitWait = time.Second

// errTooLong says that a message is longer than Options.MaxLine.
var errTooLong = errors.New("it sent a message that is too long")

// read hears the server out, also when the connection is over: who can't write does not
// end.
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

// next is the next line that is not blank, in memory of its own.
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
				return nil, err // a last line without an end was cut off
			}
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// heard hands a message on. An error is the end: what can't be read may have been an
// answer.
func (c *Client) handle(line []byte) error {
	e, err := rpc.ParseEnvelope(line)
	switch {
	case err != nil:
		return fmt.Errorf("it sent what is no message: %w", err)
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
		return fmt.Errorf("it asks for more than %d things at once", maxServerRequests)
	}
	c.work.Go(func() {
		defer func() { <-c.slots }()
		c.opts.Handle(c.ctx, m)
		_ = m.Refuse(rpc.Errorf(rpc.CodeUnknownMethod, "%s is not answered here", m.Method)) // unless it has been answered, or nobody hears it
	})
	return nil
}

// ended says of the end of the output how the server ended.
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

// result is what an answer brings.
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
