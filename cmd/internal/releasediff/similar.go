package releasediff

import (
	"regexp"
	"slices"
	"strings"

	"codex-bridge.example/bridge/methods"
)

// similarity measures how much two names are alike. A higher value is more alike.
type similarity struct {
	words  int // 3 for each common word at the start and end, 1 for others
	strict int // set by the caller: between names with the same words the strictest counts
	bytes  int // in common at the start
	length int // words of the second name: a short one is more alike
	start  int // common words at the start
	end    int // common words at the end
}

func (s similarity) exceeds(other similarity) bool {
	return slices.Compare([]int{s.words, s.strict, s.bytes, -s.length}, []int{other.words, other.strict, other.bytes, -other.length}) > 0
}

var word = regexp.MustCompile(`[A-Z]*[a-z0-9]+|[A-Z]+`)

// wordsOf splits a name such as "thread/shellCommand" or "features.code_mode" into lower-case words.
func wordsOf(name string) []string {
	words := word.FindAllString(name, -1)
	for i, w := range words {
		words[i] = strings.ToLower(w)
	}
	return words
}

func compareWords(a, b string) similarity {
	var s similarity
	for s.bytes < min(len(a), len(b)) && a[s.bytes] == b[s.bytes] {
		s.bytes++
	}
	x, y := wordsOf(a), wordsOf(b)
	s.length = len(y)
	for s.start < min(len(x), len(y)) && x[s.start] == y[s.start] {
		s.start++
	}
	x, y = x[s.start:], y[s.start:]
	for s.end < min(len(x), len(y)) && x[len(x)-1-s.end] == y[len(y)-1-s.end] {
		s.end++
	}
	x, y = x[:len(x)-s.end], y[:len(y)-s.end]
	s.words = 3 * (s.start + s.end)
	for _, w := range x {
		if slices.Contains(y, w) {
			s.words++
		}
	}
	return s
}

// nearest returns the name that has the most words in common with name; "" if none has any. strict
// may be nil.
func nearest(name string, names []string, strict func(name string) int) (best string) {
	var most similarity
	for _, other := range names {
		s := compareWords(name, other)
		if s.words == 0 {
			continue
		}
		if strict != nil {
			s.strict = strict(other)
		}
		if s.exceeds(most) {
			most, best = s, other
		}
	}
	return best
}

// nearestRow returns the row of a side whose method is most like a name. It has the first word or
// the last two in common: "list" alone says little.
func nearestRow(side methods.Side, name string) (best methods.Row, ok bool) {
	strictness := []methods.Verdict{methods.Pass, methods.Rewrite, methods.Gate, methods.Deny}
	var most similarity
	for row := range methods.Rows() {
		s := compareWords(name, row.Method)
		if row.Side != side || s.start == 0 && s.end < 2 {
			continue
		}
		if s.strict = slices.Index(strictness, row.Verdict); s.exceeds(most) {
			most, best, ok = s, row, true
		}
	}
	return best, ok
}
