package toolcall

import (
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/userrules"
	"codex-bridge.example/rpc"
)

// OtherHookHint tells how a hook of the user can replace the input of a call before the bridge judges it.
const OtherHookHint = "let the bridge run that hook: add its command to [[hooks.handler]] with event = \"pre_tool_use\", and remove it from Codex; " +
	"a hook that only watches can stay with \"async\": true"

// RefuseReplaceable refuses a call whose input another hook may replace. hooks names the hook, and why says
// what the bridge needs the input for.
//
// Measured with Codex 0.169 and 0.171: the hooks of a call run at the same time, and the input of the one
// that ends last counts.
func RefuseReplaceable(p *policy.Policy, hooks, why string) policy.Decision {
	return refuseOther(p, hooks, why, policy.RuleMode)
}

// refuseLetOut refuses a command that another hook may replace by one that the user's own rules let out of
// the sandbox.
func refuseLetOut(p *policy.Policy, hooks string, own *userrules.Set) policy.Decision {
	return refuseOther(p, hooks, own.Allowing()[0].String()+" lets commands out of the sandbox, perhaps the new one", policy.RuleSandbox)
}

func refuseOther(p *policy.Policy, hooks, why, rule string) policy.Decision {
	return policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
		Method: "hook/preToolUse", Rule: rule, Reason: hooks + " may replace the input of this call after the bridge has judged it: " + why,
		Origin: p.OriginOrDefault(rule), Hint: OtherHookHint,
	})}
}

// ReplacedInput refuses a call that runs with the input of another hook.
func ReplacedInput(p *policy.Policy, hook string) policy.Decision {
	return policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeNotVerified, policy.Refusal{
		Method: "item/started", Rule: policy.RuleMode, Origin: p.OriginOrDefault(policy.RuleMode), Hint: OtherHookHint,
		Reason: hook + " has replaced the input of a call after the bridge had judged it, so that Codex runs a call that no rule has seen",
	})}
}
