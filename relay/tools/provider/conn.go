package provider

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

	"codex-bridge.example/bridge/child"
	"codex-bridge.example/bridge/display"
)

const (
	maxMessage = 64 << 20 // bytes of one message
	maxUnread  = 64 << 20 // bytes that a server has not read
	exitWait   = 500 * time.Millisecond
)

// conn exchanges messages with a child, one per line. It is a channel.Channel of jrpc2.
// Only one goroutine at a time may call Recv; the other methods may be called by any.
//
// A line that is not a JSON object is skipped, because servers print other texts to stdout.
type conn struct {
	session *child.Session
	stderr  *stderrLog
	lines   *bufio.Reader
	log     *slog.Logger
	done    chan struct{} // closed when no message will come any more

	mu          sync.Mutex
	err         error // set before done is closed
	killReason  error // why the child was killed
	closing     bool
	queue       [][]byte
	queued      int
	hasQueued   chan struct{} // signals a message in queue
	skipped     int
	lastSkipped string // the last skipped line
}

// startProcess starts the server's program.
func (s *Server) startProcess() (*conn, error) {
	words := &stderrLog{log: s.options.Log}
	session, err := child.Open(s.options.Config.Command, s.options.Dir, s.options.Env, words)
	if err != nil {
		return nil, err
	}
	c := &conn{
		session: session, stderr: words, lines: bufio.NewReaderSize(session, 64<<10), log: s.options.Log,
		done: make(chan struct{}), hasQueued: make(chan struct{}, 1),
	}
	go c.writeLoop()
	return c, nil
}

// Send queues a message and never waits for the child, because jrpc2 holds a lock meanwhile
// that timeouts need. A child that leaves too much unread is killed.
func (c *conn) Send(message []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || c.closing {
		return io.ErrClosedPipe
	}
	if c.queued += len(message) + 1; c.queued > maxUnread {
		c.killReason = fmt.Errorf("it leaves more than %d bytes unread", maxUnread)
		c.session.Kill()
		return c.killReason
	}
	line := make([]byte, len(message)+1)
	line[copy(line, message)] = '\n'
	c.queue = append(c.queue, line)
	select {
	case c.hasQueued <- struct{}{}:
	default:
	}
	return nil
}

// writeLoop writes queued messages until the connection has ended.
func (c *conn) writeLoop() {
	for {
		select {
		case <-c.hasQueued:
		case <-c.done:
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
				return // the child closed stdin; Recv finds out whether it still answers
			}
			c.mu.Lock()
			c.queued -= len(line)
			c.mu.Unlock()
		}
	}
}

// Recv returns the next message, or the reason why there will be none.
func (c *conn) Recv() ([]byte, error) {
	message, err := c.next()
	if err != nil {
		c.setEnded(err)
		return nil, c.closeErr()
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

// line reads a line and trims it. It keeps only the start of a line that can't be a
// message.
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

// skip records a line that is not a message.
func (c *conn) skip(line []byte) {
	if len(line) == 0 {
		return
	}
	text := strings.ToValidUTF8(display.ClipTo(string(line[:min(len(line), maxLogged)]), maxLogged), "\uFFFD")
	c.log.Debug("a tool server wrote a line that is not a message", "line", text)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skipped++
	c.lastSkipped = display.ClipTo(text, 200)
}

// skippedNote describes the skipped lines, to be appended to an error.
func (c *conn) skippedNote() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.skipped == 0 {
		return ""
	}
	return fmt.Sprintf("; lines on stdout that are not messages: %d, the last: %q", c.skipped, c.lastSkipped)
}

// setEnded records why no message will come any more, and kills the child if it does not
// exit.
func (c *conn) setEnded(err error) {
	how := err.Error()
	if errors.Is(err, io.EOF) {
		how = "it closed its stdout"
		if c.waitForExit() {
			how = "it has ended, " + c.session.Status()
		}
	}
	c.session.Kill()
	c.waitForExit()
	said, noise := c.stderr.note(), c.skippedNote()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
		return
	case c.closing:
		c.err = errClosed
	case c.killReason != nil:
		c.err = fmt.Errorf("%w%s%s", c.killReason, said, noise)
	default:
		c.err = errors.New(how + said + noise)
	}
	close(c.done)
}

// waitForExit waits exitWait for the child and reports whether it exited.
func (c *conn) waitForExit() bool {
	timer := time.NewTimer(exitWait)
	defer timer.Stop()
	select {
	case <-c.session.Exited():
		return true
	case <-timer.C:
		return false
	}
}

func (c *conn) closeErr() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close kills the child. The protocol packages call it after a lost connection.
func (c *conn) Close() error {
	c.session.Kill()
	return nil
}

// shutdown closes the child's stdin, ends it, and waits.
func (c *conn) shutdown(ctx context.Context, grace time.Duration) {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	if err := c.session.End(ctx, grace); err != nil {
		c.log.Warn("a tool server did not end", "error", err)
	}
}
