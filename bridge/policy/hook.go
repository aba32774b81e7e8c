package policy

import (
	"fmt"
	"strings"

	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/bridge/userrules"
	"codex-bridge.example/rpc"
)

// ConfineCommand keeps an allowed command in the thread's sandbox. Measured with Codex 0.169: it
// runs a command that the user's own rules allow outside, without a question. Under Rewrite,
// Message is the tool input that stays inside; Deny if there is none. otherHooks names the hooks that
// may replace the input, too: Codex takes that of the hook that ends last. ApplyCodexRules must have
// passed the call.
func (p *Policy) ConfineCommand(t ToolCall, st State, own *userrules.Set, otherHooks string) Decision {
	if st.isUnverified() {
		return p.refuseUnverified("hook/preToolUse")
	}
	if !t.isConfined(st) {
		return Decision{Verdict: Pass}
	}
	command, _ := t.Input.Get("command").Text()
	v := own.Judge(command)
	switch {
	case otherHooks != "" && own.Err == nil && len(own.Allowing()) > 0:
		return p.refuseLetOut(otherHooks, own)
	case v.Outcome == userrules.Stays:
		return Decision{Verdict: Pass}
	case v.Outcome == userrules.Leaves || v.Outcome == userrules.Asks:
		from, to := JSONString(command), JSONString(userrules.Wrap(command))
		return Decision{Verdict: Rewrite, Message: fmt.Appendf(nil, `{"command":%s}`, to), Changes: []Change{{
			Field: "tool_input.command", Rule: ruleSandbox, Reason: v.Reason, Origin: p.RuleOrigin(ruleSandbox), From: from, To: to,
		}}}
	case v.Outcome == userrules.Forbids:
		return p.refuseByCodexRule(v.Reason)
	}
	return Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeRefused, Refusal{
		Method: "hook/preToolUse", Rule: ruleSandbox, Reason: "it may leave the sandbox without a question: " + v.Reason, Origin: p.OriginOrDefault(ruleSandbox),
		Hint: "run it yourself, or change your rule for Codex",
	})}
}

// isConfined reports whether a rule for Codex could let the command of a call out of a sandbox.
func (t ToolCall) isConfined(st State) bool {
	_, ok := t.Input.Get("command").Text()
	return t.Name == "Bash" && ok && (st.Thread == nil || st.Thread.Sandbox != FullAccess.String())
}

// ApplyCodexRules applies to a decision that lets a call run the rules for Codex that ask or forbid, and from which
// ConfineCommand hides the command. It denies the call if no person can be asked. A rule of the policy that allows the
// command answers the question, as it answers Codex's. An answer to another question about the command, which also answers
// Codex's, is remembered for the same rules only.
func (p *Policy) ApplyCodexRules(d Decision, t ToolCall, st State, own *userrules.Set) Decision {
	command, ok := t.Input.Get("command").Text()
	if d.Verdict != Pass || t.Name != "Bash" || !ok {
		return d
	}
	d.AnswerTerms = d.AnswerTerms.With(CodexRuleTerms(command, own))
	if !t.isConfined(st) {
		return d
	}
	v := own.Judge(command)
	switch {
	case v.Outcome == userrules.Forbids:
		return p.refuseByCodexRule(v.Reason)
	case v.Outcome != userrules.Asks:
		return d
	case !p.canAsk(t, st.Thread):
		return p.refuseByCodexRule(v.Reason + ", and this thread has no question; use policy.gate and another approvalPolicy than never")
	}
	asksByCodex := string(st.Thread.Approval) == `"untrusted"` || st.EscalationRequested && !t.AppliesPatch()
	if !d.Ask && !asksByCodex && !d.AllowedByRule {
		d.Ask, d.AskReason = true, v.Reason
	}
	return d
}

// refuseByCodexRule refuses a command by a rule for Codex.
func (p *Policy) refuseByCodexRule(reason string) Decision {
	return Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeRefused, Refusal{
		Method: "hook/preToolUse", Rule: ruleSandbox, Reason: reason, Origin: p.OriginOrDefault(ruleSandbox),
		Hint: "run it yourself, or change that rule for Codex",
	})}
}

// AsksAboutMCP reports whether Codex asks the client about tools of MCP servers in a verified thread. Under
// never it rejects them, and another reviewer than the user decides in the client's place.
func AsksAboutMCP(thread *Thread) bool {
	return thread != nil && len(thread.Approval) > 0 && string(thread.Approval) != `"never"` && (thread.Reviewer == "" || thread.Reviewer == "user")
}

// DecidePermission checks a hook's allow for a PermissionRequest. Under Deny, Codex must ask the
// client as usual.
//
// Measured with Codex 0.169: the payload names neither the call nor whether it leaves the sandbox,
// and Codex asks no person after an allow. So only MCP tools pass, to which policy.escalation does
// not apply. The policy may have changed since the call was decided.
func (p *Policy) DecidePermission(t ToolCall, st State) Decision {
	const method = "hook/permissionRequest"
	refusal := Refusal{Method: method, Rule: ruleEscalation, Hint: "answer the approval that Codex sends to the client instead, or add a rule to policy.rule"}
	switch override := p.MethodOverride(toolApproval); {
	case !strings.HasPrefix(t.Name, "mcp__"):
		refusal.Reason = "a hook allowed the call, and the bridge can't tell whether it stays inside the sandbox"
	case override == "deny" || override == "ask":
		refusal.Rule, refusal.Reason = ruleMethods, "a hook allowed the call, but policy.methods has a verdict for "+toolApproval
	case st.Thread.asksNothing():
		refusal.Rule, refusal.Reason = ruleApproval, "a hook allowed the call, and "+noQuestions
	case st.ThreadRevoked:
		refusal.Rule, refusal.Reason = RuleMode, unverifiedReason
	default:
		if p.HasRules() {
			if m := p.matchTool(t, st); m.Decision == rules.Deny {
				return p.ruleRefusal(method, m)
			}
		}
		return Decision{Verdict: Pass}
	}
	refusal.Origin = p.OriginOrDefault(refusal.Rule)
	return Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeRefused, refusal)}
}
