package policy

import (
	"fmt"

	"codex-bridge/bridge/methods"
	"codex-bridge/bridge/shape"
	"codex-bridge/rpc"
)

// plain holds what Codex is about to be sent to the shape of Codex's schema. Codex reads
// other forms, too, which nobody has judged.
func (p *Policy) checkForm(d Decision, m *rpc.Message, check func(*rpc.Message) *shape.Mismatch, subject, root string) Decision {
	switch d.Verdict {
	case Pass:
	case Rewrite:
		rewritten, err := rpc.ParseMessage(d.Message)
		if err != nil {
			return Decision{Verdict: Deny, Err: rpc.Errorf(rpc.CodeInternal, "%s as it was rewritten can't be read: %v", subject, err)}
		}
		m = rewritten
	default:
		return d
	}
	wrong := check(m)
	if wrong == nil {
		return d
	}
	field := root
	if wrong.Path != "" {
		field += "." + wrong.Path
	}
	return Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeInvalidParams, Refusal{
		Method: subject, Rule: ruleProtocol, Field: field, Origin: p.originOrDefault(ruleMode),
		Reason: fmt.Sprintf("it is %s where codex %s has %s", wrong.Found, methods.Measured, wrong.Want), Hint: "send it in the form of codex's JSON schema",
	})}
}

func checkParams(m *rpc.Message) *shape.Mismatch {
	if m.Kind == rpc.Notification {
		return shape.CheckNotification(m.Method, m.Params)
	}
	return shape.CheckRequest(m.Method, m.Params)
}

// lookAlikes takes out what is no known field of this method: what nobody has
// judged, unless policy.unknown_methods lets it, and in any case what reads like a
// policed field. Measured: codex 0.169.0 ignores approval_policy, sandboxMode and the
// like; a later one may know an alias, or the field in one more method, and then
// it must not find a value there that nobody judged.
func (c *decider) dropUnknownFields() {
	for key := range c.params.Members() {
		if c.err != nil {
			return
		}
		if c.spec.known[key] {
			continue
		}
		name, ok := c.p.checkedFields[foldName(key)]
		switch {
		case ok && key == name:
			c.dropField(key, ruleMode, "it is not a field of this method, but may become one")
		case ok:
			c.dropField(key, ruleMode, "it reads like "+name+", which codex may take it for one day")
		case !c.p.allowsUnknown:
			c.dropField(key, ruleUnknown, "no field of this method in codex "+methods.Measured+"; a later one may act on it")
		}
	}
}
