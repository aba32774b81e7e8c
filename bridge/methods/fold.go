package methods

import "strings"

// FoldName returns the same text for names that a later Codex might read as one: it removes case,
// separators, quotes and white space.
func FoldName(name string) string {
	plain := true
	for i := 0; i < len(name) && plain; i++ {
		plain = 'a' <= name[i] && name[i] <= 'z'
	}
	if plain {
		return name
	}
	return strings.ToLower(strings.Map(func(r rune) rune {
		switch r {
		case '_', '-', '"', '\'', ' ', '\t', '\n', '\r':
			return -1
		}
		return r
	}, name))
}
