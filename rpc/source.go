package rpc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"
	"strings"
)

// Source reads a client's messages.
type Source interface {
	// Next returns the next message as a line for Codex, with a line end unless the client's
	// last line had none. The line is valid until the next call; a line longer than
	// MaxReusedSize stays valid.
	//
	// A *MessageError concerns one message: send its Err to the client and call Next
	// again. io.EOF is the end of the input. Any other error ends the connection.
	Next() ([]byte, error)
}

// MaxReusedSize is the size in bytes up to which a Source reuses memory for messages.
const MaxReusedSize = 1 << 20

// maxSearched is how many bytes of a too long message are searched for its id.
const maxSearched = 64 << 10

// headerNames are the fields of the LSP base protocol.
var headerNames = []string{"content-length", "content-type"}

// DetectFraming detects the client's framing by its first bytes, and returns a Source and a
// Sink for it: the LSP base protocol if they start a header, else JSON Lines. It skips
// empty lines and blocks until the client has sent something else, or in ends. maxMessage is
// the maximum length of a message in bytes; of a line, with its line end.
func DetectFraming(in io.Reader, out io.Writer, maxMessage int) (Source, Sink) {
	r := bufio.NewReaderSize(in, 64<<10)
	if isHeader(r) {
		return &headerSource{r: r, max: maxMessage}, NewHeaderSink(out)
	}
	return &lineSource{r: r, max: maxMessage}, NewLineSink(out)
}

// lineBuffer is the size in bytes of NewLineSource's buffer. Most requests are shorter.
const lineBuffer = 4 << 10

// NewLineSource returns a Source of JSON Lines, whatever the first bytes are. A last line without a line end
// is no message. It needs less memory than one of DetectFraming, and copies longer messages once more.
func NewLineSource(in io.Reader, maxMessage int) Source {
	return &lineSource{r: bufio.NewReaderSize(in, lineBuffer), max: maxMessage, whole: true}
}

func isHeader(r *bufio.Reader) bool {
	for c, err := r.ReadByte(); err == nil; c, err = r.ReadByte() {
		if c != '\r' && c != '\n' {
			_ = r.UnreadByte() // can't fail after ReadByte
			break
		}
	}
	for n := 1; ; n++ {
		start, err := r.Peek(n)
		if err != nil {
			return false
		}
		text := strings.ToLower(string(start))
		open := false
		for _, name := range headerNames {
			if strings.HasPrefix(text, name+":") {
				return true
			}
			open = open || strings.HasPrefix(name+":", text)
		}
		if !open {
			return false
		}
	}
}

// newTooLargeError returns the error for a too long message, of which read is the start.
func newTooLargeError(read []byte, max int) error {
	start := read[:min(len(read), maxSearched)]
	return &MessageError{ID: recoverID(start), Answers: recoverAnswered(start), Err: Errorf(CodeTooLarge,
		"the message is longer than %d bytes; send less at once, or raise codex.max_message", max)}
}

// lineSource reads JSON Lines.
type lineSource struct {
	r    *bufio.Reader
	max  int
	long []byte // buffer for a line longer than r's
	// whole is whether a last line without a line end is dropped. Codex reads it.
	whole bool
}

