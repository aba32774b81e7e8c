package rules

import "strings"

// matchWords reports how surely the words of a rule match those of a command. A certain match
// compares word by word. A possible match compares the command's name by its base name, takes an
// unknown word for any word that it may be, and skips options, with up to one value each, before a
// plain word of the rule: git -C dir push matches git push.
func (r *rule) matchWords(n *node) certainty {
	if n.opaque != "" {
		return possibleMatch
	}
	if r.secondWord != "" && n.secondWord != "" && r.secondWord != n.secondWord {
		return noMatch // fast path for most rules
	}
	if n.allKnown && !r.hasRequired(n) {
		if r.options != nil && r.options.matches(n) {
			return possibleMatch
		}
		return noMatch
	}
	if r.certain(n) {
		return certainMatch
	}
	if r.decision != Allow && r.possible(n) {
		return possibleMatch
	}
	return noMatch
}

// hasRequired reports whether a command of known words has the literal words of the rule.
func (r *rule) hasRequired(n *node) bool {
	for _, need := range r.required {
		if !n.hasWord(need) {
			return false
		}
	}
	return true
}

// certain reports whether the rule's words surely match those of a command.
func (r *rule) certain(n *node) bool {
	if r.words[0].kind != restOfWords && (len(n.words) == 0 || !r.words[0].certain(&n.words[0])) {
		return false // fast path for most rules
	}
	return matchSequence(r.words, n.words, false)
}

// possible reports whether the rule's words may match those of a command, as they are written or by the meaning of its
// options.
func (r *rule) possible(n *node) bool {
	return matchSequence(r.words, n.words, true) || r.options != nil && r.options.matches(n)
}

// matchSequence reports whether the words of a rule match all words of a command. reached[i] means
// that the rule's words so far may match the first i words of the command. Time is proportional to
// the product of both lengths, memory to the length of the command.
func matchSequence(globs []wordGlob, words []word, lenient bool) bool {
	var small, small2 [64]bool
	reached, next := small[:], small2[:]
	if len(words) >= len(small) {
		reached, next = make([]bool, len(words)+1), make([]bool, len(words)+1)
	}
	reached, next = reached[:len(words)+1], next[:len(words)+1]
	reached[0] = true
	for gi := range globs {
		g := &globs[gi]
		clear(next)
		some := false
		if g.kind == restOfWords {
			for i, ok := range reached {
				some = some || ok
				next[i] = some
			}
			reached, next = next, reached
			continue
		}
		skips := lenient && gi > 0 && g.kind == literalWord && !strings.HasPrefix(g.text, "-")
		for i := range words {
			if !reached[i] {
				continue
			}
			w := &words[i]
			if !lenient {
				if g.certain(w) {
					next[i+1], some = true, true
				}
				continue
			}
			several := w.kind == expanded || w.kind == unknownWords
			if several {
				reached[i+1] = true // it may be no word
			}
			if skips && w.mayBeOption() {
				reached[i+1] = true
				reached[min(i+2, len(words))] = true
			}
			if gi == 0 && g.matchesName(w) || g.possible(w) {
				next[i+1], some = true, true
				if several {
					next[i] = true
				}
			}
		}
		if !some {
			return false
		}
		reached, next = next, reached
	}
	if lenient {
		for i := range words {
			if k := words[i].kind; reached[i] && (k == expanded || k == unknownWords) {
				reached[i+1] = true
			}
		}
	}
	return reached[len(words)]
}
