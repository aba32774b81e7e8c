package policy

import "codex-bridge/rpc"

// unverifiedReason is why nothing runs in a thread that is not verified. A running turn goes on when the
// policy changes, or when Codex reports settings that the policy does not allow.
const unverifiedReason = "the bridge does not know what is allowed in this thread: its settings are not verified, or the policy no longer allows them"

// unverified reports whether a tool call is made in a thread that is not verified.
func (st State) unverified() bool { return st.Thread == nil && !st.CodexInternal }

// unverifiedCall is the refusal of a tool call, or of a question, in a thread that is not verified.
func (p *Policy) unverifiedCall(method string) Decision {
	return Decision{Verdict: Deny, Answer: refusal(method, unverifiedReason), Err: NewRefusalError(rpc.CodeNotVerified, Refusal{
		Method: method, Rule: ruleMode, Reason: unverifiedReason, Origin: p.place(ruleMode), Hint: "open the thread again",
	})}
}

// IsApproval reports whether Codex does something when the answer to its question is yes.
func IsApproval(method string, params rpc.Value) bool {
	switch method {
	case "item/commandExecution/requestApproval", "item/fileChange/requestApproval", "item/permissions/requestApproval",
		"execCommandApproval", "applyPatchApproval", "item/tool/call":
		return true
	case "mcpServer/elicitation/request":
		return params.Get("_meta").Get("codex_approval_kind").Exists()
	case "item/tool/requestUserInput":
		return asksForTool(params) || asksToInstall(params)
	}
	return false
}
