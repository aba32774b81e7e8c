package rules

import (
	"errors"
	"iter"

	"codex-bridge/bridge/config"
)

// Set holds compiled rules.
type Set struct {
	layers []layer
}

// layer is the rules of one file, in their order.
type layer struct {
	rules []rule
	shell index // those that speak of shell commands
	paths []int // … of file changes, or of what a redirection writes
	tools []int // … of other tools
}

// New compiles the rules of each layer, as config.Policy.RuleLayers gives
// them. A rule that could never match, or that would promise what can't be
// held, is an error that names its place: each is a *config.Error.
func New(layers [][]config.Rule) (*Set, error) {
	s := &Set{layers: make([]layer, len(layers))}
	var errs []error
	for i, rules := range layers {
		l := &s.layers[i]
		l.rules = make([]rule, len(rules))
		for j := range rules {
			fault := l.rules[j].compile(rules[j])
			if fault != nil {
				errs = append(errs, fault)
				continue
			}
			r := &l.rules[j]
			if r.shell {
				l.shell.add(j, r)
			}
			if r.file || r.writes {
				l.paths = append(l.paths, j)
			}
			if r.tools {
				l.tools = append(l.tools, j)
			}
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return s, nil
}

// Len is the number of rules.
func (s *Set) Len() int {
	n := 0
	for i := range s.layers {
		n += len(s.layers[i].rules)
	}
	return n
}

// certainty says how a rule matches.
type certainty int

const (
	no    certainty = iota
	could           // because of something that is not known, or by a lenient reading
	sure
)

// first runs through rules of one layer in their order. The first that surely
// matches decides. One that only could match does not hide those behind it:
// the answer is the strictest of all that may come out. Allow rules take part
// only when they are sure.
func (l *layer) first(ids iter.Seq[int], match func(*rule) certainty) (best Match) {
	for id := range ids {
		r := &l.rules[id]
		c := match(r)
		if c == no || c == could && r.decision == Allow {
			continue
		}
		best.stricter(Match{Decision: r.decision, Rule: r.source})
		if c == sure || best.Decision == Deny {
			return best
		}
	}
	return best
}

// decide is the answer of all layers. What leaves the sandbox is spoken of by
// the rules with escalated = true; deny and ask rules without it hold there too,
// but do not hide one with it.
func (s *Set) decide(e Escalation, ids func(*layer) iter.Seq[int], match func(*rule) certainty) (best Match) {
	for i := range s.layers {
		l := &s.layers[i]
		if e == Sandboxed {
			best.stricter(l.first(ids(l), func(r *rule) certainty {
				if r.decision == Allow && r.source.Escalated {
					return no
				}
				return match(r)
			}))
		} else {
			best.stricter(l.first(ids(l), func(r *rule) certainty {
				if r.decision == Allow && !r.source.Escalated {
					return no
				}
				return match(r)
			}))
			best.stricter(l.first(ids(l), func(r *rule) certainty {
				if !r.source.Escalated {
					return no
				}
				return match(r)
			}))
		}
	}
	return best
}
