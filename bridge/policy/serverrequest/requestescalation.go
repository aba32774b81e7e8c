package serverrequest

import (
	"strings"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// questionLeaveReason returns why the action of a request of Codex would leave the sandbox. An
// unknown action leaves it.
func questionLeaveReason(p *policy.Policy, method string, params rpc.Value, st policy.State) policy.LeaveReason {
	switch method {
	case "item/commandExecution/requestApproval":
		return commandLeaveReason(p, params, st)
	case "execCommandApproval":
		return policy.CallLeaveReason(st)
	case "item/fileChange/requestApproval", "applyPatchApproval":
		if !policy.IsUnset(params.Get("grantRoot")) {
			return policy.LeaveReason{Rule: policy.RuleRoots, Reason: "it allows all changes below " + policy.FormatValue(params.Get("grantRoot"))}
		}
		return p.PatchLeaveReason(method, params, st)
	}
	return policy.LeaveReason{}
}

func commandLeaveReason(p *policy.Policy, params rpc.Value, st policy.State) policy.LeaveReason {
	reason, _ := params.Get("reason").Text()
	kind := params.Get("kind")
	switch host := params.Get("networkApprovalContext"); {
	case !policy.IsUnset(host) && p.AllowsNetwork():
		return policy.LeaveReason{} // a person decides
	case !policy.IsUnset(host):
		return policy.LeaveReason{Rule: policy.RuleNetwork, Reason: "the policy forbids the network: " + policy.FormatValue(host)}
	case !policy.IsUnset(params.Get("additionalPermissions")):
		return policy.LeaveReason{Rule: policy.RuleEscalation, Reason: "it requests more permissions than the sandbox gives"}
	case !policy.IsUnset(params.Get("approvalId")), !policy.IsUnset(kind) && !kind.Is("command"):
		return policy.LeaveReason{Rule: policy.RuleEscalation, Reason: "it is about a part of a call, and Codex does not say where that would run"}
	case strings.HasSuffix(reason, retrySuffix):
		return policy.LeaveReason{Rule: policy.RuleEscalation, Reason: "it failed in the sandbox and would run again outside"}
	case st.Thread != nil && asksForEscalation(st.Thread) && !strings.HasSuffix(reason, userRuleSuffix):
		return policy.LeaveReason{Rule: policy.RuleEscalation, Reason: "under sandbox_approval, Codex asks about commands outside the sandbox"}
	}
	return policy.CallLeaveReason(st)
}

// commandEscalation returns where an accepted command runs, for the rules.
//
// Measured with Codex 0.169: under untrusted, and under granular with sandbox_approval, an accepted
// command that fails in the sandbox runs again outside without a second question. So an acceptance
// keeps a command inside only under on-request and under granular without sandbox_approval, in a
// thread with a sandbox.
func commandEscalation(l policy.LeaveReason, st policy.State) rules.Escalation {
	t := st.Thread
	if l.Leaves() || t == nil || t.RerunsOutside || t.Sandbox != policy.ReadOnly.String() && t.Sandbox != policy.WorkspaceWrite.String() {
		return rules.EscalationUnknown
	}
	if !policy.KeepsInSandbox(t.Approval) {
		return rules.EscalationUnknown
	}
	return rules.Sandboxed
}

// patchEscalation is commandEscalation for a patch. Codex applies a patch once, but in a read-only
// thread any patch exceeds the sandbox.
func patchEscalation(l policy.LeaveReason, st policy.State) rules.Escalation {
	if l.Leaves() || st.Thread == nil || st.Thread.Sandbox != policy.WorkspaceWrite.String() && st.Thread.Sandbox != policy.FullAccess.String() {
		return rules.EscalationUnknown
	}
	return rules.Sandboxed
}

// RunsInSandbox reports whether the action of a request of Codex would run in the sandbox, as far
// as the bridge knows.
func RunsInSandbox(p *policy.Policy, method string, params rpc.Value, st policy.State) bool {
	return !questionLeaveReason(p, method, params, st).Leaves()
}

// AcceptStaysInSandbox reports whether an acceptance keeps the action in the sandbox, also after a
// failure.
func AcceptStaysInSandbox(p *policy.Policy, method string, params rpc.Value, st policy.State) bool {
	at := questionLeaveReason(p, method, params, st)
	_, reach := ruleMatch(p, method, params, st, at)
	return !at.Leaves() && reach == rules.Sandboxed && policy.IsUnset(params.Get("networkApprovalContext"))
}

// asksForEscalation reports whether the thread's approval policy has sandbox_approval, so that its
// questions are about leaving the sandbox.
func asksForEscalation(t *policy.Thread) bool {
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
