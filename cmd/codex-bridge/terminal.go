package main

import (
	"cmp"
	"io"
	"sync"
	"unicode"
	"unicode/utf8"

	"codex-bridge.example/bridge/display"
)

// rawOutput is standard output without escapes: for a protocol, a page or colours.
type rawOutput interface{ io.Writer }

// checkedWriter remembers the first error of w: a command that prints while a turn runs goes on, and fails at
// its end. Several goroutines may use it.
type checkedWriter struct {
	w   io.Writer
	mu  sync.Mutex
	err error
}

// Write implements io.Writer.
func (c *checkedWriter) Write(text []byte) (int, error) {
	n, err := c.w.Write(text)
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.err = cmp.Or(c.err, err)
	}
	return n, err
}

// failure returns the first error.
func (c *checkedWriter) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// safeWriter escapes characters that act on a terminal or reorder text: control characters
// (also C1), bidirectional controls and line separators. Clients and models choose much of what the
// commands print. The escapes are those of JSON, \u0085, so that JSON stays the same JSON.
// Line feeds and tabs pass.
type safeWriter struct {
	w    io.Writer
	part []byte // the beginning of a character whose end has not been written yet
}

func (s *safeWriter) Write(text []byte) (int, error) {
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

// flush writes U+FFFD for an incomplete last character.
func (s *safeWriter) flush() error {
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
