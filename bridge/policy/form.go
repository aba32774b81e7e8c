package policy

import (
	"fmt"

	"codex-bridge/bridge/methods"
	"codex-bridge/bridge/shape"
	"codex-bridge/rpc"
)

// plain holds what Codex is about to be sent to the shape of Codex's schema. Codex reads
// other forms, too, which nobody has judged.
func (p *Policy) plain(d Decision, m *rpc.Message, check func(*rpc.Message) *shape.Mismatch, subject, root string) Decision {
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
		Method: subject, Rule: ruleShape, Field: field, Origin: p.place("policy.mode"),
		Reason: fmt.Sprintf("it is %s where codex %s has %s", wrong.Found, methods.Measured, wrong.Want), Hint: "send it in the form of codex's JSON schema",
	})}
}

// ruleShape is the rule of messages that don't have the form of Codex's schema.
const ruleShape = "protocol"

func plainParams(m *rpc.Message) *shape.Mismatch {
	if m.Kind == rpc.Notification {
		return shape.CheckNotification(m.Method, m.Params)
	}
	return shape.CheckRequest(m.Method, m.Params)
}
