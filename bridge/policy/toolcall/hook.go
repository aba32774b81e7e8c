package toolcall

import (
	"fmt"
	"strings"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/bridge/userrules"
	"codex-bridge.example/rpc"
)

// Confine keeps an allowed command in the thread's sandbox. Measured with Codex 0.169: it
// runs a command that the user's own rules allow outside, without a question. Under Rewrite,
// Message is the tool input that stays inside; Deny if there is none. otherHooks names the hooks that
// may replace the input, too: Codex takes that of the hook that ends last. ApplyCodexRules must have
// passed the call.
func Confine(p *policy.Policy, t Call, st policy.State, own *userrules.Set, otherHooks string) policy.Decision {
	if st.IsUnverified() {
		return p.RefuseUnverified("hook/preToolUse")
	}
	if !t.isConfined(st) {
		return policy.Decision{Verdict: policy.Pass}
	}
	command, _ := t.Input.Get("command").Text()
	v := own.Judge(command)
	switch {
	case otherHooks != "" && own.Err == nil && len(own.Allowing()) > 0:
		return refuseLetOut(p, otherHooks, own)
	case v.Outcome == userrules.Stays:
		return policy.Decision{Verdict: policy.Pass}
	case v.Outcome == userrules.Leaves || v.Outcome == userrules.Asks:
		from, to := policy.JSONString(command), policy.JSONString(userrules.Wrap(command))
		return policy.Decision{Verdict: policy.Rewrite, Message: fmt.Appendf(nil, `{"command":%s}`, to), Changes: []policy.Change{{
			Field: "tool_input.command", Rule: policy.RuleSandbox, Reason: v.Reason, Origin: p.RuleOrigin(policy.RuleSandbox), From: from, To: to,
		}}}
	case v.Outcome == userrules.Forbids:
		return refuseByCodexRule(p, v.Reason)
	}
	return policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
		Method: "hook/preToolUse", Rule: policy.RuleSandbox, Reason: "it may leave the sandbox without a question: " + v.Reason, Origin: p.OriginOrDefault(policy.RuleSandbox),
		Hint: "run it yourself, or change your rule for Codex",
	})}
}

// isConfined reports whether a rule for Codex could let the command of a call out of a sandbox.
func (t Call) isConfined(st policy.State) bool {
	_, ok := t.Input.Get("command").Text()
	return t.Name == "Bash" && ok && (st.Thread == nil || st.Thread.Sandbox != policy.FullAccess.String())
}

// ApplyCodexRules applies to a decision that lets a call run the rules for Codex that ask or forbid, and from which
// Confine hides the command. It denies the call if no person can be asked. A rule of the policy that allows the
// command answers the question, as it answers Codex's. An answer to another question about the command, which also answers
// Codex's, is remembered for the same rules only.
func ApplyCodexRules(p *policy.Policy, d policy.Decision, t Call, st policy.State, own *userrules.Set) policy.Decision {
	command, ok := t.Input.Get("command").Text()
	if d.Verdict != policy.Pass || t.Name != "Bash" || !ok {
		return d
	}
	d.AnswerTerms = d.AnswerTerms.With(policy.CodexRuleTerms(command, own))
	if !t.isConfined(st) {
		return d
	}
	v := own.Judge(command)
	switch {
	case v.Outcome == userrules.Forbids:
		return refuseByCodexRule(p, v.Reason)
	case v.Outcome != userrules.Asks:
		return d
	case !canAsk(p, t, st.Thread):
		return refuseByCodexRule(p, v.Reason+", and this thread has no question; use policy.gate and another approvalPolicy than never")
	}
	asksByCodex := string(st.Thread.Approval) == `"untrusted"` || st.EscalationRequested && !t.AppliesPatch()
	if !d.Ask && !asksByCodex && !d.AllowedByRule {
		d.Ask, d.AskReason = true, v.Reason
	}
	return d
}

// refuseByCodexRule refuses a command by a rule for Codex.
func refuseByCodexRule(p *policy.Policy, reason string) policy.Decision {
	return policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
		Method: "hook/preToolUse", Rule: policy.RuleSandbox, Reason: reason, Origin: p.OriginOrDefault(policy.RuleSandbox),
		Hint: "run it yourself, or change that rule for Codex",
	})}
}

// AsksAboutMCP reports whether Codex asks the client about tools of MCP servers in a verified thread. Under
// never it rejects them, and another reviewer than the user decides in the client's place.
func AsksAboutMCP(thread *policy.Thread) bool {
	return thread != nil && len(thread.Approval) > 0 && string(thread.Approval) != `"never"` && (thread.Reviewer == "" || thread.Reviewer == "user")
}

// DecidePermission checks a hook's allow for a PermissionRequest. Under Deny, Codex must ask the
// client as usual.
//
// Measured with Codex 0.169: the payload names neither the call nor whether it leaves the sandbox,
// and Codex asks no person after an allow. So only MCP tools pass, to which policy.escalation does
// not apply. The policy may have changed since the call was decided.
func DecidePermission(p *policy.Policy, t Call, st policy.State) policy.Decision {
	const method = "hook/permissionRequest"
	refusal := policy.Refusal{Method: method, Rule: policy.RuleEscalation, Hint: "answer the approval that Codex sends to the client instead, or add a rule to policy.rule"}
	switch override := p.MethodOverride(policy.ToolApproval); {
	case !strings.HasPrefix(t.Name, "mcp__"):
		refusal.Reason = "a hook allowed the call, and the bridge can't tell whether it stays inside the sandbox"
	case override == "deny" || override == "ask":
		refusal.Rule, refusal.Reason = policy.RuleMethods, "a hook allowed the call, but policy.methods has a verdict for "+policy.ToolApproval
	case st.Thread.AsksNothing():
		refusal.Rule, refusal.Reason = policy.RuleApproval, "a hook allowed the call, and "+policy.NoQuestions
	case st.ThreadRevoked:
		refusal.Rule, refusal.Reason = policy.RuleMode, policy.UnverifiedReason
	default:
		if p.HasRules() {
			if m := matchTool(p, t, st); m.Decision == rules.Deny {
				return p.RuleRefusal(method, m)
			}
		}
		return policy.Decision{Verdict: policy.Pass}
	}
	refusal.Origin = p.OriginOrDefault(refusal.Rule)
	return policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeRefused, refusal)}
}
