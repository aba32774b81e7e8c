package methods

// Under is the verdict with an override of [policy.methods]: "allow", "deny",
// "ask", or "" for none. What codex tells can't be overridden; of what it asks, "deny"
// answers no in the client's place, and with "ask" no rule consents. "allow" lifts
// a refusal and nothing else: what is judged by its fields stays judged, since the
// fields have rules of their own in the policy.
func (r Row) Override(override string) Verdict {
	if !r.Side.IsOverridable() {
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
