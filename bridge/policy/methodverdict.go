package policy

import (
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/methods"
	"codex-bridge/rpc"
)

const (
	ruleMethods = "policy.methods"
	ruleUnknown = "policy.unknown_methods"
	ruleMode    = "policy.mode"
)

// verdict is what the method table and policy.methods say of a client's message;
// false when neither knows the name.
func (p *Policy) verdict(m *rpc.Message) (methods.Row, methods.Verdict, bool) {
	side := methods.ClientRequest
	row, known := methods.Lookup(side, m.Method)
	if m.Kind == rpc.Notification {
		// A request without an id is one all the same: codex drops it today.
		if said, ok := methods.Lookup(methods.ClientNotification, m.Method); ok {
			row, known = said, ok
		}
	}
	override := p.overrides[m.Method]
	if !known {
		row = methods.Row{Side: side, Method: m.Method, Verdict: methods.Deny}
		if p.unknown {
			row.Verdict = methods.Pass
		}
	}
	return row, row.Override(override), known
}

// refused is the decision about a method that may not be used.
func (p *Policy) refused(row methods.Row, verdict methods.Verdict, known bool) Decision {
	override := p.overrides[row.Method]
	key := config.Key("policy", "methods", row.Method)
	r := Refusal{Method: row.Method}
	switch {
	case verdict == methods.Ask:
		r.Rule, r.Reason = key, "a person has to be asked about it, by a client that offers the hook permissionRequest or declares that it shows elicitations"
		r.Hint = `declare it in initialize, as capabilities.bridge.hooks or capabilities.bridge.elicitations, or say "allow" or "deny"`
	case override == "deny":
		r.Rule, r.Reason = key, "the configuration denies it"
		r.Hint = "take the line out, or say \"allow\""
	case !known:
		r.Rule, r.Reason = ruleUnknown, "no method of codex "+methods.Measured+", and nobody has judged it"
		r.Hint = "if you know what it does, set " + key + ` = "allow"`
	default:
		r.Rule, r.Reason = ruleMethods, row.Why
		r.Hint = "it acts past the policy; to let it all the same, set " + key + ` = "allow"`
	}
	r.Origin = p.place(r.Rule)
	return Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeRefused, r)}
}
