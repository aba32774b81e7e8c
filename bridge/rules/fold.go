package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// FoldCase returns the same text for names that differ only in case, in lower case if they are
// ASCII. A file system that ignores case may find sudo as SUDO, and as ſudo with a long s (U+017F).
// Lower case is not enough, because the long s is already a lower-case letter.
func FoldCase(name string) string {
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return strings.Map(foldRune, name)
		}
	}
	return strings.ToLower(name)
}

// foldRune returns the same character for all characters that differ only in case.
func foldRune(r rune) rune {
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	if 'A' <= least && least <= 'Z' {
		return least + 'a' - 'A'
	}
	return least
}
