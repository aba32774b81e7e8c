// Package display shows people texts that others wrote: a model, a client, an MCP server, or the author of a file.
// A text must not imitate the words around it, act on a terminal, or hide a character.
package display

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// maxExcerpt bounds an excerpt, in bytes.
const maxExcerpt = 200

// Line returns a text in one line: characters that can't be seen, or change the direction of text, are escaped as
// in JSON.
func Line(text string) string { return escape(text, "") }

// Lines does the same for a text of several lines, and keeps its line feeds.
func Lines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Line(strings.ReplaceAll(line, "\t", "    "))
	}
	return strings.Join(lines, "\n")
}

// Quote returns a whole text as a quotation in one line. Nothing in the text ends the quotation.
func Quote(text string) string { return `"` + escape(text, `"\`) + `"` }

// Excerpt returns the start of a text as a quotation, with single blanks between its words.
func Excerpt(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxExcerpt {
		text = strings.ToValidUTF8(text[:maxExcerpt], "") + "…"
	}
	return Quote(text)
}

// escape escapes invisible characters, and puts a backslash before the marks.
func escape(text, marks string) string {
	isPlain := func(r rune) bool { return !isInvisible(r) && !strings.ContainsRune(marks, r) }
	if utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !isPlain(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case isPlain(r):
			b.WriteRune(r)
		case isInvisible(r):
			b.WriteString(escapeRune(r))
		default:
			b.WriteRune('\\')
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isInvisible reports whether a character can't be seen, or changes the direction of others. Blanks of other widths
// count as seen.
func isInvisible(r rune) bool {
	return !unicode.IsGraphic(r) || unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) ||
		r == '\u2800' // a braille pattern without dots
}

// escapeRune returns a character as JSON escapes it.
func escapeRune(r rune) string {
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
