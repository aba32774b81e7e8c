package policy

import (
	"strings"

	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// questionLeaveReason returns why the action of a request of Codex would leave the sandbox. An
// unknown action leaves it.
func (p *Policy) questionLeaveReason(method string, params rpc.Value, st State) leaveReason {
	switch method {
	case "item/commandExecution/requestApproval":
		return p.commandLeaveReason(params, st)
	case "execCommandApproval":
		return callLeaveReason(st)
	case "item/fileChange/requestApproval", "applyPatchApproval":
		if !IsUnset(params.Get("grantRoot")) {
			return leaveReason{rule: ruleRoots, reason: "it allows all changes below " + formatValue(params.Get("grantRoot"))}
		}
		return p.patchLeaveReason(method, params, st)
	}
	return leaveReason{}
}

func (p *Policy) commandLeaveReason(params rpc.Value, st State) leaveReason {
	reason, _ := params.Get("reason").Text()
	kind := params.Get("kind")
	switch host := params.Get("networkApprovalContext"); {
	case !IsUnset(host) && p.network:
		return leaveReason{} // a person decides
	case !IsUnset(host):
		return leaveReason{rule: ruleNetwork, reason: "the policy forbids the network: " + formatValue(host)}
	case !IsUnset(params.Get("additionalPermissions")):
		return leaveReason{rule: ruleEscalation, reason: "it requests more permissions than the sandbox gives"}
	case !IsUnset(params.Get("approvalId")), !IsUnset(kind) && !kind.Is("command"):
		return leaveReason{rule: ruleEscalation, reason: "it is about a part of a call, and Codex does not say where that would run"}
	case strings.HasSuffix(reason, retrySuffix):
		return leaveReason{rule: ruleEscalation, reason: "it failed in the sandbox and would run again outside"}
	case st.Thread != nil && asksForEscalation(st.Thread) && !strings.HasSuffix(reason, userRuleSuffix):
		return leaveReason{rule: ruleEscalation, reason: "under sandbox_approval, Codex asks about commands outside the sandbox"}
	}
	return callLeaveReason(st)
}

// commandEscalation returns where an accepted command runs, for the rules.
//
// Measured with Codex 0.169: under untrusted, and under granular with sandbox_approval, an accepted
// command that fails in the sandbox runs again outside without a second question. So an acceptance
// keeps a command inside only under on-request and under granular without sandbox_approval, in a
// thread with a sandbox.
func (p *Policy) commandEscalation(l leaveReason, st State) rules.Escalation {
	t := st.Thread
	if l.leaves() || t == nil || t.RerunsOutside || t.Sandbox != ReadOnly.String() && t.Sandbox != WorkspaceWrite.String() {
		return rules.EscalationUnknown
	}
	if !keepsInSandbox(t.Approval) {
		return rules.EscalationUnknown
	}
	return rules.Sandboxed
}

// patchEscalation is commandEscalation for a patch. Codex applies a patch once, but in a read-only
// thread any patch exceeds the sandbox.
func (p *Policy) patchEscalation(l leaveReason, st State) rules.Escalation {
	if l.leaves() || st.Thread == nil || st.Thread.Sandbox != WorkspaceWrite.String() && st.Thread.Sandbox != FullAccess.String() {
		return rules.EscalationUnknown
	}
	return rules.Sandboxed
}

// RunsInSandbox reports whether the action of a request of Codex would run in the sandbox, as far
// as the bridge knows.
func (p *Policy) RunsInSandbox(method string, params rpc.Value, st State) bool {
	return !p.questionLeaveReason(method, params, st).leaves()
}

// AcceptStaysInSandbox reports whether an acceptance keeps the action in the sandbox, also after a
// failure.
func (p *Policy) AcceptStaysInSandbox(method string, params rpc.Value, st State) bool {
	at := p.questionLeaveReason(method, params, st)
	_, reach := p.ruleMatch(method, params, st, at)
	return !at.leaves() && reach == rules.Sandboxed && IsUnset(params.Get("networkApprovalContext"))
}

// asksForEscalation reports whether the thread's approval policy has sandbox_approval, so that its
// questions are about leaving the sandbox.
func asksForEscalation(t *Thread) bool {
	doc, err := rpc.ParseValue(t.Approval)
	if err != nil {
		return false
	}
	asks, _ := doc.Root().Get("granular").Get("sandbox_approval").Bool()
	return asks
}

// retrySuffix ends the reason of a question about running a command again outside the sandbox,
// "command failed; retry without sandbox?" in 0.169.0. userRuleSuffix ends the reason of a question
// that the user's own rules for Codex require.
const (
	retrySuffix    = "without sandbox?"
	userRuleSuffix = "requires approval by policy"
)
