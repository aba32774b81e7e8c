package config

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Error is one fault of a configuration file.
type Error struct {
	File    string // as it was named; empty when no file is at fault
	Line    int    // from 1; 0 when the fault is the whole file's
	Column  int    // in bytes from 1, as compilers count; 0 when only the line is known
	Key     string // the full key, as in policy.rule[0].decision; empty for faults of syntax
	Message string // what is wrong
	Mend    string // what to do about it; may be empty
}

// Error gives one line, "file:line:col: key: message; mend", without the parts
// that are not known.
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
	if e.Mend != "" {
		b.WriteString("; " + e.Mend)
	}
	return oneLine(b.String())
}

// maxErrors of one file are reported; more would only hide the first ones.
const maxErrors = 20

// join orders the faults of one file as they stand in it and makes them one
// error that prints a line each.
func join(list []*Error) error {
	slices.SortStableFunc(list, compare)
	if len(list) > maxErrors {
		list = list[:maxErrors]
	}
	errs := make([]error, len(list))
	for i, e := range list {
		errs[i] = e
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// oneLine keeps a message from a file or a file's name from breaking the line
// or writing to the terminal.
func oneLine(s string) string {
	clean := func(r rune) bool { return !unicode.IsPrint(r) }
	if !strings.ContainsFunc(s, clean) {
		return s
	}
	q := strconv.Quote(s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}

// clip quotes a value for a message and keeps it short.
func clip(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strconv.Quote(s)
}

// problem is a fault that does not know yet where it stands.
type problem struct{ message, mend string }

func (p problem) ok() bool { return p == problem{} }
