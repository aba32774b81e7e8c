package policy

import (
	"bytes"
	"encoding/json"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/rpc"
)

// GatedApproval is the approval policy that Codex gets while the bridge asks in its place.
//
// Measured with Codex 0.169: under untrusted, an accepted command that fails in the sandbox runs
// again outside without a second question. Under on-request it stays inside unless the model
// requests more, and then Codex asks. Questions about tools of MCP servers are the same under both.
const GatedApproval = "on-request"

// gatesApproval reports whether the bridge asks in Codex's place if the client's approval policy is
// approval.
func (p *Policy) gatesApproval(approval json.RawMessage) bool {
	return p.gate && string(approval) == `"untrusted"`
}

// gatesFirst reports the same for the policy's first approval policy.
func (p *Policy) gatesFirst() bool { return p.gatesApproval(JSONString(p.approvals[0])) }

// Decision.Gated points to these, so that a decision needs no allocation.
var gatedTrue, gatedFalse = true, false

// gatedReason is the reason of a change by the gate, behind another one.
const gatedReason = "Codex is set to on-request; codex-bridge asks before each command"

// applyApproval sets the approval policy of Codex for the client's approval policy to. rule and
// reason say why to differs from the client's value; both are "" if it does not.
func (c *approvalRule) applyApproval(to json.RawMessage, rule, reason string) sentApproval {
	found := sentApproval{gated: &gatedFalse}
	if c.p.gatesApproval(to) {
		found.gated = &gatedTrue
		to = JSONString(GatedApproval)
		if rule == "" {
			rule = RuleGate
		} else {
			reason += "; "
		}
		reason += gatedReason
	}
	if rule != "" {
		c.setField("approvalPolicy", to, rule, reason)
	}
	if c.spec.opensThread {
		found.sent = bytes.Clone(to) // the parser reuses the line
	}
	return found
}

// GateEnabled reports whether the bridge asks in Codex's place in threads whose client wants
// untrusted.
func (p *Policy) GateEnabled() bool { return p.gate && p.mode == config.Enforce }

// IsGated reports whether the bridge asks in Codex's place in the opened thread.
func (s *SentSettings) IsGated(st State) bool {
	switch {
	case s != nil && s.Gated != nil:
		return *s.Gated
	case s != nil && s.Approval == nil && st.Thread != nil:
		return st.Thread.Gated
	}
	return false
}

// IsGated reports whether the bridge asks about every command of the thread.
func (t *Thread) IsGated(p *Policy) bool {
	return t != nil && p.gate && t.Gated && keepsGate(t.Approval)
}

// keepsGate reports whether Codex leaves the questions about commands in the sandbox to the bridge.
func keepsGate(approval json.RawMessage) bool {
	d, err := rpc.ParseValue(approval)
	return err == nil && (d.Root().Is(GatedApproval) || IsReduced(d.Root()))
}

// ShownApproval returns the approval policy that the client sees in place of Codex's; nil if it
// sees Codex's.
func (p *Policy) ShownApproval(t *Thread) json.RawMessage {
	switch {
	case !p.granular && t.AsksNothing():
		return json.RawMessage(`"never"`) // what the client sent, or what equals it
	case t.IsGated(p) && t.questions() == allQuestions:
		return json.RawMessage(`"untrusted"`)
	}
	return nil
}
