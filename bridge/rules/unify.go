package rules

import "strings"

// matchWords says how the words of a rule match those of a command. The sure
// reading goes word by word; the other one takes the command's name by its
// base, a word that is not known for any that it may be, and passes over
// options (with a value each at the most) that stand before a plain word of the
// rule: git -C dir push is a git push.
func (r *rule) matchWords(n *node) certainty {
	if n.opaque != "" {
		return could
	}
	if r.second != "" && n.second != "" && r.second != n.second {
		return no // most rules end here
	}
	if n.literal {
		for _, need := range r.needs {
			if !n.has(need) {
				return no
			}
		}
	}
	if r.certain(n) {
		return sure
	}
	if r.decision != Allow && r.possible(n) {
		return could
	}
	return no
}

func (r *rule) certain(n *node) bool {
	if r.words[0].kind != restOfWords && (len(n.words) == 0 || !r.words[0].certain(&n.words[0])) {
		return false // most rules end here
	}
	return lead(r.words, n.words, false)
}

func (r *rule) possible(n *node) bool {
	return lead(r.words, n.words, true)
}

// lead runs the words of a rule along those of a command: reached[i] says that
// the rule's words so far may have used up i of the command's. Time is the
// product of both lengths, memory the length of the command.
func lead(globs []wordGlob, words []word, lenient bool) bool {
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
			several := w.kind == each || w.kind == many
			if several {
				reached[i+1] = true // it may be no word at all
			}
			if skips && w.option() {
				reached[i+1] = true
				reached[min(i+2, len(words))] = true
			}
			if gi == 0 && g.named(w) || g.possible(w) {
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
			if k := words[i].kind; reached[i] && (k == each || k == many) {
				reached[i+1] = true
			}
		}
	}
	return reached[len(words)]
}
