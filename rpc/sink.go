package rpc

import (
	"io"
	"strconv"
	"sync"
)

// Sink sends messages to the client. WriteMessage and Err may be called concurrently; the
// other methods belong to the Pump. Each message takes one write, as with Codex: some
// clients do not join partial lines. After a failed write a Sink drops everything.
type Sink interface {
	// WriteLines writes whole lines, each with its line end.
	WriteLines(lines []byte)
	// WriteMessage writes one message, which has no line end.
	WriteMessage(text []byte)
	// Err returns the error of the first failed write, or nil.
	Err() error
}

// Streamer is a Sink that can write a line in parts: BeginLine, any number of ContinueLine,
// EndLine. In between, WriteMessage blocks.
type Streamer interface {
	Sink
	BeginLine(part []byte)
	ContinueLine(part []byte)
	EndLine()
}

// LineSink is a Streamer that writes JSON Lines.
type LineSink struct {
	mu        sync.Mutex
	w         io.Writer
	run       runWriter // w, when it is one
	err       error
	buf       []byte
	truncated bool // the last forwarded line has no line end, because Codex ended within it
}

// runWriter is a writer with a faster way to write what the Pump has just read (see Join).
type runWriter interface {
	WriteRun([]byte) (int, error)
}

// NewLineSink returns a LineSink that writes to w.
func NewLineSink(w io.Writer) *LineSink {
	run, _ := w.(runWriter)
	return &LineSink{w: w, run: run}
}

func (l *LineSink) write(b []byte) {
	if l.err == nil {
		_, l.err = l.w.Write(b)
	}
}

// forward writes lines, or a part of one, from the Pump.
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

// WriteLines implements Sink.
func (l *LineSink) WriteLines(lines []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forward(lines)
}

// WriteMessage implements Sink. After a truncated line it starts a new one, so that the
// client can parse the message.
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

// BeginLine implements Streamer.
func (l *LineSink) BeginLine(part []byte) {
	l.mu.Lock()
	l.forward(part)
}

// ContinueLine implements Streamer.
func (l *LineSink) ContinueLine(part []byte) { l.forward(part) }

// EndLine implements Streamer.
func (l *LineSink) EndLine() { l.mu.Unlock() }

// Err implements Sink.
func (l *LineSink) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// HeaderSink is a Sink for the base protocol of LSP. It adds a Content-Length header and
// "jsonrpc":"2.0", which Codex omits, to every message. It is not a Streamer, since the
// header contains the length.
type HeaderSink struct {
	mu  sync.Mutex
	w   io.Writer
	err error
	buf []byte
}

// NewHeaderSink returns a HeaderSink that writes to w.
func NewHeaderSink(w io.Writer) *HeaderSink { return &HeaderSink{w: w} }

const versionMember = `{"jsonrpc":"2.0"`

// WriteMessage implements Sink. It drops a text that is not an object, since an LSP library
// would close the connection because of it.
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
	begin := versionMember
	if trimSpace(text[1:])[0] != '}' {
		begin += ","
	}
	size := len(begin) + len(text) - 1
	h.buf = strconv.AppendInt(append(h.buf[:0], "Content-Length: "...), int64(size), 10)
	h.buf = append(append(append(h.buf, "\r\n\r\n"...), begin...), text[1:]...)
	_, h.err = h.w.Write(h.buf)
	if size > PumpBufferSize {
		h.buf = nil
	}
}

// WriteLines implements Sink.
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
