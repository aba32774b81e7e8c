package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"codex-bridge/bridge/child"
)

const (
	maxMessage = 64 << 20 // bytes of a message
	maxUnread  = 64 << 20 // of what a server leaves unread
	farewell   = 500 * time.Millisecond
)

// conn is a child with which messages are exchanged, a line each. It is a
// channel.Channel of jrpc2. Recv may be called by one goroutine at a time, the other
// methods by any number.
//
// A line that is no JSON object is no message: servers print such things to stdout,
// and those who speak with them skip it.
type conn struct {
	session *child.Session
	stderr  *stderr
	lines   *bufio.Reader
	log     *slog.Logger
	over    chan struct{} // nothing comes any more

	mu      sync.Mutex
	reason  error // once over
	fault   error // why it had to be killed
	closing bool
	queue   [][]byte
	queued  int
	more    chan struct{} // there is something in queue
	skipped int
	last    string // of what was skipped
}

// open starts the server's program.
func (s *Server) open() (*conn, error) {
	words := &stderr{log: s.o.Log}
	session, err := child.Open(s.o.Config.Command, s.o.Dir, s.o.Env, words)
	if err != nil {
		return nil, err
	}
	c := &conn{
		session: session, stderr: words, lines: bufio.NewReaderSize(session, 64<<10), log: s.o.Log,
		over: make(chan struct{}), more: make(chan struct{}, 1),
	}
	go c.write()
	return c, nil
}

// Send puts a message in line, and never waits for the child: jrpc2 holds its lock
// meanwhile, under which it also ends calls whose time is up. A child that leaves too
// much unread is ended.
func (c *conn) Send(message []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reason != nil || c.closing {
		return io.ErrClosedPipe
	}
	if c.queued += len(message) + 1; c.queued > maxUnread {
		c.fault = fmt.Errorf("it leaves more than %d bytes unread", maxUnread)
		c.session.Kill()
		return c.fault
	}
	line := make([]byte, len(message)+1)
	line[copy(line, message)] = '\n'
	c.queue = append(c.queue, line)
	select {
	case c.more <- struct{}{}:
	default:
	}
	return nil
}

// write writes what is in line until the connection is over.
func (c *conn) write() {
	for {
		select {
		case <-c.more:
		case <-c.over:
			return
		}
		for {
			c.mu.Lock()
			if len(c.queue) == 0 {
				c.mu.Unlock()
				break
			}
			line := c.queue[0]
			c.queue = c.queue[1:]
			c.mu.Unlock()
			if _, err := c.session.Write(line); err != nil {
				return // it has closed its input; whether it still answers is for Recv to find out
			}
			c.mu.Lock()
			c.queued -= len(line)
			c.mu.Unlock()
		}
	}
}

// Recv gives the next message. An error is the reason why there is none any more.
func (c *conn) Recv() ([]byte, error) {
	message, err := c.next()
	if err != nil {
		c.end(err)
		return nil, c.why()
	}
	return message, nil
}

func (c *conn) next() ([]byte, error) {
	for {
		line, err := c.line()
		if err != nil {
			return nil, err
		}
		if len(line) > 0 && line[0] == '{' && json.Valid(line) {
			return line, nil
		}
		c.skip(line)
	}
}

// line reads a line, without blanks around it. Of one that can't be a message only the
// beginning is kept.
func (c *conn) line() ([]byte, error) {
	var line []byte
	length := 0
	for {
		part, err := c.lines.ReadSlice('\n')
		if length == 0 {
			part = bytes.TrimLeft(part, " \t\r")
		}
		if keep := len(line)+len(part) <= maxLogged; keep || line == nil || line[0] == '{' {
			line = append(line, part...)
		}
		if length += len(part); length > maxMessage && line[0] == '{' {
			return nil, fmt.Errorf("it sent a message of more than %d bytes", maxMessage)
		}
		switch {
		case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
			return bytes.TrimRight(line, " \t\r\n"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// skip notes a line that is no message.
func (c *conn) skip(line []byte) {
	if len(line) == 0 {
		return
	}
	text := strings.ToValidUTF8(clip(string(line[:min(len(line), maxLogged)]), maxLogged), "\uFFFD")
	c.log.Debug("a tool server wrote what is no message", "line", text)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skipped++
	c.last = clip(text, 200)
}

// noise tells of what was skipped, ready to follow another text.
func (c *conn) noise() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.skipped == 0 {
		return ""
	}
	return fmt.Sprintf("; lines on its stdout that are no messages: %d, the last of them %q", c.skipped, c.last)
}

// end notes why nothing comes any more. A server that can't answer is of no use: when
// it does not end by itself, it is ended.
func (c *conn) end(err error) {
	how := err.Error()
	if errors.Is(err, io.EOF) {
		how = "it closed its stdout"
		if c.exits() {
			how = "it has ended, " + c.session.Status()
		}
	}
	c.session.Kill()
	c.exits()
	said, noise := c.stderr.said(), c.noise()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.reason != nil:
		return
	case c.closing:
		c.reason = errClosed
	case c.fault != nil:
		c.reason = fmt.Errorf("%w%s%s", c.fault, said, noise)
	default:
		c.reason = errors.New(how + said + noise)
	}
	close(c.over)
}

// exits waits a little for the child's end, and tells whether it came.
func (c *conn) exits() bool {
	timer := time.NewTimer(farewell)
	defer timer.Stop()
	select {
	case <-c.session.Exited():
		return true
	case <-timer.C:
		return false
	}
}

func (c *conn) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason
}

// Close ends the child at once. It is for the protocols' packages, which call it when
// they have lost the connection.
func (c *conn) Close() error {
	c.session.Kill()
	return nil
}

// finish ends the child politely, and waits.
func (c *conn) finish(ctx context.Context, grace time.Duration) {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	if err := c.session.End(ctx, grace); err != nil {
		c.log.Warn("a tool server is left", "error", err)
	}
}
