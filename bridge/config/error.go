package config

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"codex-bridge.example/bridge/display"
)

// Error is an error in a configuration file.
type Error struct {
	File    string // as the caller or the environment names it; empty without a file
	Line    int    // from 1; 0 if the error concerns the whole file
	Column  int    // in bytes from 1; 0 without a line
	Key     string // the full key, such as policy.rule[0].decision; empty for a syntax error
	Message string // what is wrong
	Hint    string // a suggested fix; may be empty
}

// newError returns an error that has no file and no place yet.
func newError(message, hint string) *Error { return &Error{Message: message, Hint: hint} }

// Error returns one line: "file:line:col: key: message; hint", without the unknown parts.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			b.WriteString(":" + strconv.Itoa(e.Line))
			if e.Column > 0 {
				b.WriteString(":" + strconv.Itoa(e.Column))
			}
		}
		b.WriteString(": ")
	}
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	b.WriteString(e.Message)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return display.Line(b.String())
}

// sorted returns the first maxErrors errors of a file in the order of their places.
func sorted(list []*Error) []*Error {
	const maxErrors = 20
	slices.SortStableFunc(list, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Key, b.Key))
	})
	return list[:min(len(list), maxErrors)]
}

// join returns nil, the only error, or an error that prints a line for each.
func join(list []*Error) error {
	if len(list) == 1 {
		return list[0]
	}
	errs := make([]error, len(list))
	for i, e := range list {
		errs[i] = e
	}
	return errors.Join(errs...)
}

// quote quotes a value for a message and shortens it.
func quote(s string) string {
	const maxRunes = 60
	return strconv.Quote(display.ClipRunes(s, maxRunes))
}

// either lists values for a message: "a", "b" or "c".
func either(list []string) string {
	quoted := make([]string, len(list))
	for i, v := range list {
		quoted[i] = strconv.Quote(v)
	}
	if n := len(quoted); n > 1 {
		return strings.Join(quoted[:n-1], ", ") + " or " + quoted[n-1]
	}
	return strings.Join(quoted, "")
}

// Nearest returns the known word that is the most similar to a mistyped one, or "".
func Nearest(word string, known []string) string {
	fold := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }
	best, least := "", max(1, len(word)/3)+1
	for _, k := range known {
		if d := distance(fold(word), fold(k)); d < least && d < len(word) {
			best, least = k, d
		}
	}
	return best
}

// distance returns the number of edits between two words: insert, delete, replace a byte, or swap
// neighbours. Long words count as different.
func distance(a, b string) int {
	const maxLen = 64
	if len(a) > maxLen || len(b) > maxLen {
		return maxLen
	}
	var previous, last, row [maxLen + 1]int
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], previous[j-2]+1)
			}
		}
		previous, last = last, row
	}
	return last[len(b)]
}
