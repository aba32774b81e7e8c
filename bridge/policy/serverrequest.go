package policy

import (
	"encoding/json"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// decideKnownRequest decides a request whose method the table has. The client gets it unless a rule
// or policy.escalation denies it or a rule allows it. always disables allow rules.
func (p *Policy) decideKnownRequest(method string, params rpc.Value, st State, always bool) Decision {
	at := p.questionLeaveReason(method, params, st)
	m, reach := p.ruleMatch(method, params, st, at)
	switch {
	case m.Decision == rules.Deny:
		return p.ruleRefusal(method, m)
	case st.ThreadRevoked && IsApproval(method, params):
		return p.refuseUnverified(method)
	case p.Missing() != "" && IsApproval(method, params):
		return p.refuseMissing(method)
	case st.Thread.asksNothing() && IsApproval(method, params) && method != "item/tool/call":
		return p.refuseUnasked(method)
	case at.leaves() && !p.asksEscalation:
		return p.refuseEscalation(method, at)
	case st.needsApproval(m, at.leaves()):
		return p.refuseUnapproved(method, m, "Codex asks without that")
	case method == toolApproval && !st.CallKnown: // it may be a server's own
	case m.Decision == rules.Allow && !always && !p.mustAsk(method, params, st) && (reach == rules.Sandboxed || p.asksEscalation):
		if yes := acceptResult(method, params); yes != nil {
			return ruleAcceptance(m, yes)
		}
	}
	if at.leaves() {
		return p.markReason(params, at, m)
	}
	return p.quoteReason(method, params)
}

// ruleAcceptance returns the acceptance by a rule.
func ruleAcceptance(m rules.Match, yes []byte) Decision {
	return Decision{Verdict: Accept, Answer: yes, Changes: append([]Change{{
		Field: "result", Rule: RuleRule, Reason: RuleReason(m) + ": " + display.Line(display.Clip(m.Part)), Origin: m.Rule.Origin.String(), To: yes,
	}}, exceptionChanges(m)...)}
}

// acceptResult returns the result that accepts once; nil if Codex does not offer it.
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

// markReason adds leavesMark to the reason of a request. Measured: clients show only the reason
// beside the command, and Codex may omit it. The reason of the request is the model's, or one of Codex's. m is the rule
// for the action: its reason is shown, too, if it asks.
func (p *Policy) markReason(params rpc.Value, at leaveReason, m rules.Match) Decision {
	from := params.Get("reason")
	text := at.marked()
	if m.Decision == rules.Ask {
		text += ". " + ruleQuestion(m)
	}
	if stated := statedReason(params); stated != "" {
		text += ". " + stated
	}
	to := json.RawMessage(JSONString(text))
	return Decision{Verdict: Rewrite, ShownReason: to, Changes: []Change{{
		Field: "params.reason", Rule: ruleEscalation, Reason: at.reason, Origin: p.RuleOrigin(ruleEscalation), From: CloneRaw(from), To: to,
	}}}
}

// IsApproval reports whether Codex acts after a positive response to its request.
func IsApproval(method string, params rpc.Value) bool {
	switch method {
	case methods.Elicitation:
		return params.Get("_meta").Get("codex_approval_kind").Exists()
	case methods.UserInput:
		return asksForTool(params) || asksToInstall(params)
	case methods.ToolCall:
		return true
	}
	return methods.IsForPerson(method)
}

// ServerRequest is a request of Codex that the client got.
type ServerRequest struct {
	Method string
	Params rpc.Value
}

// DecideRequest checks a request of Codex before the client gets it. It denies unknown requests,
// requests that a rule denies, and actions that leave the sandbox under escalation = "deny". A rule
// accepts only if the action then stays in the sandbox, or if policy.escalation is "ask" and the
// rule has escalated = true. Under Deny, Codex gets Answer, or Err if Answer is nil.
func (p *Policy) DecideRequest(method string, params rpc.Value, st State) Decision {
	if p.mode == config.Off {
		return Decision{Verdict: Pass}
	}
	row, known := p.newer.Lookup(methods.ServerRequest, method)
	override := p.MethodOverride(method)
	if p.MethodOverride(toolApproval) == "deny" && asksForTool(params) {
		override = "deny" // the same question, as Codex asks it without its feature tool_call_mcp_elicitation
	}
	switch {
	case known && (override == "deny" || override == "" && row.Verdict == methods.Deny):
		d := p.RefuseMethod(row, methods.Deny, true)
		d.Answer = DeclineResult(method, d.Err.Message)
		return d
	case known:
		return p.decideKnownRequest(method, params, st, override == "ask")
	case p.allowsUnknown, override == "allow", override == "ask":
		return Decision{Verdict: Pass}
	}
	reason, hint := "Codex "+p.newer.Covered()+" has no such request", "use Codex "+p.newer.Covered()+`, or set policy.unknown_methods = "allow"`
	if why := p.newer.WhyLeftOut(method); why != "" {
		reason, hint = why, "update codex-bridge, or use Codex "+methods.Measured
	}
	return Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeRefused, Refusal{
		Method: method, Rule: ruleUnknown, Reason: reason, Origin: p.OriginOrDefault(ruleUnknown), Hint: hint,
	})}
}

// refuseUnasked refuses a request of Codex that the client does not want to get.
func (p *Policy) refuseUnasked(method string) Decision {
	reason := "it needs a person's approval, and " + noQuestions
	return Decision{Verdict: Deny, Answer: DeclineResult(method, reason), Err: NewRefusalError(rpc.CodeRefused, Refusal{
		Method: method, Rule: ruleApproval, Reason: reason, Origin: p.OriginOrDefault(ruleApproval),
		Hint: unaskedHint,
	})}
}
