package policy

import (
	"bytes"
	"cmp"
	"slices"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/rpc"
)

// maxRounds bounds how often several policies decide about one message.
const maxRounds = 8

// DecideTogether decides a message that several policies must allow. first is the decision of
// policies[0]. The other policies then decide about the result, and all of them again until no
// policy changes it. Only enforced policies take part.
//
// In the first round each policy decides alone, so that a change names its policy. From the second
// round on, State.Policies lets them define values together that a message has as a whole, such as
// project trust and the permissions profile. The message is denied if policies require different
// values of a field.
//
// decide calls Policy.Decide with State.Policies = with, and gets the facts that Decide needs.
func DecideTogether(policies []*Policy, first Decision, decide func(p *Policy, m *rpc.Message, with []*Policy) Decision) Decision {
	enforced := slices.DeleteFunc(slices.Clone(policies), func(p *Policy) bool { return p.mode != config.Enforce })
	if first.Verdict == Deny || len(enforced) < 2 || enforced[0] != policies[0] {
		return first
	}
	d, judging, with := first, enforced[1:], []*Policy(nil)
	var last []Change
	for range maxRounds {
		var changes []Change
		changed := false
		for _, p := range judging {
			m, err := rpc.ParseMessage(d.Message)
			if err != nil {
				return Decision{Verdict: Deny, Err: rpc.Errorf(rpc.CodeInternal, "the bridge can't read the rewritten message: %v", err)}
			}
			e := decide(p, m, with)
			if e.Verdict == Deny {
				return e
			}
			if !bytes.Equal(d.Message, e.Message) {
				changes, changed = append(changes, e.Changes...), true
			}
			d = d.combine(m, e, with == nil)
		}
		if with != nil && !changed {
			return d
		}
		judging, with, last = enforced, enforced, changes
	}
	m, _ := rpc.ParseMessage(first.Message) // the first round parsed it
	return Decision{Verdict: Deny, Err: contradictionError(m.Method, last)}
}

// combine joins d with the decision e about its message m. alone reports the first round: only then
// do changes of e count that leave the message as it is, such as a gated approval policy.
func (d Decision) combine(m *rpc.Message, e Decision, alone bool) Decision {
	same := bytes.Equal(d.Message, e.Message)
	if same && !alone {
		e.Changes = nil
	}
	e.Changes = append(slices.Clip(d.Changes), e.Changes...)
	if len(e.Changes) > 0 {
		e.Verdict = Rewrite
	} else {
		e.Verdict = Pass
	}
	if e.Gated == nil || d.Gated != nil && *d.Gated { // one policy suffices
		e.Gated = d.Gated
	}
	if same {
		for _, folder := range d.Writable {
			if !slices.Contains(e.Writable, folder) {
				e.Writable = append(slices.Clip(e.Writable), folder)
			}
		}
	}
	if e.Sent != nil && d.Sent != nil {
		e.Sent.Gated = e.Gated
		e.Sent.Trusts = d.Sent.Trusts // e has read what d has added to the overlay
		if d.Sent.Approval == nil && m.Params.Get("approvalPolicy").Exists() {
			e.Sent.Approval = nil // from an earlier policy, which does not compare it
		}
	}
	return e
}

// contradictionError refuses a message that policies change against each other.
func contradictionError(method string, changes []Change) *rpc.Error {
	one := Change{Field: "params", Rule: RuleMode, Reason: "each changes the message of the other"}
	if len(changes) > 0 {
		one = changes[0]
	}
	reason := "the policies of this thread contradict each other: " + one.Reason
	for _, other := range changes {
		if other.Field == one.Field && other.Reason != one.Reason {
			reason += "; and then " + other.Reason
			if other.Origin != "" {
				reason += " (" + other.Origin + ")"
			}
			break
		}
	}
	return NewRefusalError(rpc.CodeRefused, Refusal{
		Method: method, Rule: one.Rule, Field: one.Field, Origin: one.Origin, Reason: reason,
		Hint: "make the policy files of the thread's folders allow one value in common; if the configuration has changed, open the thread again",
	})
}

// strictest returns p with the strictest values of the policies in with, for parts that the bridge
// defines as a whole and for omitted fields. Lists without a common value stay those of p;
// DecideTogether then denies the message.
func (p *Policy) strictest(with []*Policy) *Policy {
	if len(with) == 0 {
		return p
	}
	t := *p
	for _, q := range with {
		if q == p {
			continue
		}
		t.maxLevel = min(t.maxLevel, q.maxLevel)
		t.network = t.network && q.network
		t.granular = t.granular && q.granular
		t.gate = t.gate || q.gate
		t.approvals = intersection(t.approvals, q.approvals)
		t.reviewers = intersection(t.reviewers, q.reviewers)
		switch {
		case t.efforts == nil:
			t.efforts = q.efforts
		case q.efforts != nil:
			t.efforts = intersection(t.efforts, q.efforts)
		}
		if slices.Index(trustValues, q.trust) > slices.Index(trustValues, t.trust) {
			t.trust = q.trust
		}
		for _, one := range q.pins {
			if !slices.Contains(t.pins, one) {
				t.pins = append(slices.Clip(t.pins), one)
			}
		}
		t.addProtected(q.protected)
		if t.required == nil {
			t.required = q.required
		}
	}
	// All policies must replace a forbidden value by the same one, the first of the list.
	t.approvals, t.reviewers = sortByOrder(with[0].approvals, t.approvals), sortByOrder(with[0].reviewers, t.reviewers)
	for _, q := range with {
		if q.efforts != nil {
			t.efforts = sortByOrder(q.efforts, t.efforts)
			break
		}
	}
	t.joint = with
	return &t
}

// letsWrite reports whether the policy, or one that decides with it, lets some thread write.
func (p *Policy) letsWrite() bool {
	return p.maxLevel != ReadOnly || slices.ContainsFunc(p.joint, func(q *Policy) bool { return q.maxLevel != ReadOnly })
}

// intersection returns the values of own that are in other; own if there are none.
func intersection(own, other []string) []string {
	both := slices.DeleteFunc(slices.Clone(own), func(one string) bool { return !slices.Contains(other, one) })
	if len(both) == 0 {
		return own
	}
	return both
}

// sortByOrder returns values in the order of another list. Values that are not in it come last.
func sortByOrder(order, values []string) []string {
	rank := func(value string) int {
		if i := slices.Index(order, value); i >= 0 {
			return i
		}
		return len(order)
	}
	values = slices.Clone(values)
	slices.SortStableFunc(values, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	return values
}

// intersectFolders returns the folders that are equal to or in one of a and one of b.
func intersectFolders(a, b []string) (both []string) {
	add := func(outer, inner string) {
		if WritableBelow(outer, inner) && !slices.Contains(both, inner) {
			both = append(both, inner)
		}
	}
	for _, x := range a {
		for _, y := range b {
			add(x, y)
			add(y, x)
		}
	}
	return both
}
