package rules

import (
	"errors"
	"iter"
	"slices"
	"time"

	"codex-bridge.example/bridge/config"
)

// Set is an immutable list of compiled rules in layers. It may be used concurrently.
type Set struct {
	layers []layer
	// expires reports whether a rule has an end, and now is the time at which the rules count. If
	// it is zero, each rule with an end counts as expired.
	expires bool
	now     time.Time
}

// At returns the set as it counts at a time. The set of New counts all rules with an end as expired.
func (s *Set) At(now time.Time) *Set {
	if !s.expires {
		return s
	}
	return &Set{s.layers, true, now}
}

// layer has the rules of one file, in their order, and their indexes by what they apply to.
type layer struct {
	rules []rule
	shell index // rules for shell commands
	start index // rules that count where a program starts
	paths []int // rules for file changes and redirections that write
	tools []int // rules for other tools
}

// New compiles the rules of each layer, in the form of config.Policy.RuleLayers. A rule that could
// never match, or that the package can't enforce, is an error. The error joins one *config.Error,
// which has the position, for each such rule.
func New(layers [][]config.Rule) (*Set, error) {
	s := &Set{layers: make([]layer, len(layers))}
	var errs []error
	for i, rules := range layers {
		l := &s.layers[i]
		l.rules = make([]rule, len(rules))
		for j := range rules {
			if err := l.rules[j].compile(rules[j]); err != nil {
				errs = append(errs, err)
				continue
			}
			r := &l.rules[j]
			s.expires = s.expires || !r.ends.IsZero()
			if r.shell {
				l.shell.add(j, r)
			}
			if r.setStarts(); r.starts {
				l.start.add(j, r)
			}
			if r.file || r.redirections {
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

// Len returns the number of rules.
func (s *Set) Len() int {
	n := 0
	for i := range s.layers {
		n += len(s.layers[i].rules)
	}
	return n
}

// Asks reports whether a rule has the decision ask.
func (s *Set) Asks() bool {
	return slices.ContainsFunc(s.layers, func(l layer) bool {
		return slices.ContainsFunc(l.rules, func(r rule) bool { return r.decision == Ask })
	})
}

// certainty is how surely a rule matches.
type certainty int

const (
	noMatch       certainty = iota
	possibleMatch           // something is unknown, or only a lenient reading matches
	certainMatch
	decidedElsewhere // a certain match of a rule that another question to the Set applies in its order
)

// match returns the decision of one layer. Rules are tried in order, and the first certain match
// decides. A possible match does not hide later rules: the strictest possible result counts. An
// allow rule needs a certain match. An expired allow rule counts as absent, and the match of another
// expired rule as a possible one. A match that is decidedElsewhere ends the layer without a decision.
func (l *layer) match(now time.Time, ids iter.Seq[int], match func(*rule) certainty) (best Match) {
	for id := range ids {
		r := &l.rules[id]
		expired := !r.ends.IsZero() && (now.IsZero() || !now.Before(r.ends))
		if expired && r.decision == Allow {
			continue
		}
		c := match(r)
		if c == noMatch || c == possibleMatch && r.decision == Allow {
			continue
		}
		if c == decidedElsewhere {
			if expired {
				continue
			}
			return best
		}
		if expired {
			c = possibleMatch
		}
		found := Match{Decision: r.decision, Rule: r.source, Approvers: r.approvers}
		if r.decision == Ask {
			found.Asking = []*config.Rule{r.source}
		}
		if r.source.IsException() {
			found.Exceptions = []Exception{{Rule: r.source}}
		}
		best.tighten(found)
		if c == certainMatch || best.Decision == Deny {
			return best
		}
	}
	return best
}

// decide returns the strictest decision of all layers. Outside the sandbox, a rule with escalated =
// true is not hidden by a rule without it; deny and ask rules without it apply there, too.
func (s *Set) decide(e Escalation, ids func(*layer) iter.Seq[int], match func(*rule) certainty) (best Match) {
	for i := range s.layers {
		l := &s.layers[i]
		if e == Sandboxed {
			best.tighten(l.match(s.now, ids(l), func(r *rule) certainty {
				if r.decision == Allow && r.source.Escalated {
					return noMatch
				}
				return match(r)
			}))
		} else {
			best.tighten(l.match(s.now, ids(l), func(r *rule) certainty {
				if r.decision == Allow && !r.source.Escalated {
					return noMatch
				}
				return match(r)
			}))
			best.tighten(l.match(s.now, ids(l), func(r *rule) certainty {
				if !r.source.Escalated {
					return noMatch
				}
				return match(r)
			}))
		}
	}
	return best
}

// index finds the rules that may match a command by the command's name, in their order.
type index struct {
	all   []int
	wild  []int // rules whose command name is a pattern
	named map[string][]int
}

// add adds a rule with its position in the layer.
func (x *index) add(id int, r *rule) {
	x.all = append(x.all, id)
	if len(r.words) == 0 || r.words[0].kind != literalWord {
		x.wild = append(x.wild, id)
		return
	}
	if x.named == nil {
		x.named = make(map[string][]int)
	}
	key := programKey(r.words[0].text)
	x.named[key] = append(x.named[key], id)
}

// forNames returns the rules for a command with several names, as forName does for one.
func (x *index) forNames(names []string, known bool) iter.Seq[int] {
	if len(names) == 1 || !known {
		return x.forName(programKey(names[0]), known)
	}
	ids := slices.Clone(x.wild)
	for _, name := range names {
		ids = append(ids, x.named[programKey(name)]...)
	}
	slices.Sort(ids)
	return slices.Values(slices.Compact(ids))
}

// forName returns the rules for a command with a key of programKey, and all rules if the name is
// unknown.
func (x *index) forName(key string, known bool) iter.Seq[int] {
	return func(yield func(int) bool) {
		if !known {
			for _, id := range x.all {
				if !yield(id) {
					return
				}
			}
			return
		}
		a, b := x.wild, x.named[key]
		for len(a)+len(b) > 0 {
			var id int
			if len(b) == 0 || len(a) > 0 && a[0] < b[0] {
				id, a = a[0], a[1:]
			} else {
				id, b = b[0], b[1:]
			}
			if !yield(id) {
				return
			}
		}
	}
}
