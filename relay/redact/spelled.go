package redact

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// spellings finds secrets in texts that quote or escape some of their characters. Codex joins the words of a command
// with shell quotes, so S3cr$t may become 'S3cr"'$t'"', and a log or JSON in a text escapes it again.
//
// It reads no quotes: any of them may be between two characters of a secret, so a shell of any depth counts.
type spellings struct {
	first   [256][]string // by their first byte; longest first
	escaped []string      // those whose first character may be escaped; longest first
}

// newSpellings returns the spellings of those secrets that a shell or JSON spells in more than one way; nil: none.
func newSpellings(known []string) *spellings {
	var s *spellings
	for _, secret := range slices.SortedFunc(slices.Values(known), longestFirst) {
		if len(secret) < minSecretLen || !strings.ContainsFunc(secret, isEscaped) {
			continue
		}
		if s == nil {
			s = new(spellings)
		}
		s.first[secret[0]] = append(s.first[secret[0]], secret)
		if strings.IndexFunc(secret, isEscaped) == 0 {
			s.escaped = append(s.escaped, secret)
		}
	}
	return s
}

func longestFirst(a, b string) int { return len(b) - len(a) }

// isEscaped reports whether a shell, an encoder or a markup may quote or escape a character inside a word, such as "/" in
// JSON of PHP, "+" in that of .NET, "=" in a word of Ruby, and "_" in Markdown. No tool does so for letters and digits.
func isEscaped(c rune) bool {
	return c >= utf8.RuneSelf || (c < '0' || c > '9') && (lower[c] < 'a' || lower[c] > 'z')
}

// isQuote reports whether a shell may remove a byte: a quote, or an escape of a POSIX shell, PowerShell or cmd.exe.
func isQuote(c byte) bool { return quoteBytes[c] }

const quotes = "\\\"'`^"

var quoteBytes = func() (table [256]bool) {
	for _, c := range []byte(quotes) {
		table[c] = true
	}
	return table
}()

// replace replaces each secret, however it is spelled. Its time is linear in the text.
func (s *spellings) replace(text string) string {
	if s == nil || !hasQuote(text) {
		return text
	}
	var out strings.Builder
	done := 0
	for i := 0; i < len(text); i++ {
		begin, end := s.find(text, i, done)
		if end == 0 {
			continue
		}
		for begin > done && text[begin-1] == '\\' {
			begin-- // it escapes the first character
		}
		out.WriteString(text[done:begin])
		out.WriteString(placeholder)
		i, done = end-1, end
	}
	return out.String() + text[done:]
}

// hasQuote reports whether a text has a byte that isQuote, which is fast for the texts that have none.
func hasQuote(text string) bool {
	for _, c := range []byte(quotes) {
		if strings.IndexByte(text, c) >= 0 {
			return true
		}
	}
	return false
}

// find returns the place of a secret whose spelling starts at text[i]; 0, 0: none does. Bytes before done are replaced.
// A run of quotes may escape a first character; it is tried once, from its start.
func (s *spellings) find(text string, i, done int) (begin, end int) {
	list := s.first[text[i]]
	if isQuote(text[i]) {
		before := i - 1
		if before > done && text[before] == '\n' { // of a line that is continued
			before--
		}
		if before >= done && isQuote(text[before]) {
			return 0, 0
		}
		list = s.escaped
	}
	for _, secret := range list {
		if begin, end = spelled(text, i, secret); end > 0 {
			return begin, end
		}
	}
	return 0, 0
}

// spelled returns where text[i:] spells a secret, without the quotes around it; 0, 0: it does not.
func spelled(text string, i int, secret string) (begin, end int) {
	rest, run := secret, 0 // run is where the last run of quotes ends; it is looked for once
	for i < len(text) {
		if i >= run && isQuote(text[i]) {
			run = quotesEnd(text, i)
		}
		n, chars := spelledChar(text, i, run, rest)
		switch {
		case n > 0:
			if len(rest) == len(secret) {
				begin = i
			}
			if rest = rest[chars:]; rest == "" {
				return begin, i + n
			}
			i += n
		case isQuote(text[i]), text[i] == '\n' && i > 0 && isQuote(text[i-1]): // or a line that is continued
			i++
		default:
			return 0, 0
		}
	}
	return 0, 0
}

// quotesEnd returns where the run of quotes ends that text[i] is in.
func quotesEnd(text string, i int) int {
	for i < len(text) && isQuote(text[i]) {
		i++
	}
	return i
}

// spelledChar returns the length at text[i] that spells the start of a secret, and the length of that start; 0, 0: none.
// If text[i] is a quote, run is where its run of quotes ends.
func spelledChar(text string, i, run int, secret string) (n, chars int) {
	if isQuote(text[i]) && isQuote(secret[0]) {
		if n, chars = numbered(text[run:], secret); n > 0 {
			return run - i + n, chars
		}
	}
	if text[i] == secret[0] {
		return 1, 1
	}
	if i == 0 || !isQuote(text[i-1]) { // a quote, if the backslash before it is quoted again
		return 0, 0
	}
	if at := strings.IndexByte("nrtbf", text[i]); at >= 0 && "\n\r\t\b\f"[at] == secret[0] {
		return 1, 1
	}
	return numbered(text[i:], secret)
}

// numbered returns the length of the number of a character that starts a secret, and the length of the character; 0, 0:
// there is none.
func numbered(text, secret string) (n, chars int) {
	if text == "" || escapes[text[0]].digits == 0 {
		return 0, 0
	}
	form := escapes[text[0]]
	if n = form.skip + form.digits; n > len(text) {
		return 0, 0
	}
	value, err := strconv.ParseUint(text[form.skip:n], form.base, 16)
	char := string(rune(value))
	if form.digits < 4 {
		char = string([]byte{byte(value)})
	}
	if err != nil || !strings.HasPrefix(secret, char) {
		return 0, 0
	}
	return n, len(char)
}

// numberForm is the form of a character's number after a backslash: bytes before the digits, digits, and their base.
type numberForm struct{ skip, digits, base int }

// escapes has the forms by their first byte: \u0024 of JSON, and \x24 and \044 of shells and logs.
var escapes = func() (table [256]numberForm) {
	table['u'], table['x'] = numberForm{1, 4, 16}, numberForm{1, 2, 16}
	for c := '0'; c <= '3'; c++ {
		table[c] = numberForm{0, 3, 8}
	}
	return table
}()
