package simulate

import (
	"cmp"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/replay"
	"codex-bridge.example/bridge/rules"
)

// maxDenials bounds the distinct denials that Suggest keeps.
const maxDenials = 10_000

// Place is a file to which rules can be added.
type Place struct {
	Name string // with an article
	// With returns the current policy with rules before the others of the file.
	With func([]config.Rule) (*policy.Policy, error)
}

// Proposal is the smallest set of rules that would have allowed a call that was denied.
type Proposal struct {
	Rules   []config.Rule
	Place   string   // the name of the file to which they are to be added
	Denials int64    // recorded denials that they would have allowed
	Users   []*Count // of these denials
	By      replay.Recomputed
	Example Example
	// Others are other recorded calls that they would have allowed.
	Others        int64
	OtherExamples []Example

	policy *policy.Policy // the current policy with the rules
	key    string
	users  map[string]int64
}

// Suggestions are the result of Suggest.
type Suggestions struct {
	Proposals   []*Proposal // the most frequent first
	More        int         // proposals beyond the maximum
	NotProposed []*Count    // denials, by the reason
	NotChecked  int64       // records of which it is not known whether the rules would allow them
}

// Suggest proposes rules for the denials that selected reports, as the rules count at now: for the first of places
// whose rules would allow a call. all returns the records, once for the denials and once for what else the rules
// would allow. It returns at most maximum proposals.
//
// It proposes nothing for a call that leaves the sandbox or may, that another key than a rule denies, that needs approvers,
// or whose command line is outside the grammar of package rules.
func Suggest(all func() iter.Seq2[Record, error], selected func(*Record) bool, current *policy.Policy,
	places []Place, now time.Time, maximum int,
) (*Suggestions, error) {
	s := &suggester{current: current, places: places, now: now, found: make(map[string]*Proposal), reasons: make(map[string]int64)}
	var repeated repeats
	err := inOrder(all(), always(func(r *Record) judged {
		if r.Verdict != string(policy.Deny) || !selected(r) {
			return judged{replayable: replayable{Record: r}}
		}
		j := judged{replayable: prepare(r)}
		j.current = j.effect(current, now)
		return j
	}), func(j judged) {
		if j.Verdict == string(policy.Deny) && selected(j.Record) && !repeated.isRepeat(&j.replayable) {
			s.addDenial(&j)
		}
	})
	if err != nil {
		return nil, err
	}
	out := s.finish(maximum)
	if len(out.Proposals) == 0 {
		return out, nil
	}
	type allowed struct {
		replayable
		by      []*Proposal
		unknown bool
	}
	repeated = repeats{}
	return out, inOrder(all(), always(func(r *Record) allowed {
		d := prepare(r)
		a := allowed{replayable: d}
		was := d.effect(current, now)
		if a.unknown = was.Unknown != ""; a.unknown || was.Effect == replay.Allows {
			return a
		}
		for _, p := range out.Proposals {
			if e := d.effect(p.policy, now); e.Unknown == "" && e.Effect == replay.Allows {
				a.by = append(a.by, p)
			}
		}
		return a
	}), func(a allowed) {
		if repeated.isRepeat(&a.replayable) {
			return
		}
		if a.unknown {
			out.NotChecked++
		}
		for _, p := range a.by {
			if r := a.Record; r.Verdict == string(policy.Deny) && selected(r) && s.keyOf(&a.replayable) == p.key {
				continue // it is one of its denials
			}
			if p.Others++; len(p.OtherExamples) < maxExamples {
				p.OtherExamples = append(p.OtherExamples, a.example(""))
			}
		}
	})
}

// always returns the worker of inOrder for a function that keeps nothing.
func always[T any](compute func(*Record) T) func() func(*Record) T {
	return func() func(*Record) T { return compute }
}

type suggester struct {
	current *policy.Policy
	places  []Place
	now     time.Time
	found   map[string]*Proposal
	reasons map[string]int64
}

func (s *suggester) addDenial(j *judged) {
	refuse := func(why string) { addReason(s.reasons, why) }
	switch {
	case j.current.Unknown != "":
		refuse(j.current.Unknown)
		return
	case j.replay == nil:
		refuse("it is not about a call")
		return
	case j.current.Effect == replay.Allows:
		refuse("the current policy allows it")
		return
	case j.current.Effect == replay.NeedsApprovers:
		refuse("a second person must approve it")
		return
	case j.current.Effect == replay.Denies && j.current.Rule != "policy.rule":
		refuse("not a rule denies it, but " + j.current.Rule)
		return
	}
	key := s.keyOf(&j.replayable)
	p := s.found[key]
	if p == nil {
		if len(s.found) == maxDenials {
			refuse("there are too many distinct denials; choose fewer with --since or --thread")
			return
		}
		var why string
		if p, why = s.propose(j); why != "" {
			refuse(why)
			return
		}
		p.By, p.Example, p.key, p.users = j.current, j.example(j.current.Reason), key, make(map[string]int64)
		s.found[key] = p
	}
	p.Denials++
	addReason(p.users, j.user())
}

