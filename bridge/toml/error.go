package toml

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is an error in a document.
type Error struct {
	Line, Column int    // from 1, in bytes
	Message      string // the problem
	Hint         string // a suggested fix; may be empty
}

// Error returns one line.
func (e *Error) Error() string {
	text := fmt.Sprintf("line %d: %s", e.Line, e.Message)
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// explain adds a fix to an error of the TOML library. rest is the text from its place.
func (e *Error) explain(rest string) {
	first, size := utf8.DecodeRuneInString(rest)
	if size > 1 { // the library names its first byte
		e.Message = strings.Replace(e.Message, fmt.Sprintf("%#U", rest[0]), fmt.Sprintf("%#U", first), 1)
	}
	word := strings.ToLower(rest[:len(rest)-len(strings.TrimLeftFunc(rest, unicode.IsLetter))])
	switch {
	case strings.ContainsRune("“”„‘’«»", first):
		e.Hint = "use straight quotes, \" or '"
		return
	case slices.Contains(truthWords, word) && (strings.Contains(e.Message, "at start of value") || strings.Contains(e.Message, "expected keyword")):
		e.Hint = "write true or false"
		return
	}
	for _, one := range syntaxHints {
		if strings.Contains(e.Message, one.text) {
			e.Hint = one.hint
			return
		}
	}
}

// truthWords are words that other formats take for true or false.
var truthWords = []string{"true", "false", "yes", "no", "on", "off"}

// syntaxHints are fixes for the messages of the TOML library that contain a text. The first one counts.
var syntaxHints = []struct{ text, hint string }{
	{"U+000A at start of value", "write a value after ="},
	{"not end of input", "write a value after ="},
	{"at start of value", "write text in quotes"},
	{"strings must be quoted", "write text in quotes"},
	{"expected keyword", "write true or false, and text in quotes"},
	{"to close array table name", "write [[NAME]] on a line of its own"},
	{"to close table name", "write [NAME] on a line of its own"},
	{"basic strings cannot have new lines", "end the text with \" on the same line"},
	{"literal strings cannot have new lines", "end the text with ' on the same line"},
	{"unterminated basic string", "end the text with \" on the same line"},
	{"unterminated literal string", "end the text with ' on the same line"},
	{`terminated by """`, `end the text with """`},
	{"terminated by '''", "end the text with '''"},
	{"cannot have control characters", "remove the control character"},
	{"array is incomplete", "end the list with ]"},
	{"inline table is incomplete", "end the table with }"},
	{"or ']' after array value", "put a comma between two values, and ] after the last"},
	{"after inline table key-value", "put a comma between two keys, and } after the last"},
	{"expected '=' after", "write KEY = VALUE"},
	{"expected newline", "write one key on each line"},
	{"invalid escape", backslashHint},
	{"unicode", backslashHint},
	{"invalid character at start of key", "write KEY = VALUE; a comment starts with #"},
	{"as an array of tables", "write [[NAME]] here, too"},
	{"should be an array table", "write [[NAME]] at each place"},
	{"already exists", "write all keys of the table under one [NAME]"},
	{"already defined", "keep one of the two"},
	{"should be a table", "keep one of the two"},
}

const backslashHint = "write \\\\ for a backslash, or use 'single quotes'"

// Lines has the offset of each line's first byte.
type Lines []int

// NewLines returns the lines of a text.
func NewLines(text string) Lines {
	l := Lines{0}
	for i := range len(text) {
		if text[i] == '\n' {
			l = append(l, i+1)
		}
	}
	return l
}

// Position returns the line and the column in bytes, both from 1.
func (l Lines) Position(offset int) (line, column int) {
	line = sort.SearchInts(l, offset+1)
	return line, offset - l[line-1] + 1
}

// offset returns the offset of a place.
func (l Lines) offset(line, column int) int { return l[line-1] + column - 1 }

// errorAt returns an error with its place.
func (l Lines) errorAt(offset int, message, hint string) *Error {
	e := &Error{Message: message, Hint: hint}
	e.Line, e.Column = l.Position(offset)
	return e
}
