package policy

import (
	"fmt"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

const ruleApprovers = "policy.rule.approvers"

// Approval is what the approvers of a rule have approved of a call.
type Approval int

// The approvals. The approvers see whether the call may leave the sandbox.
const (
	NotApproved Approval = iota
	ApprovedInside
	ApprovedOutside
)

// HasApprovers reports whether a rule needs approvers.
func (p *Policy) HasApprovers() bool {
	for _, r := range p.section.Rules {
		if r.Approvers != "" {
			return p.mode == config.Enforce
		}
	}
	return false
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

// requestApprovers returns the approvers of the command that Codex asks about, as addApprovers does for the call.
func (p *Policy) requestApprovers(method string, params rpc.Value, st State) (m rules.Match) {
	if method != "item/commandExecution/requestApproval" || !p.HasApprovers() {
		return m
	}
	for _, e := range []rules.Escalation{rules.Sandboxed, rules.Escalated} {
		other := p.match(method, params, st, e)
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
		if !isUnset(params.Get(name)) {
			return false
		}
	}
	return method == "item/commandExecution/requestApproval"
}

// needsApproval reports whether Codex's question is about a command that no approver has approved.
func (st State) needsApproval(m rules.Match, leaves bool) bool {
	return len(m.Approvers) > 0 && (st.Approved == NotApproved || leaves && st.Approved != ApprovedOutside)
}

// refuseUnapproved refuses a command that needs approvers, where the bridge can't ask them.
func (p *Policy) refuseUnapproved(method string, m rules.Match, why string) Decision {
	reason := strings.TrimSuffix(ruleReason(m), ".") + ": " + membersText(m.Approvers) + " must approve it, and " + why
	return Decision{Verdict: Deny, Answer: DeclineResult(method, reason), Err: NewRefusalError(rpc.CodeRefused, Refusal{
		Method: method, Rule: ruleApprovers, Reason: reason, Origin: m.Rule.Origin.String(), Hint: "run it yourself, or ask again in a turn of Codex",
	})}
}

// membersText returns quorums as the subject of a sentence.
func membersText(list []config.Quorum) string {
	var parts []string
	for _, q := range list {
		if q.Count == 1 {
			parts = append(parts, "a member of "+q.Group)
		} else {
			parts = append(parts, fmt.Sprintf("%d members of %s", q.Count, q.Group))
		}
	}
	return strings.Join(parts, " and ")
}
