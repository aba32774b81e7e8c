package rules

import (
	"strings"
	"unicode/utf8"
)

var ansiLetters = map[byte]byte{
	'a': 7, 'b': 8, 'e': 27, 'E': 27, 'f': 12, 'n': 10, 'r': 13, 't': 9, 'v': 11, '\\': '\\', '\'': '\'', '"': '"', '?': '?',
}

// ansiC decodes the inside of $'…'. It is false for escapes that shells read
// differently, and for NUL, at which some end the word.
func ansiC(s string) (string, bool) {
	if !strings.Contains(s, `\`) {
		return s, true
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) {
			return "", false
		}
		c := s[i]
		if plain, ok := ansiLetters[c]; ok {
			b.WriteByte(plain)
			continue
		}
		base, most := 16, 0
		switch {
		case c == 'x':
			most = 2
		case c == 'u':
			most = 4
		case c == 'U':
			most = 8
		default: // octal; another letter has no digit
			base, most = 8, 3
			i--
		}
		value, digits := 0, 0
		for digits < most && i+1 < len(s) {
			d := digit(s[i+1])
			if d >= base {
				break
			}
			value = value*base + d
			digits++
			i++
		}
		switch {
		case digits == 0 || value == 0:
			return "", false
		case c == 'x' && i+1 < len(s) && digit(s[i+1]) < 16:
			return "", false // ksh reads on
		case c == 'u' || c == 'U':
			if !utf8.ValidRune(rune(value)) { // eight digits fit; what is too big is negative
				return "", false
			}
			b.WriteRune(rune(value))
		case value > 255:
			return "", false
		default:
			b.WriteByte(byte(value))
		}
	}
	return b.String(), true
}

// digit is the value of a hexadecimal digit, and 16 for what is none.
func digit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return 16
}
