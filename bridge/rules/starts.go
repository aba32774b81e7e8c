package rules

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"codex-bridge.example/bridge/config"
)

// setStarts sets which rules count where a program starts.
//
// r.starts: the rule counts there. Its command has a word that is not only a wildcard: other rules are
// about lines, and would ask about each process of a build. It has no assignments, since a program start
// shows only the words, and no path.
//
// r.holdsAtStart: everything that the rule denies or asks about starts a program. The name in the rule
// can't be that of a builtin or a reserved word of a shell, and it does not look like that of a script, which
// a shell may read itself (". ./deploy.sh", "sh < deploy.sh").
func (r *rule) setStarts() {
	names := func(g wordGlob) bool { return g.kind == literalWord || g.kind == patternWord }
	r.starts = r.shell && r.source.Path == "" && len(r.assignments) == 0 && slices.ContainsFunc(r.words, names)
	r.holdsAtStart = r.starts && r.decision != Allow && names(r.words[0]) && !r.words[0].matchesShellWord() && !r.words[0].looksLikeScript()
}

// looksLikeScript reports whether the name in a rule has an extension, or a path that is not absolute.
func (g *wordGlob) looksLikeScript() bool {
	return strings.Contains(g.text, ".") || !strings.HasPrefix(g.text, "/") && strings.Contains(g.text, "/")
}

// shellWords are the keys of the builtins and reserved words of bash, dash and zsh.
var shellWords = sync.OnceValue(func() map[string]bool {
	all := make(map[string]bool)
	for _, names := range []map[string]bool{reservedWords, shellBuiltins, unnamedWords} {
		for name := range names {
			all[programKey(name)] = true
		}
	}
	return all
})

// matchesShellWord reports whether the name in a rule may be that of a builtin or a reserved word.
func (g *wordGlob) matchesShellWord() bool {
	if g.kind == literalWord {
		return shellWords()[programKey(g.text)]
	}
	for key := range shellWords() {
		if config.Match(g.base, key) {
			return true
		}
	}
	return false
}

// restrictsStarting reports how surely a deny or ask rule matches a command of a line whose program
// starts Program decides, too. If the rule holds there, only known words count.
func (r *rule) restrictsStarting(n *node) certainty {
	c := r.restricts(n)
	switch {
	case c == noMatch || !r.holdsAtStart:
		return c
	case n.guessed:
		if c == certainMatch && n.opaque == "" {
			return decidedElsewhere // it hides later rules as a certain match does
		}
		return noMatch
	case c == certainMatch:
		return c
	case len(n.words) == 0 || r.matchWords(n.knownNode()) == noMatch:
		return noMatch
	}
	return possibleMatch
}

// knownNode returns the command with its known words only. A word that is not known has a NUL for each
// unknown part, so that a rule matches it by the known parts, or by a wildcard.
func (n *node) knownNode() *node {
	if n.knownMemo == nil {
		words := slices.Clone(n.words)
		for i := range words {
			if w := &words[i]; w.kind != known {
				*w = literal(cmp.Or(w.template, w.prefix+"\x00"+w.suffix))
			}
		}
		n.knownMemo = newNode(words, n.assignments)
	}
	return n.knownMemo
}

// markGuessed marks commands as guessed.
func markGuessed(nodes []*node) {
	for _, n := range nodes {
		n.guessed = true
		markGuessed(n.children)
	}
}

// askedWords returns the words of a command that r asks about.
func (r *rule) askedWords(n *node) []Word {
	if len(n.words) == 0 || n.opaque != "" && !r.holdsAtStart {
		return []Word{{Many: true}}
	}
	words := make([]Word, len(n.words))
	for i := range n.words {
		w := &n.words[i]
		words[i] = Word{Text: w.text, Known: w.kind == known, Many: w.kind > single}
		if base := baseName(w.template); i == 0 && !words[i].Known && base != w.template && base != "" && !strings.Contains(base, "\x00") {
			words[i] = Word{Text: base, Known: true}
		}
	}
	return words
}

// HasProgramRules reports whether the set has a deny or ask rule that counts where a program starts.
func (s *Set) HasProgramRules() bool {
	return slices.ContainsFunc(s.layers, func(l layer) bool {
		return slices.ContainsFunc(l.start.all, func(id int) bool { return l.rules[id].decision != Allow })
	})
}
