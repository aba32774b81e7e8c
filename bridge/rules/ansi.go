package rules

import (
	"strings"
	"unicode/utf8"
)

var ansiLetters = map[byte]byte{
	'a': 7, 'b': 8, 'e': 27, 'E': 27, 'f': 12, 'n': 10, 'r': 13, 't': 9, 'v': 11, '\\': '\\', '\'': '\'', '"': '"', '?': '?',
}

// ansiC decodes the inside of $'…'. known is false for escapes that shells read
// differently, and for NUL, at which some end the word: these become NUL.
func ansiC(s string) (text string, known bool) {
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
		case digits == 0:
			if base == 8 {
				i++ // the letter
			}
			unknown()
		case value == 0: // the rest may not be there
			unknown()
			return b.String(), false
		case c == 'x' && i+1 < len(s) && digit(s[i+1]) < 16: // ksh reads on
			for i+1 < len(s) && digit(s[i+1]) < 16 {
				i++
			}
			unknown()
		case (c == 'u' || c == 'U') && !utf8.ValidRune(rune(value)): // eight digits fit; what is too big is negative
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
