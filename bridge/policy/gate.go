package policy

import (
	"bytes"
	"encoding/json"
	"slices"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/rules"
	"codex-bridge/rpc"
)

const ruleGate = "policy.gate"

// gateway is the approval policy that codex is sent where the bridge asks in its place.
//
// Measured: what is accepted under untrusted, and fails in the sandbox, runs again
// outside of it, and nobody is asked a second time; what runs under on-request stays
// inside unless the model asks for more, and then codex asks. Questions about tools of
// MCP servers are the same under both.
const gatedApproval = "on-request"

// gates tells whether the bridge asks in codex's place where this approval policy is
// the client's.
func (p *Policy) gatesApproval(approval json.RawMessage) bool {
	return p.gate && string(approval) == `"untrusted"`
}

// What Decision.Gated points to, so that a decision allocates nothing for it.
var gatedTrue, gatedFalse = true, false

// takeApproval settles what the client's approval policy is to be, and sends codex the
// one that goes with it. rule and reason tell why it is not what the client sent; ""
// when it is.
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
		reason += "untrusted is kept by the bridge, which asks in codex's place"
	}
	if rule != "" {
		c.setField("approvalPolicy", to, rule, reason)
	}
	if c.spec.opensThread {
		c.sent.Approval = bytes.Clone(to) // the line belongs to the parser
	}
}

// GateEnabled tells whether the bridge asks in codex's place where a client wants to be asked
// about everything.
func (p *Policy) GateEnabled() bool { return p.gate && p.mode == config.Enforce }

// gated tells whether the bridge asks in the thread that was opened.
func (s *SentSettings) isGated(st State) bool {
	switch {
	case s != nil && s.Gated != nil:
		return *s.Gated
	case s != nil && s.Approval == nil && st.Thread != nil:
		return st.Thread.Gated
	}
	return false
}

// gated tells whether the bridge asks for everything in a thread.
func (t *Thread) isGated(p *Policy) bool {
	return t != nil && p.gate && t.Gated && string(t.Approval) == `"`+gatedApproval+`"`
}

// ShownApproval is the approval policy that a client is shown of a thread where Codex says
// another; nil where it is shown what Codex says.
func (p *Policy) ShownApproval(t *Thread) json.RawMessage {
	if t.isGated(p) {
		return json.RawMessage(`"untrusted"`)
	}
	return nil
}

// ask tells whether a person has to be asked about a tool call that neither the rules
// nor policy.escalation are against, by the bridge, and why.
//
// What leaves the sandbox codex asks about by itself. So a command that does is left to
// that question, which says more; of a patch it is not sure that codex sees its paths
// as the policy does, so that it is asked about here. line is what lineLeaves says.
func (p *Policy) decideAsk(t ToolCall, st State, m rules.Match, line leaveReason) (d Decision) {
	gated := st.Thread.isGated(p) && (t.Name == "Bash" || t.Name == "apply_patch")
	asked := m.Decision == rules.Ask || m.Decision != rules.Allow && gated
	switch {
	case !p.gate || st.Thread == nil || slices.Contains([]string{`"never"`, `"untrusted"`}, string(st.Thread.Approval)):
		return d
	case t.Name == "Bash" && st.Escalation == rules.Escalated && st.Thread.Sandbox != fullAccess.String():
		if st.EscalationRequested || !asked && !line.leaves() {
			return d
		}
		// Codex may run this call inside of the sandbox, without a question.
		if line.leaves() {
			return Decision{Ask: true, AskReason: leavesMark + line.reason, LeavesSandbox: true}
		}
		st.Escalation = rules.EscalationUnknown
		return Decision{Ask: true, AskReason: leavesMark + callLeaveReason(st).reason, LeavesSandbox: true}
	case st.Thread.Sandbox == fullAccess.String() && asked:
		return Decision{Ask: true, AskReason: leavesMark + "the thread has no sandbox", LeavesSandbox: true}
	case line.leaves():
		return Decision{Ask: true, AskReason: leavesMark + line.reason, LeavesSandbox: true}
	case t.Name == "apply_patch":
		text, _ := t.Input.Get("command").Text()
		st.Files = st.patchedPaths(text, t.Cwd)
		if at := p.patchLeaveReason("item/fileChange/requestApproval", rpc.Value{}, st); at.leaves() {
			return Decision{Ask: true, AskReason: leavesMark + at.reason, LeavesSandbox: true}
		}
	}
	switch {
	case m.Decision == rules.Ask:
		return Decision{Ask: true, AskReason: m.Rule.Reason}
	case asked:
		return Decision{Ask: true}
	}
	return d
}
