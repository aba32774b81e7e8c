package redact

// words finds out whether a text has one of some words in it, in capitals or not: most texts
// have none, and a regular expression takes 20 times as long to say so.
type words struct {
	pairs [1 << 16 / 64]uint64 // the first two letters of each word, as a set
	begin map[[2]byte][]string // what comes behind them
}

// newWords makes words of ASCII, in lower case, each of two letters at least.
func newWords(list ...string) *words {
	w := &words{begin: make(map[[2]byte][]string)}
	for _, word := range list {
		n := int(word[0])<<8 | int(word[1])
		w.pairs[n/64] |= 1 << (n % 64)
		w.begin[[2]byte{word[0], word[1]}] = append(w.begin[[2]byte{word[0], word[1]}], word[2:])
	}
	return w
}

// in tells whether one of the words is in text. It says yes as well where a letter of
// another alphabet counts as one of these: the long s, and the sign of Kelvin.
func (w *words) in(text string) bool {
	var before byte
	for i := range len(text) {
		c := lower[text[i]]
		n := int(before)<<8 | int(c)
		if w.pairs[n/64]>>(n%64)&1 != 0 {
			for _, rest := range w.begin[[2]byte{before, c}] {
				if startsWith(text[i+1:], rest) {
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

func startsWith(text, word string) bool {
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
