package policy

import (
	"encoding/json"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/methods"
	"codex-bridge/bridge/rules"
	"codex-bridge/rpc"
)

// asked judges a question that is known. The person is asked about what is neither
// refused nor allowed; always says that it is about nothing else.
func (p *Policy) decideKnownRequest(method string, params rpc.Value, st State, always bool) Decision {
	at := p.questionLeaveReason(method, params, st)
	m, reach := p.ruleMatch(method, params, st, at)
	switch {
	case m.Decision == rules.Deny:
		return p.ruleRefusal(method, m)
	case st.ThreadRevoked && IsApproval(method, params):
		return p.refuseUnverified(method)
	case at.leaves() && !p.asksEscalation:
		return p.refuseEscalation(method, at)
	case m.Decision == rules.Allow && !always && (reach == rules.Sandboxed || p.asksEscalation):
		if yes := acceptResult(method, params); yes != nil {
			return ruleAcceptance(m, yes)
		}
	}
	if at.leaves() {
		return p.markReason(params, at)
	}
	return Decision{Verdict: Pass}
}

// letOut is the refusal of what leaves the sandbox. Measured: of a decline the model is
// told "rejected by user" for a command, "patch rejected by user" for a patch, and no
// reason.
func (p *Policy) refuseEscalation(method string, at leaveReason) Decision {
	reason := "it would leave the sandbox: " + at.reason
	err := NewRefusalError(rpc.CodeRefused, Refusal{
		Method: method, Rule: ruleEscalation, Reason: reason, Origin: p.originOrDefault(ruleEscalation),
		Hint: `do it by hand, or set policy.escalation = "ask"`,
	})
	return Decision{Verdict: Deny, Err: err, Answer: declineResult(method, reason)}
}

// ruledIn is a rule's consent.
func ruleAcceptance(m rules.Match, yes []byte) Decision {
	reason := m.Rule.Reason
	if reason == "" {
		reason = "a rule says " + m.Decision.String()
	}
	return Decision{Verdict: Accept, Answer: yes, Changes: []Change{{
		Field: "result", Rule: ruleRule, Reason: reason + ": " + clip(m.Part), Origin: m.Rule.Origin.String(), To: yes,
	}}}
}

// consent is the answer that says yes once; nil where codex does not offer it.
func acceptResult(method string, params rpc.Value) []byte {
	a := answerDecider{request: ServerRequest{Method: method, Params: params}}
	switch method {
	case "item/commandExecution/requestApproval", "item/fileChange/requestApproval":
		if a.offers(currentDecisions.accept) {
			return []byte(`{"decision":"accept"}`)
		}
	case "execCommandApproval", "applyPatchApproval":
		if a.offers(legacyDecisions.accept) {
			return []byte(`{"decision":"approved"}`)
		}
	case "mcpServer/elicitation/request":
		return []byte(`{"action":"accept","content":{},"_meta":null}`)
	}
	return nil
}

// mark begins the reason of what leaves the sandbox, as the person is shown it.
const leavesMark = "[codex-bridge: leaves the sandbox] "

// marked has the person shown that a question is about leaving the sandbox. The reason
// is all that a client shows beside the command (measured), and may be left out.
func (p *Policy) markReason(params rpc.Value, at leaveReason) Decision {
	from := params.Get("reason")
	text := leavesMark + at.reason
	if said, ok := from.Text(); ok && said != "" {
		text += ". " + said
	}
	to := json.RawMessage(jsonString(text))
	return Decision{Verdict: Rewrite, ShownReason: to, Changes: []Change{{
		Field: "params.reason", Rule: ruleEscalation, Reason: at.reason, Origin: p.ruleOrigin(ruleEscalation), From: cloneRaw(from), To: to,
	}}}
}

// unverifiedReason is why nothing runs in a thread that is not verified. A running turn goes on when the
// policy changes, or when Codex reports settings that the policy does not allow.
const unverifiedReason = "the bridge does not know what is allowed in this thread: its settings are not verified, or the policy no longer allows them"

// unverified reports whether a tool call is made in a thread that is not verified.
func (st State) isUnverified() bool { return st.Thread == nil && !st.CodexInternal }

// unverifiedCall is the refusal of a tool call, or of a question, in a thread that is not verified.
func (p *Policy) refuseUnverified(method string) Decision {
	return Decision{Verdict: Deny, Answer: declineResult(method, unverifiedReason), Err: NewRefusalError(rpc.CodeNotVerified, Refusal{
		Method: method, Rule: ruleMode, Reason: unverifiedReason, Origin: p.originOrDefault(ruleMode), Hint: "open the thread again",
	})}
}

// IsApproval reports whether Codex does something when the answer to its question is yes.
func IsApproval(method string, params rpc.Value) bool {
	switch method {
	case "item/commandExecution/requestApproval", "item/fileChange/requestApproval", "item/permissions/requestApproval",
		"execCommandApproval", "applyPatchApproval", "item/tool/call":
		return true
	case "mcpServer/elicitation/request":
		return params.Get("_meta").Get("codex_approval_kind").Exists()
	case "item/tool/requestUserInput":
		return asksForTool(params) || asksToInstall(params)
	}
	return false
}

// ServerRequest is a request of Codex's that the client has heard.
type ServerRequest struct {
	Method string
	Params rpc.Value
}

// DecideRequest judges a request of Codex's before the client hears it: unknown ones,
// what a rule denies, and what would leave the sandbox. A rule's consent is given
// only where an accept can't let the command out, or where a person may be asked for
// that and the rule says escalated. Denied, Answer or Err is what Codex gets.
func (p *Policy) DecideRequest(method string, params rpc.Value, st State) Decision {
	if p.mode == config.Off {
		return Decision{Verdict: Pass}
	}
	_, known := methods.Lookup(methods.ServerRequest, method)
	override := p.overrides[method]
	if p.deniesToolQuestions && asksForTool(params) {
		override = "deny" // the same question, as Codex asks it without its feature tool_call_mcp_elicitation
	}
	switch {
	case override == "deny" && known:
		d := p.refuseMethod(methods.Row{Method: method}, methods.Deny, true)
		d.Answer = declineResult(method, d.Err.Message)
		return d
	case known:
		return p.decideKnownRequest(method, params, st, override == "ask")
	case p.allowsUnknown, override == "allow", override == "ask":
		return Decision{Verdict: Pass}
	}
	return Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeRefused, Refusal{
		Method: method, Rule: ruleUnknown, Reason: "codex " + methods.Measured + " asks no such thing, and nobody has judged what an answer would allow",
		Origin: p.originOrDefault(ruleUnknown), Hint: "use codex " + methods.Measured + `, or set policy.unknown_methods = "allow"`,
	})}
}
