package policy

import "codex-bridge.example/rpc"

// unverifiedReason is the reason why nothing runs in an unverified thread. A running turn continues
// when the policy changes, or when Codex reports forbidden settings.
const unverifiedReason = "the bridge does not know the thread's rights: its settings are not verified, or the policy no longer allows them"

// isUnverified reports whether a tool call comes from an unverified thread.
func (st State) isUnverified() bool { return st.Thread == nil && !st.CodexInternal }

// refuseUnverified refuses a tool call or a request of an unverified thread.
func (p *Policy) refuseUnverified(method string) Decision {
	return Decision{Verdict: Deny, Answer: DeclineResult(method, unverifiedReason), Err: NewRefusalError(rpc.CodeNotVerified, Refusal{
		Method: method, Rule: RuleMode, Reason: unverifiedReason, Origin: p.OriginOrDefault(RuleMode), Hint: "open the thread again",
	})}
}
