package policy

import (
	"bytes"
	"cmp"
	"slices"

	"codex-bridge/bridge/config"
	"codex-bridge/rpc"
)

// maxRounds bounds how often several policies judge one message together.
const maxRounds = 8

// DecideTogether decides a message that several policies have to allow. first is the decision of policies[0] alone. The other
// policies then judge what is left of the message, and all of them again until none changes it any more. So the message
// is what each of them passes. Policies that are not enforced have no part in this.
//
// In the first round each policy judges by itself, so that a change names the policy that wants it. From the second
// round on, State.Policies has a message define together what it defines as a whole, such as the trust in projects and the
// permissions profile. Policies that want different values of a field have the message denied.
//
// decide is Policy.Decide with what it turns out to need; with is for State.Policies.
func DecideTogether(policies []*Policy, first Decision, decide func(p *Policy, m *rpc.Message, with []*Policy) Decision) Decision {
	enforced := slices.DeleteFunc(slices.Clone(policies), func(p *Policy) bool { return p.mode != config.Enforce })
	if first.Verdict == Deny || len(enforced) < 2 || enforced[0] != policies[0] {
		return first
	}
	d, judging, with := first, enforced[1:], []*Policy(nil)
	var last []Change
	for range maxRounds {
		var changes []Change
		for _, p := range judging {
			m, err := rpc.ParseMessage(d.Message)
			if err != nil {
				return Decision{Verdict: Deny, Err: rpc.Errorf(rpc.CodeInternal, "the message as it was rewritten can't be read: %v", err)}
			}
			e := decide(p, m, with)
			if e.Verdict == Deny {
				return e
			}
			if !bytes.Equal(d.Message, e.Message) {
				changes = append(changes, e.Changes...)
			}
			d = d.combine(m, e, with == nil)
		}
		if with != nil && len(changes) == 0 {
			return d
		}
		judging, with, last = enforced, enforced, changes
	}
	m, _ := rpc.ParseMessage(first.Message) // it was parsed in the first round
	return Decision{Verdict: Deny, Err: contradictionError(m.Method, last)}
}

// then returns what d, and the decision e about its message m, come to. If e leaves the message as it is, alone tells
// whether its changes count: an approval policy that the bridge keeps in Codex's place is one.
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
	if e.Gated == nil || d.Gated != nil && *d.Gated { // the bridge asks if one of the policies wants that
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
		if d.Sent.Approval == nil && m.Params.Get("approvalPolicy").Exists() {
			e.Sent.Approval = nil // put there by an earlier policy, which does not compare it
		}
	}
	return e
}

// contradiction is the refusal of a message that policies keep changing, each what another has put there.
func contradictionError(method string, changes []Change) *rpc.Error {
	one := changes[0]
	reason := "policies that count for this thread contradict each other: " + one.Reason
	for _, other := range changes[1:] {
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

// tightened returns p with what a message defines as a whole, and what the bridge puts there for fields that are left
// out, as strict as in each of the policies with. Lists that have nothing in common stay those of p, and Together denies
// what they are about.
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
	}
	// All policies put the same value, the first of a list, in place of a forbidden one.
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

// letsWrite reports whether the policy, or one that judges the message beside it, lets some thread write.
func (p *Policy) letsWrite() bool {
	return p.maxLevel != readOnly || slices.ContainsFunc(p.joint, func(q *Policy) bool { return q.maxLevel != readOnly })
}

// common returns the values of own that are in other, too; own if there are none.
func intersection(own, other []string) []string {
	both := slices.DeleteFunc(slices.Clone(own), func(one string) bool { return !slices.Contains(other, one) })
	if len(both) == 0 {
		return own
	}
	return both
}

// inOrderOf returns values in the order that they have in another list; those that are not in it come last.
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

// inBoth returns the folders that are, or are in, one of a and one of b.
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
