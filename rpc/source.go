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

// Source gives a client's messages, one at a time.
type Source interface {
	// Next is the next message, ready to be written to Codex: on one line and with
	// its line end, unless the client's last line had none. It is valid until the
	// next call; one longer than MaxReused stays so.
	//
	// A *RefusedLine is to be answered, and the next message asked for; io.EOF is
	// the end; any other error ends the connection.
	Next() ([]byte, error)
}

// MaxReused bounds in bytes the memory that a Source uses for one message after the other.
const MaxReusedSize = 1 << 20

// maxStart is how much of a message over the bound is looked at.
const maxSearched = 64 << 10

// headerNames are the only fields that the base protocol knows.
var headerNames = []string{"content-length", "content-type"}

// Recognise tells the client's framing by its first bytes and returns
// both ends for it: JSON Lines, or the base protocol of LSP when they are a
// header. It blocks until the client says something, empty lines aside; at the end
// of in it returns JSON Lines. max bounds a message in bytes, that of a line with
// its line end.
func DetectFraming(in io.Reader, out io.Writer, max int) (Source, Sink) {
	r := bufio.NewReaderSize(in, 64<<10)
	if isHeader(r) {
		return &headerSource{r: r, max: max}, NewHeaderSink(out)
	}
	return &lineSource{r: r, max: max}, NewLineSink(out)
}

func isHeader(r *bufio.Reader) bool {
	for c, err := r.ReadByte(); err == nil; c, err = r.ReadByte() {
		if c != '\r' && c != '\n' {
			_ = r.UnreadByte() // can't fail behind ReadByte
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

// tooLarge is the answer to a message over the bound; its id is looked for in what
// was read of it, or in the first bytes of that.
func newTooLargeError(read []byte, max int) error {
	return &MessageError{ID: recoverID(read[:min(len(read), maxSearched)]), Err: Errorf(CodeTooLarge,
		"the message is longer than %d bytes; send less at once, or raise codex.max_message", max)}
}

// lineSource reads JSON Lines.
type lineSource struct {
	r    *bufio.Reader
	max  int
	long []byte // a line longer than r's buffer
}

func (s *lineSource) Next() ([]byte, error) {
	if size := cap(s.long); size > MaxReusedSize { // most never send another
		s.long = nil
		releaseMemory(size)
	}
	for {
		line, err := s.r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			line, err = s.readLong(line)
		}
		if len(line) > s.max {
			return nil, newTooLargeError(line, s.max)
		}
		if len(trimSpace(line)) > 0 { // Codex passes over blank lines, too
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// gather reads on a line that is longer than the buffer; of one over the bound it
// keeps no more than tells so.
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

// huge is a line so long that its memory is given back at once: the collector would wait
// until as much again is asked for, and the system for minutes.
const minReleased = 16 << 20

func releaseMemory(size int) {
	if size >= minReleased {
		debug.FreeOSMemory()
	}
}

// gathered is line with part behind it, where a line comes to no more than max bytes. As
// append does it a long one would take five times its length meanwhile; this comes to two or three.
func appendLong(line, part []byte, max int) []byte {
	if n := len(line) + len(part); n > cap(line) {
		line = append(make([]byte, 0, min(2*n, max)), line...)
	}
	return append(line, part...)
}

// headerSource reads the base protocol of LSP. jrpc2's and go.lsp.dev/jsonrpc2's
// readers do the same, but put no bound on a header line, and make room for any
// length that is claimed before a byte of it has come.
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
	var body bytes.Buffer // grows with what comes, not with what is claimed
	if n, err := io.CopyN(&body, s.r, int64(size)); n < int64(size) {
		return nil, inputError(err)
	}
	return s.toLine(body.Bytes()), nil
}

// ended is err, where the client's end inside a message is its end.
func inputError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return io.EOF
	}
	return err
}

// line makes a body into a line for Codex. A text that is not strict is left as
// it is, for the Parser to refuse.
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

// header reads up to the blank line. A broken header ends the connection, since
// nobody knows where the next message starts.
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
			return 0, fmt.Errorf("the header line %s has no colon", clip([]byte(line)))
		}
		if strings.EqualFold(strings.TrimSpace(name), "content-length") {
			n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 31)
			if err != nil || size >= 0 {
				return 0, fmt.Errorf("the header line %s is not one length in bytes", clip([]byte(line)))
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
