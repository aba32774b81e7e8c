package redact

// wordSet searches a text for any of its words, ignoring case. Most texts have none, and a
// regular expression takes 20 times as long.
type wordSet struct {
	pairs [1 << 16 / 64]uint64 // the first two letters of each word, as a bit set
	rests map[[2]byte][]string // the rest of each word by its first two letters
}

// newWordSet returns a set of lower-case ASCII words of at least two letters.
func newWordSet(list ...string) *wordSet {
	w := &wordSet{rests: make(map[[2]byte][]string)}
	for _, word := range list {
		n := int(word[0])<<8 | int(word[1])
		w.pairs[n/64] |= 1 << (n % 64)
		w.rests[[2]byte{word[0], word[1]}] = append(w.rests[[2]byte{word[0], word[1]}], word[2:])
	}
	return w
}

// isIn reports whether text contains a word. It also returns true for U+017F and U+212A,
// which fold to ASCII letters.
func (w *wordSet) isIn(text string) bool {
	var before byte
	for i := range len(text) {
		c := lower[text[i]]
		n := int(before)<<8 | int(c)
		if w.pairs[n/64]>>(n%64)&1 != 0 {
			for _, rest := range w.rests[[2]byte{before, c}] {
				if hasPrefixFold(text[i+1:], rest) {
					return true
				}
			}
		}
		if c == 0xbf && before == 0xc5 || c == 0xaa && before == 0x84 {
			return true
		}
		before = c
	}
	return false
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
