package rpc

import (
	"io"
	"sync"

	"github.com/creachadair/jrpc2/channel"
)

// Sink takes messages for the client, from any goroutine. Each message arrives
// with one write, as Codex writes them: there are clients that do not join
// partial lines. After a failed write a Sink is dead and swallows what it gets.
// Run, Open, Continue and Close are for the one goroutine of the Pump.
type Sink interface {
	// Run writes whole lines, each with its line end.
	WriteLines(lines []byte)
	// Message writes one message that has no line end.
	WriteMessage(text []byte)
	// Err is why the Sink is dead; nil while it is not.
	Err() error
}

// Streamer is a Sink that takes a line in parts: Open, any number of Continue and
// Close, during which everybody else waits.
type Streamer interface {
	Sink
	BeginLine(part []byte)
	ContinueLine(part []byte)
	EndLine()
}

// Lines is a Streamer of JSON Lines.
type LineSink struct {
	mu        sync.Mutex
	w         io.Writer
	run       runWriter // w, when it is one
	err       error
	buf       []byte
	truncated bool // what passed last has no line end: Codex has ended in the middle of a line
}

// runWriter is a writer that does better with what a Pump has just read (Join).
type runWriter interface {
	WriteRun([]byte) (int, error)
}

// NewLines makes a Sink that writes to w.
func NewLineSink(w io.Writer) *LineSink {
	run, _ := w.(runWriter)
	return &LineSink{w: w, run: run}
}

func (l *LineSink) write(b []byte) {
	if l.err == nil {
		_, l.err = l.w.Write(b)
	}
}

// pass is write for what the Pump passes on.
func (l *LineSink) forward(b []byte) {
	if len(b) > 0 {
		l.truncated = b[len(b)-1] != '\n'
	}
	switch {
	case l.run == nil:
		l.write(b)
	case l.err == nil:
		_, l.err = l.run.WriteRun(b)
	}
}

// Run implements Sink.
func (l *LineSink) WriteLines(lines []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forward(lines)
}

// Message implements Sink. Behind a line that broke off it begins one of its own: else the
// client could read neither.
func (l *LineSink) WriteMessage(text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = l.buf[:0]
	if l.truncated {
		l.buf, l.truncated = append(l.buf, '\n'), false
	}
	l.buf = append(append(l.buf, text...), '\n')
	l.write(l.buf)
	if cap(l.buf) > PumpBufferSize {
		l.buf = nil
	}
}

// Open implements Streamer.
func (l *LineSink) BeginLine(part []byte) {
	l.mu.Lock()
	l.forward(part)
}

// Continue implements Streamer.
func (l *LineSink) ContinueLine(part []byte) { l.forward(part) }

// Close implements Streamer.
func (l *LineSink) EndLine() { l.mu.Unlock() }

// Err implements Sink.
func (l *LineSink) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Headers is a Sink of the base protocol of LSP: every message with a
// Content-Length header and "jsonrpc":"2.0", which Codex leaves out. It is no
// Streamer, since the header needs the length first.
type HeaderSink struct {
	mu  sync.Mutex
	ch  channel.Channel
	err error
	buf []byte
}

// NewHeaders makes a Sink that writes to w.
func NewHeaderSink(w io.Writer) *HeaderSink {
	return &HeaderSink{ch: channel.Header("")(nil, nopCloser{w})}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

var versionMember = []byte(`{"jsonrpc":"2.0"`)

// Message implements Sink. What is no object is dropped: an LSP library would
// end the connection over it.
func (h *HeaderSink) WriteMessage(text []byte) {
	text = trimSpace(text)
	if len(text) < 2 || text[0] != '{' {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return
	}
	h.buf = append(h.buf[:0], versionMember...)
	if trimSpace(text[1:])[0] != '}' {
		h.buf = append(h.buf, ',')
	}
	h.buf = append(h.buf, text[1:]...)
	h.err = h.ch.Send(h.buf)
	if cap(h.buf) > PumpBufferSize {
		h.buf = nil
	}
}

// Run implements Sink.
func (h *HeaderSink) WriteLines(lines []byte) {
	for len(lines) > 0 {
		line := lines
		if i := indexLineEnd(lines); i >= 0 {
			line, lines = lines[:i], lines[i+1:]
		} else {
			lines = nil
		}
		h.WriteMessage(line)
	}
}

// Err implements Sink.
func (h *HeaderSink) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}
