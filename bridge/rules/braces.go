package rules

import (
	"regexp"
	"slices"
)

// maxAlternatives bounds the words that a brace expansion stands for, maxBraceSteps the work for it: the
// bytes that are looked at, for each byte of the word.
const (
	maxAlternatives = 256
	maxBraceSteps   = 1024
)

// isRange matches the ranges that all shells with brace expansion know: two numbers or two letters, and a step.
var isRange = regexp.MustCompile(`^(-?[0-9]+|[A-Za-z])\.\.(-?[0-9]+|[A-Za-z])(\.\.-?[0-9]+)?$`)

// braceExpansion is the work for one word.
type braceExpansion struct{ steps int } // that are left

// expandBraces returns the words that the lists in braces of a word stand for, such as a/x and a/y for
// a/{x,y}. plain reports of each byte that no quote is around it. The result is nil if the word has no list;
// ok is false if the lists stand for too many words, or are too much work. A range such as {1..3} becomes an
// unknown part, that is a NUL. What only looks
// like a range stays as text, too.
func expandBraces(bytes []byte, plain []bool) (words []string, ok bool) {
	x := braceExpansion{steps: maxBraceSteps * len(bytes)}
	if open, _, _ := x.list(bytes, plain); open < 0 {
		return nil, x.steps >= 0
	}
	return x.expand(bytes, plain)
}

func (x *braceExpansion) expand(bytes []byte, plain []bool) (words []string, ok bool) {
	open, end, commas := x.list(bytes, plain)
	if open < 0 {
		return []string{string(bytes)}, x.steps >= 0
	}
	from := open + 1
	for _, comma := range append(commas, end) {
		middle, middlePlain := bytes[from:comma], plain[from:comma]
		if len(commas) == 0 {
			if !isRange.Match(middle) { // text, or a range of some shell
				if words, ok = x.with(words, bytes, plain, open, end, bytes[open:end+1], make([]bool, end+1-open)); !ok {
					return nil, false
				}
			}
			middle, middlePlain = []byte{0}, []bool{false}
		}
		if words, ok = x.with(words, bytes, plain, open, end, middle, middlePlain); !ok {
			return nil, false
		}
		from = comma + 1
	}
	return words, true
}

// with appends what a word expands to with a text in the place of a list. ok is false if that is too much.
func (x *braceExpansion) with(words []string, bytes []byte, plain []bool, open, end int, middle []byte, middlePlain []bool) (all []string, ok bool) {
	inner, ok := x.expand(slices.Concat(bytes[:open], middle, bytes[end+1:]), slices.Concat(plain[:open], middlePlain, plain[end+1:]))
	words = append(words, inner...)
	return words, ok && len(words) <= maxAlternatives
}

// list returns the first list or range in braces, and its commas; open is -1 if there is none, or if no steps
// are left.
func (x *braceExpansion) list(bytes []byte, plain []bool) (open, end int, commas []int) {
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
			case bytes[end] == '}' && depth == 1 && len(commas) == 0 && !dots: // bash reads on
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
		if end < len(bytes) { // only a brace behind a comma or dots ends the list
			return open, end, commas
		}
	}
	return -1, 0, nil
}