func (s *lineSource) Next() ([]byte, error) {
	if size := cap(s.long); size > MaxReusedSize { // few clients send a second one
		s.long = nil
		releaseMemory(size)
	}
	for {
		line, err := s.r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			line, err = s.readLong(line)
		}
		if err != nil && s.whole {
			return nil, err
		}
		if len(line) > s.max {
			return nil, newTooLargeError(line, s.max)
		}
		if len(trimSpace(line)) > 0 { // Codex skips blank lines, too
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// readLong reads the rest of a line that is longer than the buffer. Of a too long line it
// keeps little more than the maximum.
func (s *lineSource) readLong(start []byte) ([]byte, error) {
	s.long = append(s.long[:0], start...)
	for {
		part, err := s.r.ReadSlice('\n')
		if len(s.long) <= s.max {
			s.long = appendLong(s.long, part, s.max+maxSearched)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return s.long, err
		}
	}
}

// minReleased is the size from which a buffer's memory is returned to the system at once.
// The garbage collector would wait for further allocations, and the system for minutes.
const minReleased = 16 << 20

func releaseMemory(size int) {
	if size >= minReleased {
		debug.FreeOSMemory()
	}
}

// appendLong appends part to line, whose final length is at most maxLen. While append grows
// a long line it would take five times its length; appendLong takes two or three times.
func appendLong(line, part []byte, maxLen int) []byte {
	if n := len(line) + len(part); n > cap(line) {
		line = append(make([]byte, 0, min(2*n, maxLen)), line...)
	}
	return append(line, part...)
}

// headerSource reads the LSP base protocol. The readers of jrpc2 and go.lsp.dev/jsonrpc2 do
// not limit a header line, and allocate the declared length before a byte has arrived.
type headerSource struct {
	r   *bufio.Reader
	max int
	p   parser
}

const (
	maxHeaderLine  = 1 << 10
	maxHeaderLines = 16
)

func (s *headerSource) Next() ([]byte, error) {
	size, err := s.readHeader()
	if err != nil {
		return nil, err
	}
	if size > s.max {
		start := make([]byte, min(size, maxSearched))
		if _, err := io.ReadFull(s.r, start); err != nil {
			return nil, inputError(err)
		}
		if _, err := io.CopyN(io.Discard, s.r, int64(size-len(start))); err != nil {
			return nil, inputError(err)
		}
		return nil, newTooLargeError(start, s.max)
	}
	var body bytes.Buffer // grows with the bytes received, not to the declared size
	if n, err := io.CopyN(&body, s.r, int64(size)); n < int64(size) {
		return nil, inputError(err)
	}
	return s.toLine(body.Bytes()), nil
}

// inputError returns io.EOF if the input ended within a message, else err.
func inputError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return io.EOF
	}
	return err
}

// toLine turns a body into a line for Codex. A body that is not strict JSON is returned
// unchanged: the Parser rejects it.
func (s *headerSource) toLine(body []byte) []byte {
	s.p.reset(body, false, MaxDepth)
	if s.p.parse() != nil {
		return body
	}
	ReplaceNewlines(body)
	m := &Message{Doc: s.p.doc}
	if root := m.Root(); root.Get("jsonrpc").Exists() {
		patch := NewPatch(m)
		patch.Delete(root, "jsonrpc")
		body = patch.Bytes()
	}
	return append(body, '\n')
}

// readHeader reads a header and its blank line. A broken header ends the connection, since
// the start of the next message is unknown.
func (s *headerSource) readHeader() (size int, err error) {
	size = -1
	for range maxHeaderLines {
		line, err := s.readHeaderLine()
		if err != nil {
			return 0, err
		}
		if line == "" {
			if size < 0 {
				return 0, errors.New("a header without Content-Length; send \"Content-Length: N\", a blank line and N bytes")
			}
			return size, nil
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return 0, fmt.Errorf("the header line %s has no colon", quoteStart([]byte(line)))
		}
		if strings.EqualFold(strings.TrimSpace(name), "content-length") {
			n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 31)
			if err != nil || size >= 0 {
				return 0, fmt.Errorf("the header line %s is not one length in bytes", quoteStart([]byte(line)))
			}
			size = int(n)
		}
	}
	return 0, fmt.Errorf("a header of more than %d lines", maxHeaderLines)
}

func (s *headerSource) readHeaderLine() (string, error) {
	var line []byte
	for {
		c, err := s.r.ReadByte()
		if err != nil {
			return "", err
		}
		if c == '\n' {
			return strings.TrimSuffix(string(line), "\r"), nil
		}
		if line = append(line, c); len(line) > maxHeaderLine {
			return "", fmt.Errorf("a header line of more than %d bytes", maxHeaderLine)
		}
	}
}

func trimSpace(b []byte) []byte { return bytes.Trim(b, " \t\r\n") }

func indexLineEnd(b []byte) int { return bytes.IndexByte(b, '\n') }