// propose returns the smallest rules for a denial, or why there are none.
func (s *suggester) propose(j *judged) (*Proposal, string) {
	exact, why := s.exactRules(&j.replayable)
	if why != "" {
		return nil, why
	}
	for _, place := range s.places {
		list, with, not := s.smallest(j, exact, place)
		if not == "" {
			return &Proposal{Rules: list, Place: place.Name, policy: with}, ""
		}
		why = cmp.Or(why, not)
	}
	return nil, why
}

// smallest returns those of the rules without which the call is not allowed, and the policy with them.
func (s *suggester) smallest(j *judged, list []config.Rule, place Place) ([]config.Rule, *policy.Policy, string) {
	allows := func(list []config.Rule) (*policy.Policy, string) {
		p, err := place.With(list)
		if err != nil {
			return nil, "the rule would not be valid: " + err.Error()
		}
		e := j.effect(p, s.now)
		switch {
		case e.Unknown != "":
			return nil, e.Unknown
		case e.Effect != replay.Allows:
			return nil, "no rule of " + place.Name + " can allow it: " + e.Rule + " of " + cmp.Or(e.Origin, "the built-in policy") + " counts, too"
		}
		return p, ""
	}
	p, why := allows(list)
	for i := 0; why == "" && i < len(list) && len(list) > 1; {
		fewer := slices.Concat(list[:i], list[i+1:])
		if q, not := allows(fewer); not == "" {
			list, p = fewer, q
		} else {
			i++
		}
	}
	return list, p, why
}

// exactRules returns the rules that match exactly a call, or why there are none.
func (s *suggester) exactRules(d *replayable) ([]config.Rule, string) {
	command, why := replay.StaysInGrammar(s.current, d.replay)
	if why != "" {
		return nil, why
	}
	rule := config.Rule{Decision: "allow"}
	tool := d.facts.Tool
	switch tool.Name {
	case "Bash":
		patterns, why := rules.Exact(command)
		if why != "" {
			return nil, why
		}
		var list []config.Rule
		for _, pattern := range patterns {
			rule.Tool, rule.Command = "shell", pattern
			list = append(list, rule)
		}
		return list, ""
	case "apply_patch":
		var list []config.Rule
		for _, path := range d.facts.Patched() {
			below, err := filepath.Rel(d.facts.Thread.Workspace, path)
			if err != nil || !filepath.IsLocal(below) || strings.ContainsAny(below, `*?[]{}\$`) {
				return nil, "it changes a file outside the workspace, or one that no rule can name exactly"
			}
			rule.Tool, rule.Path = "file", "${workspace}/"+filepath.ToSlash(below)
			if !slices.Contains(list, rule) {
				list = append(list, rule)
			}
		}
		return list, ""
	}
	if tool.Name == "" || strings.ContainsAny(tool.Name, `*?[]{}\`) {
		return nil, "no rule can name the tool exactly"
	}
	rule.Tool = tool.Name
	return []config.Rule{rule}, ""
}

// keyOf returns what denials with the same proposal have in common.
func (s *suggester) keyOf(d *replayable) string {
	if d.facts == nil || d.facts.Tool == nil {
		return ""
	}
	if tool := d.facts.Tool; tool.Name != "Bash" && tool.Name != "apply_patch" {
		return tool.Name
	}
	list, why := s.exactRules(d)
	if why != "" {
		return ""
	}
	var key strings.Builder
	for _, r := range list {
		key.WriteString(r.Tool + "\x00" + r.Command + "\x00" + r.Path + "\x00")
	}
	return key.String()
}

func (s *suggester) finish(maximum int) *Suggestions {
	out := &Suggestions{NotProposed: counts(s.reasons)}
	out.Proposals = slices.SortedFunc(maps.Values(s.found), func(a, b *Proposal) int {
		return cmp.Or(cmp.Compare(b.Denials, a.Denials), cmp.Compare(a.key, b.key))
	})
	if out.More = len(out.Proposals) - maximum; out.More > 0 {
		out.Proposals = out.Proposals[:maximum]
	}
	out.More = max(out.More, 0)
	for _, p := range out.Proposals {
		p.Users = counts(p.users)
	}
	return out
}
