package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// rawOutput is standard output without escapes: for a protocol, a page or colours.
type rawOutput interface{ io.Writer }

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
			out = append(out, escape(r)...)
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

// escape returns a character as JSON escapes it.
func escape(r rune) string {
	switch r {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// plain escapes all characters that are not visible, also line feeds and tabs: for a table cell
// or a part of a line.
func plain(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsGraphic(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(escape(r))
		}
	}
	return b.String()
}

// plainText does the same for a text of several lines, and keeps the line feeds.
func plainText(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = plain(strings.ReplaceAll(line, "\t", "    "))
	}
	return strings.Join(lines, "\n")
}
