package policy

import (
	"slices"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// decideAsk decides whether the bridge asks a person about a tool call that the rules and
// policy.escalation do not deny.
//
// Codex itself asks about a command that leaves the sandbox, and with more detail, so the bridge
// leaves that question to Codex. Codex may read the paths of a patch in another way, so the bridge
// asks about patches. line is the result of LineLeaveReason.
func (p *Policy) decideAsk(t ToolCall, st State, m rules.Match, line leaveReason) (d Decision) {
	gated := p.IsGated(t, st.Thread)
	asked := m.Decision == rules.Ask || m.Decision != rules.Allow && gated
	switch {
	case !p.gate || st.Thread == nil || slices.Contains([]string{`"never"`, `"untrusted"`}, string(st.Thread.Approval)):
		return d
	case t.Name == "Bash" && st.Escalation == rules.Escalated && st.Thread.Sandbox != FullAccess.String():
		if st.EscalationRequested || !asked && !line.leaves() {
			return d
		}
		// Codex may run this call inside the sandbox, without a question.
		if line.leaves() {
			return Decision{Ask: true, AskReason: line.marked(), LeavesSandbox: true}
		}
		st.Escalation = rules.EscalationUnknown
		return Decision{Ask: true, AskReason: callLeaveReason(st).marked(), LeavesSandbox: true}
	case st.Thread.Sandbox == FullAccess.String() && asked:
		return Decision{Ask: true, AskReason: leavesMark + "the thread has no sandbox", LeavesSandbox: true}
	case line.leaves():
		return Decision{Ask: true, AskReason: line.marked(), LeavesSandbox: true}
	case t.Name == "apply_patch" || t.AppliesPatch():
		st.Files = t.ChangedFiles()
		if at := p.patchLeaveReason("item/fileChange/requestApproval", rpc.Value{}, st); at.leaves() && (t.Name == "apply_patch" || p.isUnasked(st)) {
			return Decision{Ask: true, AskReason: at.marked(), LeavesSandbox: true}
		}
	}
	switch {
	case m.Decision == rules.Ask:
		return Decision{Ask: true, AskReason: ruleQuestion(m)}
	case asked:
		return Decision{Ask: true, AskReason: "the policy asks before each command and patch (" + ruleApproval + ", " + p.OriginOrDefault(ruleApproval) + ")"}
	}
	return d
}

// IsGated reports whether the bridge asks in Codex's place before a call that no rule allows.
func (p *Policy) IsGated(t ToolCall, thread *Thread) bool {
	return thread.isGated(p) && (t.Name == "Bash" || t.Name == "apply_patch")
}

// refuseLeaving is refuseEscalation for a tool call.
func (p *Policy) refuseLeaving(method string, at leaveReason, st State) Decision {
	if !p.asksEscalation || !st.Thread.refusesToLeave() {
		return p.refuseEscalation(method, at)
	}
	return Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeRefused, Refusal{
		Method: method, Rule: ruleEscalation, Reason: "it would leave the sandbox: " + at.reason + "; " + noQuestions, Origin: p.OriginOrDefault(ruleEscalation),
		Hint: unaskedHint,
	})}
}

// unaskedReason returns why the client must not be asked about a tool call as d says; "" if it may be.
func (p *Policy) unaskedReason(d Decision, t *Thread) string {
	switch {
	case !d.Ask:
		return ""
	case d.LeavesSandbox && t.refusesToLeave():
		return "it would leave the sandbox, and " + noQuestions
	case t.asksAboutRules():
		return ""
	}
	return "the policy asks before each command (" + strings.TrimSpace(ruleApproval+" "+p.RuleOrigin(ruleApproval)) + "), and " + noQuestions +
		`; to let commands run in the sandbox without a question, put "on-request" first in policy.approval, as codex-bridge init --profile team does, or add an allow rule`
}

// addApprovers adds the approvers of a tool call to d. A call that Codex runs outside the sandbox, at once
// or when it fails inside, needs also those of the rules there.
func (p *Policy) addApprovers(d *Decision, t ToolCall, st State, m rules.Match) {
	if t.Name != "Bash" || !p.HasApprovers() {
		return
	}
	for _, e := range []rules.Escalation{rules.Sandboxed, rules.Escalated} {
		other := p.matchToolAt(t, st, e)
		if len(other.Approvers) > 0 && d.ApproversRule == nil {
			d.ApproversRule = other.Rule
		}
		m.Approvers = config.MergeQuorums(m.Approvers, other.Approvers)
	}
	if d.Approvers = m.Approvers; d.ApproversRule == nil {
		d.ApproversRule = m.Rule
	}
}
