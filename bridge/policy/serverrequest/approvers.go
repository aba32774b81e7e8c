package serverrequest

import (
	"slices"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// Approvers returns the approvers of the command that Codex asks about, as addApprovers does for the call.
func Approvers(p *policy.Policy, method string, params rpc.Value, st policy.State) (m rules.Match) {
	if method != "item/commandExecution/requestApproval" || !p.HasApprovers() {
		return m
	}
	for _, e := range []rules.Escalation{rules.Sandboxed, rules.Escalated} {
		other := match(p, p.RulesAt(st), method, params, st, e)
		if len(other.Approvers) > 0 && m.Rule == nil {
			m.Rule = other.Rule
		}
		m.Approvers = config.MergeQuorums(m.Approvers, other.Approvers)
	}
	return m
}

// CanBeApproved reports whether approvers can approve the command that Codex asks about. They approve calls, not
// a part of a call or a host.
func CanBeApproved(method string, params rpc.Value) bool {
	for _, name := range []string{"networkApprovalContext", "approvalId", "additionalPermissions"} {
		if !policy.IsUnset(params.Get(name)) {
			return false
		}
	}
	return method == "item/commandExecution/requestApproval"
}

// needsApproval reports whether Codex's question is about a command that no approver has approved.
func needsApproval(st policy.State, m rules.Match, leaves bool) bool {
	return len(m.Approvers) > 0 && (st.Approved == policy.NotApproved || leaves && st.Approved != policy.ApprovedOutside)
}

// AskedCommands returns the commands about which rules ask on the line of a request of Codex. A person who accepts the
// request has read them: they are State.Accepted for the programs of the call. Those with a word that is not known, and
// those that others must approve, are left out.
func AskedCommands(p *policy.Policy, method string, params rpc.Value, st policy.State) []rules.AskedCommand {
	if kind := params.Get("kind"); !CanBeApproved(method, params) || !policy.IsUnset(kind) && !kind.Is("command") {
		return nil
	}
	st.ProgramStarts = true
	m, _ := ruleMatch(p, method, params, st, questionLeaveReason(p, method, params, st))
	return slices.DeleteFunc(slices.Clone(m.Asked), func(a rules.AskedCommand) bool { return !a.IsExact() || a.Rule.Approvers != "" })
}
