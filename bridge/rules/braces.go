package rules

import (
	"regexp"
	"slices"
	"sync"
)

// maxAlternatives bounds the words that a brace expansion stands for. maxBraceSteps bounds its
// work: the bytes that are read for each byte of the word.
const (
	maxAlternatives = 256
	maxBraceSteps   = 1024
)

// rangePattern matches the ranges that all shells with brace expansion know: two numbers or two
// letters, and optionally a step.
var rangePattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(-?[0-9]+|[A-Za-z])\.\.(-?[0-9]+|[A-Za-z])(\.\.-?[0-9]+)?$`)
})

// braceExpansion counts the remaining work for one word.
type braceExpansion struct{ steps int }

// expandBraces returns the words that the lists in braces of a word stand for: a/x and a/y for
// a/{x,y}. plain reports for each byte whether it is unquoted. words is nil if the word has no
// list. ok is false if the lists stand for too many words or need too much work.
//
// A range such as {1..3} becomes an unknown part, which is a NUL. A text that is not a range in all
// shells is also returned as text.
func expandBraces(bytes []byte, plain []bool) (words []string, ok bool) {
	x := braceExpansion{steps: maxBraceSteps * len(bytes)}
	if open, _, _ := x.firstList(bytes, plain); open < 0 {
		return nil, x.steps >= 0
	}
	return x.expand(bytes, plain)
}

// expand returns the words that a word stands for, or the word itself if it has no list.
func (x *braceExpansion) expand(bytes []byte, plain []bool) (words []string, ok bool) {
	open, end, commas := x.firstList(bytes, plain)
	if open < 0 {
		return []string{string(bytes)}, x.steps >= 0
	}
	from := open + 1
	for _, comma := range append(commas, end) {
		middle, middlePlain := bytes[from:comma], plain[from:comma]
		if len(commas) == 0 {
			if !rangePattern().Match(middle) { // text, or a range in some shells
				if words, ok = x.expandWith(words, bytes, plain, open, end, bytes[open:end+1], make([]bool, end+1-open)); !ok {
					return nil, false
				}
			}
			middle, middlePlain = []byte{0}, []bool{false}
		}
		if words, ok = x.expandWith(words, bytes, plain, open, end, middle, middlePlain); !ok {
			return nil, false
		}
		from = comma + 1
	}
	return words, true
}

// expandWith appends the expansion of a word in which middle replaces a list. ok is false if there
// are too many words or too much work.
func (x *braceExpansion) expandWith(words []string, bytes []byte, plain []bool, open, end int, middle []byte, middlePlain []bool) (all []string, ok bool) {
	inner, ok := x.expand(slices.Concat(bytes[:open], middle, bytes[end+1:]), slices.Concat(plain[:open], middlePlain, plain[end+1:]))
	words = append(words, inner...)
	return words, ok && len(words) <= maxAlternatives
}

// firstList returns the position of the first list or range in braces, and of its commas. open is
// -1 if there is none, or if no steps are left.
func (x *braceExpansion) firstList(bytes []byte, plain []bool) (open, end int, commas []int) {
	x.steps -= len(bytes)
	for open = range bytes {
		if bytes[open] != '{' || !plain[open] {
			continue
		}
		depth, dots := 0, false
		commas = nil
		for end = open; end < len(bytes); end++ {
			switch {
			case !plain[end]:
			case bytes[end] == '{':
				depth++
			case bytes[end] == ',' && depth == 1:
				commas = append(commas, end)
			case bytes[end] == '.' && depth == 1:
				dots = dots || bytes[end-1] == '.'
			case bytes[end] == '}' && depth == 1 && len(commas) == 0 && !dots: // bash looks for a later brace
			case bytes[end] == '}':
				depth--
			}
			if depth == 0 {
				break
			}
		}
		if x.steps -= end - open; x.steps < 0 {
			return -1, 0, nil
		}
		if end < len(bytes) { // a brace behind a comma or dots ends the list
			return open, end, commas
		}
	}
	return -1, 0, nil
}
