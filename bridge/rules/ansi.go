package rules

import (
	"strings"
	"unicode/utf8"
)

// ansiLetters are the characters that a backslash and one letter stand for.
var ansiLetters = map[byte]byte{
	'a': 7, 'b': 8, 'e': 27, 'E': 27, 'f': 12, 'n': 10, 'r': 13, 't': 9, 'v': 11, '\\': '\\', '\'': '\'', '"': '"', '?': '?',
}

// decodeANSIC decodes the content of $'…'. known is false if the text has an escape that shells
// read differently, or a NUL, at which some shells end the word. The text has a NUL in place of
// each such escape.
func decodeANSIC(s string) (text string, known bool) {
	if !strings.Contains(s, `\`) {
		return s, true
	}
	var b strings.Builder
	known = true
	unknown := func() {
		b.WriteByte(0)
		known = false
	}
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) {
			unknown()
			return b.String(), known
		}
		c := s[i]
		if plain, ok := ansiLetters[c]; ok {
			b.WriteByte(plain)
			continue
		}
		base, maxDigits := 16, 0
		switch {
		case c == 'x':
			maxDigits = 2
		case c == 'u':
			maxDigits = 4
		case c == 'U':
			maxDigits = 8
		default: // octal; no other letter starts with an octal digit
			base, maxDigits = 8, 3
			i--
		}
		value, digits := 0, 0
		for digits < maxDigits && i+1 < len(s) {
			d := digit(s[i+1])
			if d >= base {
				break
			}
			value = value*base + d
			digits++
			i++
		}
		switch {
		case digits == 0:
			if base == 8 {
				i++ // the letter
			}
			unknown()
		case value == 0: // some shells end the word here
			unknown()
			return b.String(), false
		case c == 'x' && i+1 < len(s) && digit(s[i+1]) < 16: // ksh reads more digits
			for i+1 < len(s) && digit(s[i+1]) < 16 {
				i++
			}
			unknown()
		case (c == 'u' || c == 'U') && !utf8.ValidRune(rune(value)): // eight digits fit; a rune that is too large is negative
			unknown()
		case c == 'u' || c == 'U':
			b.WriteRune(rune(value))
		case value > 255:
			unknown()
		default:
			b.WriteByte(byte(value))
		}
	}
	return b.String(), known
}

// digit returns the value of a hexadecimal digit, or 16 for another byte.
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
