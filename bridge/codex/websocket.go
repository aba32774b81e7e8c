package codex

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/coder/websocket"
)

// maxFrame is the largest part of a message in bytes that is sent in one frame. The answer to a ping waits
// for the frame that is being written.
const maxFrame = 64 << 10

// WebSocketOptions configure a WebSocket.
type WebSocketOptions struct {
	BinaryEnds bool          // a binary message is the end of the peer's messages; else it is ignored, as by Codex
	Stall      time.Duration // how long the peer may leave a message unread; 0: without limit
	OnStall    func()        // called before the connection ends for that reason
}

// WebSocket is a WebSocket connection as a stream of lines: each text message is one line, of any
// length. It takes one reader and one writer at a time. The other methods may be called concurrently.
type WebSocket struct {
	*websocket.Conn
	options WebSocketOptions
	message io.Reader      // that is being read; nil between messages
	line    io.WriteCloser // that has no end yet; nil between lines
	stall   *time.Timer    // ends the connection
}

// NewWebSocket returns a connection as a stream of lines. The caller closes it.
func NewWebSocket(conn *websocket.Conn, o WebSocketOptions) *WebSocket {
	conn.SetReadLimit(-1) // who reads the lines limits them
	s := &WebSocket{Conn: conn, options: o}
	if o.Stall > 0 {
		s.stall = time.AfterFunc(o.Stall, func() {
			o.OnStall()
			_ = conn.CloseNow()
		})
		s.stall.Stop()
	}
	return s
}

// Read returns messages with a line end after each. Line ends within a message are white space of JSON,
// or an error within a text. They become spaces, so that they are neither a second line nor read in two
// ways. The end of the connection is io.EOF, within a message io.ErrUnexpectedEOF.
func (s *WebSocket) Read(b []byte) (int, error) {
	for len(b) > 0 {
		if s.message == nil {
			kind, message, err := s.Reader(context.Background())
			if err != nil || kind == websocket.MessageBinary && s.options.BinaryEnds {
				return 0, io.EOF
			}
			if kind != websocket.MessageText {
				_, _ = io.Copy(io.Discard, message) // an error comes again with the next message
				continue
			}
			s.message = message
		}
		n, err := s.message.Read(b)
		for i, c := range b[:n] {
			if c == '\n' || c == '\r' {
				b[i] = ' '
			}
		}
		switch {
		case errors.Is(err, io.EOF) && n < len(b):
			s.message = nil
			b[n] = '\n'
			return n + 1, nil
		case err != nil && !errors.Is(err, io.EOF):
			return n, io.ErrUnexpectedEOF
		case n > 0:
			return n, nil
		}
	}
	return 0, nil
}

// Write sends each line as one message. A line may take several calls.
func (s *WebSocket) Write(lines []byte) (n int, err error) {
	for part := range bytes.Lines(lines) {
		if err := s.write(part); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}

// write sends a line, or a part of one.
func (s *WebSocket) write(part []byte) (err error) {
	if s.stall != nil {
		s.stall.Reset(s.options.Stall)
		defer s.stall.Stop()
	}
	ctx := context.Background()
	text, whole := bytes.CutSuffix(part, []byte("\n"))
	if s.line == nil && whole && len(text) <= maxFrame {
		return s.Conn.Write(ctx, websocket.MessageText, text)
	}
	if s.line == nil {
		if s.line, err = s.Writer(ctx, websocket.MessageText); err != nil {
			return err
		}
	}
	for len(text) > 0 {
		n := min(len(text), maxFrame)
		if _, err := s.line.Write(text[:n]); err != nil {
			return err
		}
		text = text[n:]
	}
	if whole {
		err, s.line = s.line.Close(), nil
	}
	return err
}

// Close ends the connection at once.
func (s *WebSocket) Close() error { return s.CloseNow() }
