package search

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// longest is how many characters of a word count. What is longer is data, most likely.
const longest = 64

// place is where a word of a text stands, in bytes.
type place struct{ start, end int }

// alone are the scripts whose words have no spaces between them.
var alone = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

// firstAlone is the first character of them, of Thai.
const firstAlone = 0x0E00

// in are the words of a text, and where each stands.
func in(text string) iter.Seq2[string, place] {
	return func(yield func(string, place) bool) {
		start := -1
		for i, r := range text {
			switch {
			case r < utf8.RuneSelf: // nearly all of most texts
				if isWord(byte(r)) {
					if start < 0 {
						start = i
					}
				} else if start >= 0 {
					if !give(yield, text, start, i) {
						return
					}
					start = -1
				}
			case r >= firstAlone && unicode.In(r, alone...):
				if start >= 0 && !give(yield, text, start, i) {
					return
				}
				start = -1
				end := i + utf8.RuneLen(r)
				for _, one := range fold(text[i:end]) { // several, of a character such as U+3300
					if !yield(string(one), place{i, end}) {
						return
					}
				}
			case unicode.IsLetter(r) || unicode.IsDigit(r) || start >= 0 && unicode.Is(unicode.Mn, r):
				if start < 0 {
					start = i
				}
			case start >= 0:
				if !give(yield, text, start, i) {
					return
				}
				start = -1
			}
		}
		if start >= 0 {
			give(yield, text, start, len(text))
		}
	}
}

func isWord(b byte) bool {
	return 'a' <= b|0x20 && b|0x20 <= 'z' || '0' <= b && b <= '9'
}

func give(yield func(string, place) bool, text string, start, end int) bool {
	word := fold(text[start:end])
	return word == "" || yield(word, place{start, end})
}

// fold is a word without case and accents.
func fold(word string) string {
	ascii := true
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return strings.ToLower(word[:min(len(word), longest)])
	}
	var b strings.Builder
	n := 0
	for _, r := range norm.NFKD.String(word) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			continue
		}
		if n++; n > longest {
			break
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Words are the words of a text, with a space between them.
func Words(text string) string {
	var b strings.Builder
	for word := range in(text) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	return b.String()
}
