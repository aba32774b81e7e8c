package hook

import (
	"runtime"
	"strings"
	"time"
)

// Command returns the command line that Codex runs for a hook. self is the path of
// codex-bridge, and timeout the time that Codex gives the hook. With allow, a tool runs
// when the bridge can't be reached or does not answer in time. Input that can't be read,
// and a socket that is not the bridge's, are denied even so.
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

// isPlain reports whether a word needs no quotes: it has only letters, digits and signs.
func isPlain(word, signs string) bool {
	return word != "" && strings.TrimFunc(word, func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(signs, r)
	}) == ""
}

// quoteShell quotes a word for a POSIX shell.
func quoteShell(word string) string {
	if isPlain(word, "_-./=:@%+,") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// quoteCmd quotes a word for cmd.exe. It escapes no quotes: file names on Windows have
// none.
func quoteCmd(word string) string {
	if isPlain(word, `_-./\:@+`) {
		return word
	}
	return `"` + word + `"`
}
