package policy

import (
	"bytes"
	"encoding/json"
	"slices"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

const ruleGate = "policy.gate"

// gatedApproval is the approval policy that Codex gets while the bridge asks in its place.
//
// Measured with Codex 0.169: under untrusted, an accepted command that fails in the sandbox runs
// again outside without a second question. Under on-request it stays inside unless the model
// requests more, and then Codex asks. Questions about tools of MCP servers are the same under both.
const gatedApproval = "on-request"

// gatesApproval reports whether the bridge asks in Codex's place if the client's approval policy is
// approval.
func (p *Policy) gatesApproval(approval json.RawMessage) bool {
	return p.gate && string(approval) == `"untrusted"`
}

// gatesFirst reports the same for the policy's first approval policy.
func (p *Policy) gatesFirst() bool { return p.gatesApproval(jsonString(p.approvals[0])) }

// Decision.Gated points to these, so that a decision needs no allocation.
var gatedTrue, gatedFalse = true, false

// gatedReason is the reason of a change by the gate, behind another one.
const gatedReason = "Codex is set to on-request; codex-bridge asks before each command"

// applyApproval sets the approval policy of Codex for the client's approval policy to. rule and
// reason say why to differs from the client's value; both are "" if it does not.
func (c *decider) applyApproval(to json.RawMessage, rule, reason string) {
	c.gated = &gatedFalse
	if c.p.gatesApproval(to) {
		c.gated = &gatedTrue
		to = jsonString(gatedApproval)
		if rule == "" {
			rule = ruleGate
		} else {
			reason += "; "
		}
		reason += gatedReason
	}
	if rule != "" {
		c.setField("approvalPolicy", to, rule, reason)
	}
	if c.spec.opensThread {
		c.sent.Approval = bytes.Clone(to) // the parser reuses the line
	}
}

// GateEnabled reports whether the bridge asks in Codex's place in threads whose client wants
// untrusted.
func (p *Policy) GateEnabled() bool { return p.gate && p.mode == config.Enforce }

// isGated reports whether the bridge asks in Codex's place in the opened thread.
func (s *SentSettings) isGated(st State) bool {
	switch {
	case s != nil && s.Gated != nil:
		return *s.Gated
	case s != nil && s.Approval == nil && st.Thread != nil:
		return st.Thread.Gated
	}
	return false
}

// isGated reports whether the bridge asks about every command of the thread.
func (t *Thread) isGated(p *Policy) bool {
	return t != nil && p.gate && t.Gated && keepsGate(t.Approval)
}

// keepsGate reports whether Codex leaves the questions about commands in the sandbox to the bridge.
func keepsGate(approval json.RawMessage) bool {
	d, err := rpc.ParseValue(approval)
	return err == nil && (d.Root().Is(gatedApproval) || isReduced(d.Root()))
}

// ShownApproval returns the approval policy that the client sees in place of Codex's; nil if it
// sees Codex's.
func (p *Policy) ShownApproval(t *Thread) json.RawMessage {
	switch {
	case !p.granular && t.asksNothing():
		return json.RawMessage(`"never"`) // what the client sent, or what equals it
	case t.isGated(p) && t.questions() == allQuestions:
		return json.RawMessage(`"untrusted"`)
	}
	return nil
}

// decideAsk decides whether the bridge asks a person about a tool call that the rules and
// policy.escalation do not deny.
//
// Codex itself asks about a command that leaves the sandbox, and with more detail, so the bridge
// leaves that question to Codex. Codex may read the paths of a patch in another way, so the bridge
// asks about patches. line is the result of lineLeaveReason.
func (p *Policy) decideAsk(t ToolCall, st State, m rules.Match, line leaveReason) (d Decision) {
	gated := p.IsGated(t, st.Thread)
	asked := m.Decision == rules.Ask || m.Decision != rules.Allow && gated
	switch {
	case !p.gate || st.Thread == nil || slices.Contains([]string{`"never"`, `"untrusted"`}, string(st.Thread.Approval)):
		return d
	case t.Name == "Bash" && st.Escalation == rules.Escalated && st.Thread.Sandbox != fullAccess.String():
		if st.EscalationRequested || !asked && !line.leaves() {
			return d
		}
		// Codex may run this call inside the sandbox, without a question.
		if line.leaves() {
			return Decision{Ask: true, AskReason: line.marked(), LeavesSandbox: true}
		}
		st.Escalation = rules.EscalationUnknown
		return Decision{Ask: true, AskReason: callLeaveReason(st).marked(), LeavesSandbox: true}
	case st.Thread.Sandbox == fullAccess.String() && asked:
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
		return Decision{Ask: true, AskReason: "the policy asks before each command and patch (" + ruleApproval + ", " + p.originOrDefault(ruleApproval) + ")"}
	}
	return d
}
