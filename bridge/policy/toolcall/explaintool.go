package toolcall

import (
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rules"
)

// Explanation is what happens to a tool call.
type Explanation struct {
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

// The places of Explanation.
const (
	BeforeLine     = "before the line"
	AtProgramStart = "where the program starts"
)

// Explain returns what Decide decides about a call, and the rule that decides.
func Explain(p *policy.Policy, t Call, st policy.State) Explanation {
	a, _ := ExplainDecision(p, t, st)
	return a
}

// ExplainDecision is Explain. It also returns the decision.
func ExplainDecision(p *policy.Policy, t Call, st policy.State) (Explanation, policy.Decision) {
	a := Explanation{Mode: p.Mode(), Decision: "allow", Reason: "no policy is enforced"}
	if p.Mode() == config.Off {
		return a, policy.Decision{}
	}
	d, m := decide(p, t, st)
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
		question := policy.Decision{Verdict: policy.Pass, Ask: true, AskReason: "the approval policy untrusted asks about each command"}
		if r := RefuseQuestion(p, question, t).Refusal(); r != nil { // a question of Codex
			a.Decision, a.Reason, a.Rule, a.Origin, a.Hint = "deny", r.Reason, r.Rule, r.Origin, r.Hint
			return a, d
		}
	}
	switch {
	case m.Rule != nil && (m.Decision == rules.Allow || asked && m.Decision == rules.Ask):
		a.Rule, a.Origin, a.Reason = policy.RuleRule, m.Rule.Origin.String(), policy.RuleReason(m)
	case asked && d.LeavesSandbox:
		a.Rule, a.Origin, a.Reason = policy.RuleEscalation, p.RuleOrigin(policy.RuleEscalation), d.AskReason
	case asked:
		a.Rule, a.Origin, a.Reason = policy.RuleApproval, p.RuleOrigin(policy.RuleApproval), "no rule matches, and the approval policy untrusted asks about each command"
		if m.Why != "" {
			a.Reason = m.Why + ", and the approval policy untrusted asks about each command"
		}
	default:
		a.Reason = "no rule matches, and the call stays in the sandbox"
	}
	return a, d
}
