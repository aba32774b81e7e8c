package methods

// Under is the verdict with an override of [policy.methods]: "allow", "deny",
// "ask", or "" for none. Only what a client sends can be overridden. "allow" lifts
// a refusal and nothing else: what is judged by its fields stays judged, since the
// fields have rules of their own in the policy.
func (r Row) Under(override string) Verdict {
	if !r.Side.Client() {
		return r.Verdict
	}
	switch override {
	case "deny":
		return Deny
	case "ask":
		return Ask
	case "allow":
		if r.Verdict == Deny {
			return Pass
		}
	}
	return r.Verdict
}
