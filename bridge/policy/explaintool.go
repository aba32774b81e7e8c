package policy

import (
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
)

// ToolAnswer is what happens to a tool call.
type ToolAnswer struct {
	Mode     config.Mode `json:"mode"`
	Decision string      `json:"decision"`         // "deny", "ask" or "allow"
	Reason   string      `json:"reason"`           // one sentence
	Rule     string      `json:"rule,omitempty"`   // the configuration key that decided; absent: none
	Origin   string      `json:"origin,omitempty"` // "user FILE:LINE"
	Hint     string      `json:"hint,omitempty"`   // how to change a denial
	// Place is where rules for commands decide: BeforeLine if one has decided, AtProgramStart if they decide
	// about each program of the line later; "" if neither is so.
	Place string `json:"place,omitempty"`
}

// The places of ToolAnswer.
const (
	BeforeLine     = "before the line"
	AtProgramStart = "where the program starts"
)

// ExplainTool returns what DecideTool decides about a call, and the rule that decides.
func (p *Policy) ExplainTool(t ToolCall, st State) ToolAnswer {
	a, _ := p.ExplainCall(t, st)
	return a
}

// ExplainCall is ExplainTool. It also returns the decision.
func (p *Policy) ExplainCall(t ToolCall, st State) (ToolAnswer, Decision) {
	a := ToolAnswer{Mode: p.mode, Decision: "allow", Reason: "no policy is enforced"}
	if p.mode == config.Off {
		return a, Decision{}
	}
	d, m := p.decideTool(t, st)
	switch {
	case m.Rule != nil && m.Rule.Command != "":
		a.Place = BeforeLine
	case t.Name == "Bash" && st.ProgramStarts && p.HasProgramRules():
		a.Place = AtProgramStart
	}
	if r := d.Refusal(); r != nil {
		a.Decision, a.Reason, a.Rule, a.Origin, a.Hint = "deny", r.Reason, r.Rule, r.Origin, r.Hint
		return a, d
	}
	asked := d.Ask || st.Thread != nil && string(st.Thread.Approval) == `"untrusted"` && m.Decision != rules.Allow
	if asked {
		a.Decision = "ask"
		question := Decision{Verdict: Pass, Ask: true, AskReason: "the approval policy untrusted asks about each command"}
		if r := p.RefuseQuestion(question, t).Refusal(); r != nil { // a question of Codex
			a.Decision, a.Reason, a.Rule, a.Origin, a.Hint = "deny", r.Reason, r.Rule, r.Origin, r.Hint
			return a, d
		}
	}
	switch {
	case m.Rule != nil && (m.Decision == rules.Allow || asked && m.Decision == rules.Ask):
		a.Rule, a.Origin, a.Reason = RuleRule, m.Rule.Origin.String(), RuleReason(m)
	case asked && d.LeavesSandbox:
		a.Rule, a.Origin, a.Reason = ruleEscalation, p.RuleOrigin(ruleEscalation), d.AskReason
	case asked:
		a.Rule, a.Origin, a.Reason = ruleApproval, p.RuleOrigin(ruleApproval), "no rule matches, and the approval policy untrusted asks about each command"
		if m.Why != "" {
			a.Reason = m.Why + ", and the approval policy untrusted asks about each command"
		}
	default:
		a.Reason = "no rule matches, and the call stays in the sandbox"
	}
	return a, d
}
