package policy

import "codex-bridge.example/rpc"

// UnverifiedReason is the reason why nothing runs in an unverified thread. A running turn continues
// when the policy changes, or when Codex reports forbidden settings.
const UnverifiedReason = "the bridge does not know the thread's rights: its settings are not verified, or the policy no longer allows them"

// IsUnverified reports whether a tool call comes from an unverified thread.
func (st State) IsUnverified() bool { return st.Thread == nil && !st.CodexInternal }

// RefuseUnverified refuses a tool call or a request of an unverified thread.
func (p *Policy) RefuseUnverified(method string) Decision {
	return Decision{Verdict: Deny, Answer: DeclineResult(method, UnverifiedReason), Err: NewRefusalError(rpc.CodeNotVerified, Refusal{
		Method: method, Rule: RuleMode, Reason: UnverifiedReason, Origin: p.OriginOrDefault(RuleMode), Hint: "open the thread again",
	})}
}
