package toolcall

import (
	"slices"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// decideAsk decides whether the bridge asks a person about a tool call that the rules and
// policy.escalation do not deny.
//
// Codex itself asks about a command that leaves the sandbox, and with more detail, so the bridge
// leaves that question to Codex. Codex may read the paths of a patch in another way, so the bridge
// asks about patches. line is the result of LineLeaveReason.
func decideAsk(p *policy.Policy, t Call, st policy.State, m rules.Match, line policy.LeaveReason) (d policy.Decision) {
	gated := IsGated(p, t, st.Thread)
	asked := m.Decision == rules.Ask || m.Decision != rules.Allow && gated
	switch {
	case !p.HasGate() || st.Thread == nil || slices.Contains([]string{`"never"`, `"untrusted"`}, string(st.Thread.Approval)):
		return d
	case t.Name == "Bash" && st.Escalation == rules.Escalated && st.Thread.Sandbox != policy.FullAccess.String():
		if st.EscalationRequested || !asked && !line.Leaves() {
			return d
		}
		// Codex may run this call inside the sandbox, without a question.
		if line.Leaves() {
			return policy.Decision{Ask: true, AskReason: line.Marked(), LeavesSandbox: true}
		}
		st.Escalation = rules.EscalationUnknown
		return policy.Decision{Ask: true, AskReason: policy.CallLeaveReason(st).Marked(), LeavesSandbox: true}
	case st.Thread.Sandbox == policy.FullAccess.String() && asked:
		return policy.Decision{Ask: true, AskReason: policy.LeavesMark + "the thread has no sandbox", LeavesSandbox: true}
	case line.Leaves():
		return policy.Decision{Ask: true, AskReason: line.Marked(), LeavesSandbox: true}
	case t.Name == "apply_patch" || t.AppliesPatch():
		st.Files = t.ChangedFiles()
		if at := p.PatchLeaveReason("item/fileChange/requestApproval", rpc.Value{}, st); at.Leaves() && (t.Name == "apply_patch" || p.ChangesUnasked(st)) {
			return policy.Decision{Ask: true, AskReason: at.Marked(), LeavesSandbox: true}
		}
	}
	switch {
	case m.Decision == rules.Ask:
		return policy.Decision{Ask: true, AskReason: policy.RuleQuestion(m)}
	case asked:
		return policy.Decision{Ask: true, AskReason: "the policy asks before each command and patch (" + policy.RuleApproval + ", " + p.OriginOrDefault(policy.RuleApproval) + ")"}
	}
	return d
}

// IsGated reports whether the bridge asks in Codex's place before a call that no rule allows.
func IsGated(p *policy.Policy, t Call, thread *policy.Thread) bool {
	return thread.IsGated(p) && (t.Name == "Bash" || t.Name == "apply_patch")
}

// refuseLeaving is RefuseEscalation for a tool call.
func refuseLeaving(p *policy.Policy, method string, at policy.LeaveReason, st policy.State) policy.Decision {
	if !p.AsksEscalation() || !st.Thread.RefusesToLeave() {
		return p.RefuseEscalation(method, at)
	}
	return policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
		Method: method, Rule: policy.RuleEscalation, Reason: "it would leave the sandbox: " + at.Reason + "; " + policy.NoQuestions, Origin: p.OriginOrDefault(policy.RuleEscalation),
		Hint: policy.UnaskedHint,
	})}
}

// unaskedReason returns why the client must not be asked about a tool call as d says; "" if it may be.
func unaskedReason(p *policy.Policy, d policy.Decision, t *policy.Thread) string {
	switch {
	case !d.Ask:
		return ""
	case d.LeavesSandbox && t.RefusesToLeave():
		return "it would leave the sandbox, and " + policy.NoQuestions
	case t.AsksAboutRules():
		return ""
	}
	return "the policy asks before each command (" + strings.TrimSpace(policy.RuleApproval+" "+p.RuleOrigin(policy.RuleApproval)) + "), and " + policy.NoQuestions +
		`; to let commands run in the sandbox without a question, put "on-request" first in policy.approval, as codex-bridge init --profile team does, or add an allow rule`
}

// addApprovers adds the approvers of a tool call to d. A call that Codex runs outside the sandbox, at once
// or when it fails inside, needs also those of the rules there.
func addApprovers(p *policy.Policy, d *policy.Decision, t Call, st policy.State, m rules.Match) {
	if t.Name != "Bash" || !p.HasApprovers() {
		return
	}
	for _, e := range []rules.Escalation{rules.Sandboxed, rules.Escalated} {
		other := matchToolAt(p, t, st, e)
		if len(other.Approvers) > 0 && d.ApproversRule == nil {
			d.ApproversRule = other.Rule
		}
		m.Approvers = config.MergeQuorums(m.Approvers, other.Approvers)
	}
	if d.Approvers = m.Approvers; d.ApproversRule == nil {
		d.ApproversRule = m.Rule
	}
}
