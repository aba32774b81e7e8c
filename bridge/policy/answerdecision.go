package policy

import (
	"slices"

	"codex-bridge/rpc"
)

// words are what an approval is answered with.
type words struct {
	yes, session string
	no           []byte   // the refusal that is put in place of what can't stay
	refusals     []string // pass as they came: nobody has to be offered a no
	amendments   []string // members of the object forms that change codex's own rules
}

var (
	currentWords = words{
		yes: "accept", session: "acceptForSession", no: []byte(`"decline"`), refusals: []string{"decline", "cancel"},
		amendments: []string{"acceptWithExecpolicyAmendment", "applyNetworkPolicyAmendment"},
	}
	legacyWords = words{
		yes: "approved", session: "approved_for_session", no: []byte(`{"denied":{"rejection":"refused by policy"}}`),
		refusals:   []string{"denied", "abort", "timed_out"},
		amendments: []string{"approved_execpolicy_amendment", "network_policy_amendment"},
	}
)

// decision holds the answer to an approval. A consent is given once, and only where
// it was offered. Amendments are written into the user's global rules, a session's
// consent is broad and nowhere to be seen: both become a plain yes, since what is
// to be remembered is for the bridge to remember, exactly.
//
// Measured: a client may widen the amendment that was offered, and codex writes
// down the wider one.
func (a *answer) decision(w *words) {
	result := a.m.Result
	v := result.Get("decision")
	if result.Kind() != rpc.Object || !v.Exists() {
		a.replace(append(append([]byte(`{"decision":`), w.no...), '}'), "there is no decision in "+show(result))
		return
	}
	to, rule, reason := a.decided(w, v)
	if to != nil {
		a.set(result, "decision", "result.decision", to, rule, reason)
	}
	a.only("decision")
}

// refuses reports whether the answer says no.
func (a *answer) refuses() bool {
	v := a.m.Result.Get("decision")
	if a.asked.Method == "mcpServer/elicitation/request" {
		v = a.m.Result.Get("action")
	}
	return slices.ContainsFunc(slices.Concat(currentWords.refusals, legacyWords.refusals), v.Is) || v.Get("denied").Kind() == rpc.Object
}

// decided is what must stand in the place of a decision, nil when it may stay.
func (a *answer) decided(w *words, v rpc.Value) (to []byte, rule, reason string) {
	for _, name := range w.refusals {
		if v.Is(name) {
			return nil, "", ""
		}
	}
	if v.Len() == 1 && v.Get("denied").Kind() == rpc.Object && w == &legacyWords {
		return nil, "", ""
	}
	if a.st.ThreadRevoked {
		return w.no, ruleMode, unverifiedReason
	}
	reason = show(v) + " would hold for longer than once, and for more than was asked"
	switch {
	case v.Is(w.yes):
		if at := a.p.leaving(a.asked.Method, a.asked.Params, a.st); at.leaves() && !a.p.letsOut {
			return w.no, ruleEscalation, "it would leave the sandbox: " + at.reason
		}
		if a.offers(w.yes) {
			return nil, "", ""
		}
		return w.no, ruleProtocol, show(v) + " was not offered"
	case v.Is(w.session):
	case a.amends(w, v):
		if v.Kind() == rpc.Object && denies(v) {
			return w.no, ruleRemember, show(v) + " would be written into codex's own rules"
		}
	default:
		return w.no, ruleProtocol, show(v) + " is no decision that codex knows"
	}
	at := a.p.leaving(a.asked.Method, a.asked.Params, a.st)
	switch {
	case at.leaves() && !a.p.letsOut:
		return w.no, ruleEscalation, "it would leave the sandbox: " + at.reason
	case !a.offersKind(v):
		return w.no, ruleProtocol, show(v) + " was not offered"
	case !a.offers(w.yes):
		return w.no, ruleRemember, reason + "; to accept once was not offered"
	}
	return quote(w.yes), ruleRemember, reason
}

// offers tells whether codex offers a plain decision. Where it says nothing, all
// are.
func (a *answer) offers(name string) bool {
	list := a.asked.Params.Get("availableDecisions")
	if nothing(list) {
		return true
	}
	for e := range list.Elements() {
		if e.Is(name) {
			return true
		}
	}
	return false
}

// offersKind tells whether codex offers a decision of that name, whatever it holds.
func (a *answer) offersKind(v rpc.Value) bool {
	list := a.asked.Params.Get("availableDecisions")
	if nothing(list) {
		return true
	}
	if name, ok := v.Text(); ok {
		return a.offers(name)
	}
	for name := range v.Members() {
		for e := range list.Elements() {
			if e.Get(name).Exists() {
				return true
			}
		}
	}
	return false
}

// amends tells whether v is one of the object forms, or a name that stands for one.
func (a *answer) amends(w *words, v rpc.Value) bool {
	if v.Is("approved_mcp_policy_amendment") {
		return w == &legacyWords
	}
	if v.Kind() != rpc.Object || v.Len() != 1 {
		return false
	}
	for _, name := range w.amendments {
		if v.Get(name).Kind() == rpc.Object {
			return true
		}
	}
	return false
}

// denies tells whether an amendment of the network's rules refuses the host.
func denies(v rpc.Value) bool {
	for _, inner := range v.Members() {
		if amendment := inner.Get("network_policy_amendment"); amendment.Exists() {
			return !amendment.Get("action").Is("allow")
		}
	}
	return false
}
