// Package problem words errors for people. Errors of Go and of its packages for networks and databases have
// words that only a programmer knows, such as "context deadline exceeded". Code that prints an error, logs
// it or sends it to a client calls Text.
package problem

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// Text returns the text of an error, with plain words in place of those of the errors that it wraps.
func Text(err error) string {
	text := err.Error()
	Each(err, func(e error) {
		if words := translate(e); words != "" {
			text = replaceWords(text, e.Error(), words)
		}
	})
	return text
}

// Each calls f for an error and for all that it wraps, outer ones first.
func Each(err error, f func(error)) {
	if err == nil {
		return
	}
	f(err)
	switch e := err.(type) { //nolint:errorlint // it visits the tree itself
	case interface{ Unwrap() error }:
		Each(e.Unwrap(), f)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			Each(one, f)
		}
	}
}

// fixed has the words for errors that are single values.
var fixed = map[error]string{
	context.Canceled:         "it was stopped",
	context.DeadlineExceeded: "it took too long",
	os.ErrDeadlineExceeded:   "it took too long",
	net.ErrClosed:            "the connection was closed",
	fs.ErrClosed:             "the file was closed",
	io.ErrClosedPipe:         "the connection was closed",
	io.EOF:                   "the data ended",
	io.ErrUnexpectedEOF:      "the data ended too early",
}

// translators have the words for errors of libraries; see Translate.
var translators []func(error) string

// Translate adds a function that returns the words for one error of a library, apart from those that it
// wraps; empty if it does not know the error. Only packages that import the library call it, from init.
func Translate(words func(error) string) { translators = append(translators, words) }

// translate returns the words for one error, apart from those that it wraps; empty if its own will do.
func translate(err error) string {
	switch e := err.(type) { //nolint:errorlint // Text walks the tree
	case *net.OpError:
		return networkProblem(e)
	case *net.DNSError:
		if e.IsNotFound {
			return "the host " + strconv.Quote(e.Name) + " is not found"
		}
	case *exec.Error:
		if errors.Is(e.Err, exec.ErrNotFound) {
			return "the program " + strconv.Quote(e.Name) + " is not in PATH"
		}
	}
	for _, words := range translators {
		if text := words(err); text != "" {
			return text
		}
	}
	for known, words := range fixed {
		if err == known { //nolint:errorlint // Text walks the tree
			return words
		}
	}
	return ""
}

// networkProblem returns the address and the reason: "127.0.0.1:5432: connection refused".
func networkProblem(e *net.OpError) string {
	reason := e.Err
	if system := (*os.SyscallError)(nil); errors.As(reason, &system) {
		reason = system.Err
	}
	if host := (*net.DNSError)(nil); errors.As(reason, &host) || e.Addr == nil {
		return Text(reason)
	}
	return e.Addr.String() + ": " + Text(reason)
}

// replaceWords replaces whole words in a text: "EOF" is not a part of "EOFs".
func replaceWords(text, words, by string) string {
	var b strings.Builder
	for {
		at := strings.Index(text, words)
		if at < 0 || words == "" {
			return b.String() + text
		}
		end, instead := at+len(words), by
		if at > 0 && isWord(text[at-1]) || end < len(text) && isWord(text[end]) {
			instead = words
		}
		b.WriteString(text[:at] + instead)
		text = text[end:]
	}
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
