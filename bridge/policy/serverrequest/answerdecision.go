package serverrequest

import (
	"encoding/json"
	"slices"

	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// decisionNames are the decisions by which a client answers an approval.
type decisionNames struct {
	accept, session string
	decline         []byte            // replaces a forbidden decision
	refusals        []string          // pass without an offer
	amendments      map[string]string // object members that change Codex's rules, with the member that has the rule
}

var (
	currentDecisions = decisionNames{
		accept: "accept", session: "acceptForSession", decline: []byte(`"decline"`), refusals: []string{"decline", "cancel"},
		amendments: map[string]string{
			"acceptWithExecpolicyAmendment": "execpolicy_amendment",
			"applyNetworkPolicyAmendment":   "network_policy_amendment",
		},
	}
	legacyDecisions = decisionNames{
		accept: "approved", session: "approved_for_session", decline: []byte(`{"denied":{"rejection":"refused by policy"}}`),
		refusals: []string{"denied", "abort", "timed_out"},
		amendments: map[string]string{
			"approved_execpolicy_amendment": "proposed_execpolicy_amendment",
			"network_policy_amendment":      "network_policy_amendment",
		},
	}
)

// decideApproval checks the response to an approval. It permits an acceptance once, and only if
// Codex offered it. An amendment changes the user's global rules, and acceptForSession covers more
// than the question and is shown nowhere. Both become a plain acceptance; the bridge remembers
// approvals itself, exactly. Measured with Codex 0.169: it takes acceptForSession also where it does not
// offer it, as for a command outside the sandbox, and clients send it there.
//
// Measured with Codex 0.169: a client may widen the offered amendment, and Codex stores the wider
// one.
func (a *answerDecider) decideApproval(w *decisionNames) {
	result := a.m.Result
	v := result.Get("decision")
	if result.Kind() != rpc.Object || !v.Exists() {
		a.replace(append(append([]byte(`{"decision":`), w.decline...), '}'), "the response has no decision: "+policy.FormatValue(result))
		return
	}
	to, rule, reason := a.replacement(w, v)
	if to != nil {
		a.set(result, "decision", "result.decision", to, rule, reason)
	}
	a.dropUnknownMembers("decision")
}

// isRefusal reports whether the response declines.
func (a *answerDecider) isRefusal() bool {
	v := a.m.Result.Get("decision")
	if a.request.Method == "mcpServer/elicitation/request" {
		v = a.m.Result.Get("action")
	}
	return slices.ContainsFunc(slices.Concat(currentDecisions.refusals, legacyDecisions.refusals), v.Is) || v.Get("denied").Kind() == rpc.Object
}

// replacement returns the decision that replaces v, with the rule and the reason; nil if v may
// stay.
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
		return w.decline, policy.RuleMode, policy.UnverifiedReason
	}
	reason = policy.FormatValue(v) + " would hold longer than once, and for more than this request"
	switch {
	case v.Is(w.accept):
		if at := questionLeaveReason(a.p, a.request.Method, a.request.Params, a.st); at.Leaves() && !a.p.AsksEscalation() {
			return w.decline, policy.RuleEscalation, "it would leave the sandbox: " + at.Reason
		}
		if a.offers(w.accept) {
			return nil, "", ""
		}
		return w.decline, policy.RuleProtocol, policy.FormatValue(v) + " was not offered by Codex"
	case v.Is(w.session):
	case v.Is("approved_mcp_policy_amendment") && w == &legacyDecisions:
	case w.hasAmendment(a.request.Method, a.m.Result):
		if deniesHost(v) {
			return w.decline, ruleRemember, policy.FormatValue(v) + " would change Codex's rules"
		}
	default:
		return w.decline, policy.RuleProtocol, policy.FormatValue(v) + " is not a decision of Codex's schema"
	}
	at := questionLeaveReason(a.p, a.request.Method, a.request.Params, a.st)
	switch {
	case at.Leaves() && !a.p.AsksEscalation():
		return w.decline, policy.RuleEscalation, "it would leave the sandbox: " + at.Reason
	case !v.Is(w.session) && !a.offersKind(v):
		return w.decline, policy.RuleProtocol, policy.FormatValue(v) + " was not offered by Codex"
	case !a.offers(w.accept):
		return w.decline, ruleRemember, reason + ", and Codex did not offer to accept once"
	}
	return policy.JSONString(w.accept), ruleRemember, reason
}

// offers reports whether Codex offers a plain decision. A request without a list offers all of
// them.
func (a *answerDecider) offers(name string) bool {
	list := a.request.Params.Get("availableDecisions")
	if policy.IsUnset(list) {
		return true
	}
	for e := range list.Elements() {
		if e.Is(name) {
			return true
		}
	}
	return false
}

// offersKind reports whether Codex offers a decision with the name of v, with any content.
func (a *answerDecider) offersKind(v rpc.Value) bool {
	list := a.request.Params.Get("availableDecisions")
	if policy.IsUnset(list) {
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

// hasAmendment reports whether the decision of a result is an amendment in the form that Codex reads. Measured with
// Codex 0.169: it takes any other amendment as a refusal, such as one without a rule, and each amendment of a patch.
func (w *decisionNames) hasAmendment(method string, result rpc.Value) bool {
	v := result.Get("decision")
	if v.Kind() != rpc.Object || v.Len() != 1 || methods.CheckResponse(method, result) != nil {
		return false
	}
	for name, content := range v.Members() {
		if ruleName, ok := w.amendments[name]; ok {
			rule := content.Get(ruleName)
			return rule.Kind() == rpc.Array || rule.Get("host").Exists() && rule.Get("action").Exists()
		}
	}
	return false
}

// deniesHost reports whether an amendment of the network rules denies a host.
func deniesHost(v rpc.Value) bool {
	for _, inner := range v.Members() {
		if amendment := inner.Get("network_policy_amendment"); amendment.Exists() {
			return !amendment.Get("action").Is("allow")
		}
	}
	return false
}

// plainDecisions are the decisions for an approval without availableDecisions.
var plainDecisions = map[string][]string{
	"item/commandExecution/requestApproval": {"accept", "acceptForSession", "decline", "cancel"},
	"item/fileChange/requestApproval":       {"accept", "acceptForSession", "decline", "cancel"},
	"execCommandApproval":                   {"approved", "approved_for_session", "denied", "abort"},
	"applyPatchApproval":                    {"approved", "approved_for_session", "denied", "abort"},
}

// OfferedResults returns the results by which a client may answer an approval, one for each
// decision that Codex offers. It returns nil if the method is not an approval with decisions.
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
		add(policy.JSONString(name))
	}
	return out
}
