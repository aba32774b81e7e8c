package policy

import (
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
func (p *Policy) RefuseReplaceable(hooks, why string) Decision {
	return p.refuseOther(hooks, why, RuleMode)
}

// refuseLetOut refuses a command that another hook may replace by one that the user's own rules let out of
// the sandbox.
func (p *Policy) refuseLetOut(hooks string, own *userrules.Set) Decision {
	return p.refuseOther(hooks, own.Allowing()[0].String()+" lets commands out of the sandbox, perhaps the new one", ruleSandbox)
}

func (p *Policy) refuseOther(hooks, why, rule string) Decision {
	return Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeRefused, Refusal{
		Method: "hook/preToolUse", Rule: rule, Reason: hooks + " may replace the input of this call after the bridge has judged it: " + why,
		Origin: p.OriginOrDefault(rule), Hint: OtherHookHint,
	})}
}

// ReplacedInput refuses a call that runs with the input of another hook.
func (p *Policy) ReplacedInput(hook string) Decision {
	return Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeNotVerified, Refusal{
		Method: "item/started", Rule: RuleMode, Origin: p.OriginOrDefault(RuleMode), Hint: OtherHookHint,
		Reason: hook + " has replaced the input of a call after the bridge had judged it, so that Codex runs a call that no rule has seen",
	})}
}
