package serverrequest

import (
	"encoding/json"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// decideKnownRequest decides a request whose method the table has. The client gets it unless a rule
// or policy.escalation denies it or a rule allows it. always disables allow rules.
func decideKnownRequest(p *policy.Policy, method string, params rpc.Value, st policy.State, always bool) policy.Decision {
	at := questionLeaveReason(p, method, params, st)
	m, reach := ruleMatch(p, method, params, st, at)
	switch {
	case m.Decision == rules.Deny:
		return p.RuleRefusal(method, m)
	case st.ThreadRevoked && IsApproval(method, params):
		return p.RefuseUnverified(method)
	case p.Missing() != "" && IsApproval(method, params):
		return p.RefuseMissing(method)
	case st.Thread.AsksNothing() && IsApproval(method, params) && method != "item/tool/call":
		return refuseUnasked(p, method)
	case at.Leaves() && !p.AsksEscalation():
		return p.RefuseEscalation(method, at)
	case needsApproval(st, m, at.Leaves()):
		return p.RefuseUnapproved(method, m, "Codex asks without that")
	case method == policy.ToolApproval && !st.CallKnown: // it may be a server's own
	case m.Decision == rules.Allow && !always && !mustAsk(p, method, params, st) && (reach == rules.Sandboxed || p.AsksEscalation()):
		if yes := acceptResult(method, params); yes != nil {
			return ruleAcceptance(m, yes)
		}
	}
	if at.Leaves() {
		return markReason(p, params, at, m)
	}
	return quoteReason(p, method, params)
}

// ruleAcceptance returns the acceptance by a rule.
func ruleAcceptance(m rules.Match, yes []byte) policy.Decision {
	return policy.Decision{Verdict: policy.Accept, Answer: yes, Changes: append([]policy.Change{{
		Field: "result", Rule: policy.RuleRule, Reason: policy.RuleReason(m) + ": " + display.Line(display.Clip(m.Part)), Origin: m.Rule.Origin.String(), To: yes,
	}}, policy.ExceptionChanges(m)...)}
}

// acceptResult returns the result that accepts once; nil if Codex does not offer it.
func acceptResult(method string, params rpc.Value) []byte {
	a := answerDecider{request: Request{Method: method, Params: params}}
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

// markReason adds LeavesMark to the reason of a request. Measured: clients show only the reason
// beside the command, and Codex may omit it. The reason of the request is the model's, or one of Codex's. m is the rule
// for the action: its reason is shown, too, if it asks.
func markReason(p *policy.Policy, params rpc.Value, at policy.LeaveReason, m rules.Match) policy.Decision {
	from := params.Get("reason")
	text := at.Marked()
	if m.Decision == rules.Ask {
		text += ". " + policy.RuleQuestion(m)
	}
	if stated := statedReason(params); stated != "" {
		text += ". " + stated
	}
	to := json.RawMessage(policy.JSONString(text))
	return policy.Decision{Verdict: policy.Rewrite, ShownReason: to, Changes: []policy.Change{{
		Field: "params.reason", Rule: policy.RuleEscalation, Reason: at.Reason, Origin: p.RuleOrigin(policy.RuleEscalation), From: policy.CloneRaw(from), To: to,
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

// Request is a request of Codex that the client got.
type Request struct {
	Method string
	Params rpc.Value
}

// Decide checks a request of Codex before the client gets it. It denies unknown requests,
// requests that a rule denies, and actions that leave the sandbox under escalation = "deny". A rule
// accepts only if the action then stays in the sandbox, or if policy.escalation is "ask" and the
// rule has escalated = true. Under Deny, Codex gets Answer, or Err if Answer is nil.
func Decide(p *policy.Policy, method string, params rpc.Value, st policy.State) policy.Decision {
	if p.Mode() == config.Off {
		return policy.Decision{Verdict: policy.Pass}
	}
	row, known := p.Newer().Lookup(methods.ServerRequest, method)
	override := p.MethodOverride(method)
	if p.MethodOverride(policy.ToolApproval) == "deny" && asksForTool(params) {
		override = "deny" // the same question, as Codex asks it without its feature tool_call_mcp_elicitation
	}
	switch {
	case known && (override == "deny" || override == "" && row.Verdict == methods.Deny):
		d := p.RefuseMethod(row, methods.Deny, true)
		d.Answer = policy.DeclineResult(method, d.Err.Message)
		return d
	case known:
		return decideKnownRequest(p, method, params, st, override == "ask")
	case p.AllowsUnknown(), override == "allow", override == "ask":
		return policy.Decision{Verdict: policy.Pass}
	}
	reason, hint := "Codex "+p.Newer().Covered()+" has no such request", "use Codex "+p.Newer().Covered()+`, or set policy.unknown_methods = "allow"`
	if why := p.Newer().WhyLeftOut(method); why != "" {
		reason, hint = why, "update codex-bridge, or use Codex "+methods.Measured
	}
	return policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
		Method: method, Rule: policy.RuleUnknown, Reason: reason, Origin: p.OriginOrDefault(policy.RuleUnknown), Hint: hint,
	})}
}

// refuseUnasked refuses a request of Codex that the client does not want to get.
func refuseUnasked(p *policy.Policy, method string) policy.Decision {
	reason := "it needs a person's approval, and " + policy.NoQuestions
	return policy.Decision{Verdict: policy.Deny, Answer: policy.DeclineResult(method, reason), Err: policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
		Method: method, Rule: policy.RuleApproval, Reason: reason, Origin: p.OriginOrDefault(policy.RuleApproval),
		Hint: policy.UnaskedHint,
	})}
}
