package policy

import (
	"slices"

	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/rpc"
)

const ruleSource = "policy_source"

// harmlessClasses are the classes whose methods pass without the bundle of [policy_source], if their verdict
// allows that.
var harmlessClasses = []methods.Class{methods.Read, methods.FileRead, methods.Account, methods.State}

// needsBundle reports whether a method of a client opens a thread, begins work or changes more than records.
// Methods that end something pass, and so does initialize, so that no editor ends.
func needsBundle(row methods.Row, known bool) bool {
	if !known || row.Verdict == methods.Deny { // policy.methods or policy.unknown_methods allow it
		return true
	}
	return row.Verdict != methods.Pass && row.Method != "initialize" && !slices.Contains(harmlessClasses, row.Class)
}

// RefuseMissing returns the refusal of what needs the bundle, if it does not count.
func (p *Policy) RefuseMissing(method string) Decision {
	reason := p.section.Missing
	err := NewRefusalError(rpc.CodeRefused, Refusal{
		Method: method, Rule: ruleSource, Reason: reason, Origin: p.OriginOrDefault(ruleSource), Hint: `see "codex-bridge policy status"`,
	})
	return Decision{Verdict: Deny, Err: err, Answer: DeclineResult(method, reason)}
}

// DecideWork decides whether work of the bridge itself may begin for a request of the client: it needs the
// bundle of [policy_source].
func (p *Policy) DecideWork(method string) Decision {
	switch {
	case p.DeniesMethod(method):
		return p.RefuseMethod(methods.Row{Side: methods.ClientRequest, Method: method}, methods.Deny, false)
	case p.section.Missing != "":
		return p.RefuseMissing(method)
	}
	return Decision{Verdict: Pass}
}

// WithBundle returns the policy as it is when the bundle of [policy_source] counts again. An open thread keeps
// this one: it goes on when the bundle is back.
func (p *Policy) WithBundle() *Policy {
	if p.section.Missing == "" {
		return p
	}
	q := *p
	q.section.Missing = ""
	return &q
}
