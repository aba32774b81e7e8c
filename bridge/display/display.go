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

// Start returns the first maxLen bytes of a text, or a few less: it has no part of a character.
func Start(text string, maxLen int) string {
	if len(text) <= maxLen {
		return text
	}
	end := max(maxLen, 0)
	for end > max(maxLen-utf8.UTFMax, 0) && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// Clip returns a text of at most 200 bytes as it is, and the start of a longer one with a mark behind.
func Clip(text string) string { return ClipTo(text, maxExcerpt) }

// ClipTo is Clip for another number of bytes. The mark comes on top of them.
func ClipTo(text string, maxLen int) string {
	if len(text) <= maxLen {
		return text
	}
	return Start(text, maxLen) + "…"
}

// StartRunes returns the first maxRunes characters of a text.
func StartRunes(text string, maxRunes int) string {
	n := 0
	for i := range text {
		if n >= maxRunes {
			return text[:i]
		}
		n++
	}
	return text
}

// ClipRunes is ClipTo for a number of characters.
func ClipRunes(text string, maxRunes int) string {
	if start := StartRunes(text, maxRunes); len(start) < len(text) {
		return start + "…"
	}
	return text
}

// Line returns a text in one line: characters that can't be seen, or change the direction of text, are escaped as
// in JSON.
func Line(text string) string { return escape(text, isInvisible, "") }

// Lines does the same for a text of several lines, and keeps its line feeds.
func Lines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Line(strings.ReplaceAll(line, "\t", "    "))
	}
	return strings.Join(lines, "\n")
}

// Quote returns a whole text as a quotation in one line. Nothing in the text ends the quotation, and no other text has
// the same quotation.
func Quote(text string) string { return `"` + escape(text, looksLikeAnother, `"\`) + `"` }

// Excerpt returns the start of a text as a quotation, and how much it leaves out.
func Excerpt(text string) string {
	text = strings.TrimSpace(text)
	if len(text) <= maxExcerpt {
		return Quote(text)
	}
	start := Start(text, maxExcerpt)
	return fmt.Sprintf("%s… (+%d more characters)", Quote(start), utf8.RuneCountInString(text[len(start):]))
}

// Exact returns a whole text in one line: as it is, or quoted if it could be taken for another text.
func Exact(text string) string {
	if text == "" || text[0] == ' ' || !isExact(text) {
		return Quote(text)
	}
	return text
}

// Block returns the lines of a whole text, each behind a mark. A line that could be taken for another is quoted.
func Block(text string) []string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !isExact(line) {
			line = Quote(line)
		}
		lines[i] = "  | " + line
	}
	return lines
}

// isExact reports whether no other text looks like this one behind a mark.
func isExact(text string) bool {
	return strings.IndexFunc(text, looksLikeAnother) < 0 && utf8.ValidString(text) && !strings.HasSuffix(text, " ") &&
		!strings.HasPrefix(strings.TrimLeft(text, " "), `"`)
}

// escape escapes some characters, and puts a backslash before the marks.
func escape(text string, isEscaped func(rune) bool, marks string) string {
	isPlain := func(r rune) bool { return !isEscaped(r) && !strings.ContainsRune(marks, r) }
	if utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !isPlain(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case isPlain(r):
			b.WriteRune(r)
		case isEscaped(r):
			b.WriteString(escapeRune(r))
		default:
			b.WriteRune('\\')
			b.WriteRune(r)
		}
	}
	return b.String()
}

// looksLikeAnother reports whether a character can't be told from another: it is invisible, or a blank of another
// width, which a shell takes for a letter.
func looksLikeAnother(r rune) bool { return isInvisible(r) || r != ' ' && unicode.IsSpace(r) }

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
