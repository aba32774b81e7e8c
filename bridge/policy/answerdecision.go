package policy

import (
	"encoding/json"
	"slices"

	"codex-bridge/rpc"
)

// words are what an approval is answered with.
type decisionNames struct {
	accept, session string
	decline         []byte   // the refusal that is put in place of what can't stay
	refusals        []string // pass as they came: nobody has to be offered a no
	amendments      []string // members of the object forms that change codex's own rules
}

var (
	currentDecisions = decisionNames{
		accept: "accept", session: "acceptForSession", decline: []byte(`"decline"`), refusals: []string{"decline", "cancel"},
		amendments: []string{"acceptWithExecpolicyAmendment", "applyNetworkPolicyAmendment"},
	}
	legacyDecisions = decisionNames{
		accept: "approved", session: "approved_for_session", decline: []byte(`{"denied":{"rejection":"refused by policy"}}`),
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
func (a *answerDecider) decideApproval(w *decisionNames) {
	result := a.m.Result
	v := result.Get("decision")
	if result.Kind() != rpc.Object || !v.Exists() {
		a.replace(append(append([]byte(`{"decision":`), w.decline...), '}'), "there is no decision in "+formatValue(result))
		return
	}
	to, rule, reason := a.replacement(w, v)
	if to != nil {
		a.set(result, "decision", "result.decision", to, rule, reason)
	}
	a.dropUnknownMembers("decision")
}

// refuses reports whether the answer says no.
func (a *answerDecider) isRefusal() bool {
	v := a.m.Result.Get("decision")
	if a.request.Method == "mcpServer/elicitation/request" {
		v = a.m.Result.Get("action")
	}
	return slices.ContainsFunc(slices.Concat(currentDecisions.refusals, legacyDecisions.refusals), v.Is) || v.Get("denied").Kind() == rpc.Object
}

// decided is what must stand in the place of a decision, nil when it may stay.
func (a *answerDecider) replacement(w *decisionNames, v rpc.Value) (to []byte, rule, reason string) {
	for _, name := range w.refusals {
		if v.Is(name) {
			return nil, "", ""
		}
	}
	if v.Len() == 1 && v.Get("denied").Kind() == rpc.Object && w == &legacyDecisions {
		return nil, "", ""
	}
	if a.st.ThreadRevoked {
		return w.decline, ruleMode, unverifiedReason
	}
	reason = formatValue(v) + " would hold for longer than once, and for more than was asked"
	switch {
	case v.Is(w.accept):
		if at := a.p.questionLeaveReason(a.request.Method, a.request.Params, a.st); at.leaves() && !a.p.asksEscalation {
			return w.decline, ruleEscalation, "it would leave the sandbox: " + at.reason
		}
		if a.offers(w.accept) {
			return nil, "", ""
		}
		return w.decline, ruleProtocol, formatValue(v) + " was not offered"
	case v.Is(w.session):
	case a.isAmendment(w, v):
		if v.Kind() == rpc.Object && deniesHost(v) {
			return w.decline, ruleRemember, formatValue(v) + " would be written into codex's own rules"
		}
	default:
		return w.decline, ruleProtocol, formatValue(v) + " is no decision that codex knows"
	}
	at := a.p.questionLeaveReason(a.request.Method, a.request.Params, a.st)
	switch {
	case at.leaves() && !a.p.asksEscalation:
		return w.decline, ruleEscalation, "it would leave the sandbox: " + at.reason
	case !a.offersKind(v):
		return w.decline, ruleProtocol, formatValue(v) + " was not offered"
	case !a.offers(w.accept):
		return w.decline, ruleRemember, reason + "; to accept once was not offered"
	}
	return jsonString(w.accept), ruleRemember, reason
}

// offers tells whether codex offers a plain decision. Where it says nothing, all
// are.
func (a *answerDecider) offers(name string) bool {
	list := a.request.Params.Get("availableDecisions")
	if isUnset(list) {
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
func (a *answerDecider) offersKind(v rpc.Value) bool {
	list := a.request.Params.Get("availableDecisions")
	if isUnset(list) {
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
func (a *answerDecider) isAmendment(w *decisionNames, v rpc.Value) bool {
	if v.Is("approved_mcp_policy_amendment") {
		return w == &legacyDecisions
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
func deniesHost(v rpc.Value) bool {
	for _, inner := range v.Members() {
		if amendment := inner.Get("network_policy_amendment"); amendment.Exists() {
			return !amendment.Get("action").Is("allow")
		}
	}
	return false
}

// plainDecisions are what may be answered to an approval that offers nothing.
var plainDecisions = map[string][]string{
	"item/commandExecution/requestApproval": {"accept", "acceptForSession", "decline", "cancel"},
	"item/fileChange/requestApproval":       {"accept", "acceptForSession", "decline", "cancel"},
	"execCommandApproval":                   {"approved", "approved_for_session", "denied", "abort"},
	"applyPatchApproval":                    {"approved", "approved_for_session", "denied", "abort"},
}

// OfferedResults are the results by which a client may answer an approval: one for each
// decision that codex offers.
func OfferedResults(method string, params rpc.Value) []json.RawMessage {
	plain, ok := plainDecisions[method]
	if !ok {
		return nil
	}
	var out []json.RawMessage
	add := func(decision []byte) {
		out = append(out, append(append([]byte(`{"decision":`), decision...), '}'))
	}
	if list := params.Get("availableDecisions"); list.Kind() == rpc.Array {
		for e := range list.Elements() {
			add(e.Raw())
		}
		return out
	}
	for _, name := range plain {
		add(jsonString(name))
	}
	return out
}
