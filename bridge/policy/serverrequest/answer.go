package serverrequest

import (
	"bytes"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

const ruleRemember = "approvals.remember"

// DecideAnswer checks the client's response to a request of Codex. The response may not exceed
// Codex's offer, may hold for one time only, and must respect the policy. Codex waits for a
// response without a timeout, so a forbidden one becomes a refusal and is not dropped. If the policy
// now denies the request itself, the verdict is Deny, and Message declines for Codex.
func DecideAnswer(p *policy.Policy, asked Request, m *rpc.Message, st policy.State) policy.Decision {
	if p.Mode() == config.Off || m.Kind != rpc.Response {
		return policy.Decision{Verdict: policy.Pass, Message: m.Bytes()} // measured with Codex 0.169: an error declines
	}
	return p.CheckForm(decideAnswer(p, asked, m, st), m, func(m *rpc.Message) *methods.Mismatch {
		return methods.CheckResponse(asked.Method, m.Result)
	}, asked.Method, "result")
}

func decideAnswer(p *policy.Policy, asked Request, m *rpc.Message, st policy.State) policy.Decision {
	passed := policy.Decision{Verdict: policy.Pass, Message: m.Bytes()}
	a := answerDecider{p: p, request: asked, m: m, st: st}
	if m.Truncated() {
		return policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeTooLarge, policy.Refusal{
			Method: asked.Method, Rule: "codex.max_message", Field: "result", Reason: "the response has more values than the bridge reads", Hint: "send less",
		})}
	}
	// The policy may have changed since Codex sent the request.
	if d := Decide(p, asked.Method, asked.Params, st); !st.ThreadRevoked && d.Verdict == policy.Deny && !a.isRefusal() {
		if d.Answer == nil {
			return policy.Decision{Verdict: policy.Deny, Err: d.Err}
		}
		patch := rpc.NewPatch(m)
		patch.Replace(m.Result, d.Answer)
		r := d.Refusal()
		r.Reason = "the policy does not allow what was accepted: " + r.Reason
		return policy.Decision{Verdict: policy.Deny, Message: patch.Bytes(), Err: policy.NewRefusalError(d.Err.Code, *r)}
	}
	switch asked.Method {
	case "item/commandExecution/requestApproval", "item/fileChange/requestApproval":
		a.decideApproval(&currentDecisions)
	case "execCommandApproval", "applyPatchApproval":
		a.decideApproval(&legacyDecisions)
	case "item/permissions/requestApproval":
		if granted := m.Result.Get("permissions"); st.ThreadRevoked && granted.Len() > 0 {
			a.recordChange("result.permissions", granted, []byte(`{}`), policy.RuleMode, policy.UnverifiedReason)
			a.patch.Replace(m.Result, []byte(`{"permissions":{},"scope":"turn"}`))
		} else {
			a.decideGrant()
		}
	case "mcpServer/elicitation/request":
		a.decideElicitation()
	case "item/tool/requestUserInput":
		if asksForTool(asked.Params) || asksToInstall(asked.Params) {
			a.decideUserInput()
		}
	}
	switch {
	case len(a.changes) == 0:
		return passed
	case a.isFull():
		return policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeTooLarge, policy.Refusal{
			Method: asked.Method, Rule: a.changes[0].Rule, Field: "result", Reason: policy.TooManyChanges, Hint: "send fewer forbidden values",
		})}
	}
	return policy.Decision{Verdict: policy.Rewrite, Message: a.patch.Bytes(), Changes: a.changes}
}

// answerDecider decides one response of the client.
type answerDecider struct {
	p       *policy.Policy
	request Request
	m       *rpc.Message
	st      policy.State
	patch   *rpc.Patch
	changes []policy.Change
}

// isFull reports whether the response needs more changes than the bridge makes.
func (a *answerDecider) isFull() bool { return len(a.changes) > policy.MaxChanges }

func (a *answerDecider) recordChange(field string, from rpc.Value, to []byte, rule, reason string) {
	a.changes = append(a.changes, policy.Change{Field: field, Rule: rule, Reason: reason, Origin: a.p.RuleOrigin(rule), From: bytes.Clone(from.Raw()), To: to})
	if a.patch == nil {
		a.patch = rpc.NewPatch(a.m)
	}
}

func (a *answerDecider) set(object rpc.Value, key, field string, to []byte, rule, reason string) {
	a.recordChange(field, object.Get(key), to, rule, reason)
	a.patch.Set(object, key, to)
}

func (a *answerDecider) drop(object rpc.Value, key, field, rule, reason string) {
	a.recordChange(field, object.Get(key), nil, rule, reason)
	a.patch.Delete(object, key)
}

// replace replaces a result of an unknown form.
func (a *answerDecider) replace(to []byte, reason string) {
	a.recordChange("result", a.m.Result, to, policy.RuleProtocol, reason)
	a.patch.Replace(a.m.Result, to)
}

// dropUnknownMembers removes members of the result that Codex's schema does not have.
func (a *answerDecider) dropUnknownMembers(known ...string) {
	if a.p.AllowsUnknown() {
		return
	}
next:
	for key := range a.m.Result.Members() {
		if a.isFull() {
			return
		}
		for _, name := range known {
			if key == name {
				continue next
			}
		}
		a.drop(a.m.Result, key, "result."+key, policy.RuleUnknown, "this response has no such member in Codex "+methods.Measured+"; a later version may use it")
	}
}
