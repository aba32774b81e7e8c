package hook

import (
	"runtime"
	"strings"
	"time"
)

// Command is the command line by which Codex asks here: self is our own program, and
// timeout what Codex is told of the hook. allow: a process that does not reach us, or gets
// no answer in time, lets its tool run; what reaches something else, or can't be read, is
// denied all the same.
func (s *Server) Command(self string, e Event, timeout time.Duration, allow bool) string {
	words := []string{self, "hook", "--socket", s.Socket(), "--event", string(e), "--timeout", timeout.String()}
	if allow {
		words = append(words, "--on-failure", "allow")
	}
	quote := quoteShell
	if runtime.GOOS == "windows" {
		quote = quoteCmd
	}
	for i, word := range words {
		words[i] = quote(word)
	}
	return strings.Join(words, " ")
}

// plain tells whether a word needs no quotes, in any shell.
func plain(word, signs string) bool {
	return word != "" && strings.TrimFunc(word, func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(signs, r)
	}) == ""
}

// quoteShell is a word as a POSIX shell reads it.
func quoteShell(word string) string {
	if plain(word, "_-./=:@%+,") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// quoteCmd is a word as cmd.exe hands it on: the name of a file can hold no quotes.
func quoteCmd(word string) string {
	if plain(word, `_-./\:@+`) {
		return word
	}
	return `"` + word + `"`
}
