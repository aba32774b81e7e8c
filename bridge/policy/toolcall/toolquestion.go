package toolcall

import (
	"slices"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// questionMethods returns the methods by which the bridge or Codex asks about a call. Codex asks about a patch in a
// command as about a patch, and the bridge as about a command.
func (t Call) questionMethods() []string {
	_, isText := t.Input.Get("command").Text()
	switch {
	case t.Name == "apply_patch" && isText:
		return []string{"item/fileChange/requestApproval"}
	case t.Name == "Bash" && isText && t.AppliesPatch():
		return []string{"item/commandExecution/requestApproval", "item/fileChange/requestApproval"}
	case t.Name == "Bash" && isText:
		return []string{"item/commandExecution/requestApproval"}
	}
	return []string{policy.ToolApproval}
}

// deniesQuestion returns the method of the question about a call that policy.methods denies; "" for none.
func deniesQuestion(p *policy.Policy, t Call) string {
	i := slices.IndexFunc(t.questionMethods(), p.DeniesMethod)
	if i < 0 {
		return ""
	}
	return t.questionMethods()[i]
}

// withoutConsent returns the rule for a call without the consent of a rule that allows it, if policy.methods has a
// verdict for the question about the call: under "ask" a person decides, and "deny" is not looser.
func withoutConsent(p *policy.Policy, t Call, m rules.Match) rules.Match {
	hasVerdict := func(method string) bool {
		return p.MethodOverride(method) == "deny" || p.MethodOverride(method) == "ask"
	}
	if m.Decision != rules.Allow || !slices.ContainsFunc(t.questionMethods(), hasVerdict) {
		return m
	}
	return rules.Match{Why: "a rule allows it, but policy.methods lets no rule answer the question"}
}

// RefuseQuestion returns the decision to ask about a call, or its refusal if policy.methods denies the question. The
// bridge declines such a question of Codex for the client, and asks none of its own.
func RefuseQuestion(p *policy.Policy, d policy.Decision, t Call) policy.Decision {
	method := deniesQuestion(p, t)
	if !d.Ask || d.Verdict != policy.Pass || method == "" {
		return d
	}
	return refuseDenied(p, "hook/preToolUse", method, d)
}

// refuseDenied refuses what needs a question of a method that policy.methods denies. d is the decision to ask.
func refuseDenied(p *policy.Policy, what, method string, d policy.Decision) policy.Decision {
	key := config.Key("policy", "methods", method)
	return policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
		Method: what, Rule: key, Origin: p.OriginOrDefault(key),
		Reason: "it needs a question, and the configuration denies that: " + d.AskReason,
		Hint:   "run it yourself, or remove the line",
	})}
}
