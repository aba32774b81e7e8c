package output

import (
	"cmp"
	"io"
	"os"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"codex-bridge.example/bridge/display"
)

// Unescaped is standard output without escapes: for a protocol, a page or colours.
type Unescaped interface{ io.Writer }

// CheckedWriter remembers the first error of w: a command that prints while a turn runs goes on, and fails at
// its end. Several goroutines may use it.
type CheckedWriter struct {
	w   io.Writer
	mu  sync.Mutex
	err error
}

// NewCheckedWriter returns a CheckedWriter that writes to w.
func NewCheckedWriter(w io.Writer) *CheckedWriter { return &CheckedWriter{w: w} }

// Write implements io.Writer.
func (c *CheckedWriter) Write(text []byte) (int, error) {
	n, err := c.w.Write(text)
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.err = cmp.Or(c.err, err)
	}
	return n, err
}

// Failure returns the first error.
func (c *CheckedWriter) Failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// SafeWriter escapes characters that act on a terminal or reorder text: control characters
// (also C1), bidirectional controls and line separators. Clients and models choose much of what the
// commands print. The escapes are those of JSON, \u0085, so that JSON stays the same JSON.
// Line feeds and tabs pass.
type SafeWriter struct {
	w    io.Writer
	part []byte // the beginning of a character whose end has not been written yet
}

// NewSafeWriter returns a SafeWriter that writes to w.
func NewSafeWriter(w io.Writer) *SafeWriter { return &SafeWriter{w: w} }

// Write implements io.Writer.
func (s *SafeWriter) Write(text []byte) (int, error) {
	all := append(s.part, text...)
	s.part = nil
	out := make([]byte, 0, len(all))
	for len(all) > 0 {
		if !utf8.FullRune(all) {
			s.part = append([]byte(nil), all...)
			break
		}
		r, size := utf8.DecodeRune(all)
		switch {
		case r == utf8.RuneError && size == 1: // a terminal may take the byte for a control
			out = append(out, "\uFFFD"...)
		case isUnsafe(r) && r != '\n' && r != '\t':
			out = append(out, display.Line(string(r))...)
		default:
			out = append(out, all[:size]...)
		}
		all = all[size:]
	}
	if _, err := s.w.Write(out); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Flush writes U+FFFD for an incomplete last character.
func (s *SafeWriter) Flush() error {
	if s.part == nil {
		return nil
	}
	s.part = nil
	_, err := io.WriteString(s.w, "\uFFFD")
	return err
}

// isUnsafe reports whether a character acts on a terminal or reorders text.
func isUnsafe(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// HasColours reports whether a stream shows colours, as far as its environment says.
func HasColours(f *os.File) bool {
	return IsTerminal(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
