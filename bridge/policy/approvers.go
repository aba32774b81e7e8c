package policy

import (
	"slices"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// RequestApprovers returns the approvers of the command that Codex asks about, as addApprovers does for the call.
func (p *Policy) RequestApprovers(method string, params rpc.Value, st State) (m rules.Match) {
	if method != "item/commandExecution/requestApproval" || !p.HasApprovers() {
		return m
	}
	for _, e := range []rules.Escalation{rules.Sandboxed, rules.Escalated} {
		other := p.match(p.rulesAt(st), method, params, st, e)
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
		if !IsUnset(params.Get(name)) {
			return false
		}
	}
	return method == "item/commandExecution/requestApproval"
}

// needsApproval reports whether Codex's question is about a command that no approver has approved.
func (st State) needsApproval(m rules.Match, leaves bool) bool {
	return len(m.Approvers) > 0 && (st.Approved == NotApproved || leaves && st.Approved != ApprovedOutside)
}

// AskedByRequest returns the commands about which rules ask on the line of a request of Codex. A person who accepts the
// request has read them: they are State.Accepted for the programs of the call. Those with a word that is not known, and
// those that others must approve, are left out.
func (p *Policy) AskedByRequest(method string, params rpc.Value, st State) []rules.AskedCommand {
	if kind := params.Get("kind"); !CanBeApproved(method, params) || !IsUnset(kind) && !kind.Is("command") {
		return nil
	}
	st.ProgramStarts = true
	m, _ := p.ruleMatch(method, params, st, p.questionLeaveReason(method, params, st))
	return slices.DeleteFunc(slices.Clone(m.Asked), func(a rules.AskedCommand) bool { return !a.IsExact() || a.Rule.Approvers != "" })
}
