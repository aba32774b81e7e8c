package policy

import "codex-bridge.example/rpc"

// Codex stores on-request for a thread in which the bridge asks in its place. So when such a thread opens
// again, only the bridge's own record, State.StoredGate, says that its client wants to be asked about each
// command.
//
// Without a record, an on-request thread counts as one that the bridge asked about if the policy lets a
// client choose that. Such a thread was never opened under an enforced policy with this state, or the state
// was lost, and the two can't be told apart. The one reading can ask about a command too often, and the
// client ends that with approvalPolicy "on-request"; the other one can run commands that its client wanted
// to see. A thread whose client chose untrusted with Codex alone is stored as untrusted and needs no record.

// restoresGate reports whether the bridge asks in Codex's place in the thread that the request opens,
// because it did so before or may have. v is the approval policy that Codex restores.
func (c *request) restoresGate(v rpc.Value) bool {
	switch {
	case c.st.Thread != nil || c.st.UnknownThread:
		return false // the thread's own gate counts
	case !v.Is(GatedApproval) && !questionsOf(v).areFew() || v.Is("never"):
		return false // Codex itself has it from the client
	case c.st.StoredGate != nil:
		return *c.st.StoredGate
	case v.Is(GatedApproval):
		return c.p.gate && c.p.AcceptsApprovalName("untrusted")
	}
	return IsReduced(v) && c.p.gatesFirst() // see reduceApproval
}

// decideRestoredGate decides about a resume or fork of such a thread, or of one in memory about whose commands the
// bridge asks. v is its approval policy.
func (c *approvalRule) decideRestoredGate(v rpc.Value) sentApproval {
	reason := "if omitted, the bridge would no longer ask about each command of the thread"
	if c.st.StoredGate == nil && c.st.Thread == nil {
		reason = "the bridge has no record of the thread, and may have asked about each of its commands"
	}
	if questionsOf(v).areFew() {
		return c.reduceApproval(v, true, reason)
	}
	found := c.replaceApproval(parseApproval(JSONString("untrusted")), reason)
	if found.gated == &gatedTrue {
		found.sent = nil // a loaded thread ignores the field; see decideRestoredApproval
	}
	return found
}
