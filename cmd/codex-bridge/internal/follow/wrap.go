package follow

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Wrap breaks a text into lines of at most width columns, but not less than 8, after spaces where
// possible. It breaks only words that are longer than a line.
func Wrap(text string, width int) (lines []string) {
	width = max(width, 8)
	for {
		at := PrefixLen(text, width)
		if at == len(text) {
			return append(lines, text)
		}
		if space := strings.LastIndexByte(text[:at+1], ' '); space > PrefixLen(text, width/2) || fitsAfter(text, space, width) {
			at = space
		}
		lines = append(lines, strings.TrimRight(text[:at], " "))
		text = strings.TrimLeft(text[at:], " ")
	}
}

// fitsAfter reports whether the word after a space fits a line of its own. The spaces at the start of a text
// are no place to break it.
func fitsAfter(text string, space, width int) bool {
	if space < 0 || strings.TrimSpace(text[:space]) == "" {
		return false
	}
	word, _, _ := strings.Cut(text[space+1:], " ")
	return Columns(word) <= width
}

// Columns returns the columns that a text takes on a terminal.
func Columns(text string) (n int) {
	for all := displaywidth.StringGraphemes(text); all.Next(); {
		n += all.Width()
	}
	return n
}

// PrefixLen returns the length of the start of a text that takes at most width columns.
func PrefixLen(text string, width int) (n int) {
	for all := displaywidth.StringGraphemes(text); all.Next(); n += len(all.Value()) {
		if width -= all.Width(); width < 0 {
			break
		}
	}
	return n
}
