package redact

import "strings"

// wordSet searches a text for words of several kinds, ignoring case. Most texts have none, and a
// regular expression takes 20 times as long.
type wordSet struct {
	pairs [1 << 16 / 64]uint64     // the first two letters of each word, as a bit set
	rests map[[2]byte][]restOfWord // by the first two letters
	all   kinds                    // the kinds of all words
}

// restOfWord is a word of some kind without its first two letters.
type restOfWord struct {
	text string
	kind kinds
}

// add adds lower-case ASCII words of at least two letters.
func (w *wordSet) add(kind kinds, list ...string) {
	if w.rests == nil {
		w.rests = make(map[[2]byte][]restOfWord)
	}
	w.all |= kind
	for _, word := range list {
		pair := [2]byte{word[0], word[1]}
		n := int(word[0])<<8 | int(word[1])
		w.pairs[n/64] |= 1 << (n % 64)
		w.rests[pair] = append(w.rests[pair], restOfWord{word[2:], kind})
	}
}

// find returns the kinds of the words in text. It returns all kinds for U+017F and U+212A, which
// fold to ASCII letters.
func (w *wordSet) find(text string) (found kinds) {
	var before byte
	for i := range len(text) {
		c := lower[text[i]]
		n := int(before)<<8 | int(c)
		if w.pairs[n/64]>>(n%64)&1 != 0 {
			for _, rest := range w.rests[[2]byte{before, c}] {
				if found&rest.kind == 0 && hasPrefixFold(text[i+1:], rest.text) {
					found |= rest.kind
				}
			}
		}
		if c == 0xbf && before == 0xc5 || c == 0xaa && strings.HasSuffix(text[:i+1], "\u212a") {
			return w.all
		}
		before = c
	}
	return found
}

func hasPrefixFold(text, word string) bool {
	if len(text) < len(word) {
		return false
	}
	for i := range len(word) {
		if lower[text[i]] != word[i] {
			return false
		}
	}
	return true
}

var lower = func() (table [256]byte) {
	for i := range table {
		table[i] = byte(i)
		if 'A' <= i && i <= 'Z' {
			table[i] += 'a' - 'A'
		}
	}
	return table
}()
