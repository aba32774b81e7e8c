package policy

import (
	"fmt"
	"slices"

	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/rpc"
)

// CheckForm denies a message that does not have the form of Codex's schema. Codex also reads other
// forms, which the policy does not check.
func (p *Policy) CheckForm(d Decision, m *rpc.Message, check func(*rpc.Message) *methods.Mismatch, subject, root string) Decision {
	switch d.Verdict {
	case Pass:
	case Rewrite:
		rewritten, err := rpc.ParseMessage(d.Message)
		if err != nil {
			return Decision{Verdict: Deny, Err: rpc.Errorf(rpc.CodeInternal, "the bridge can't read the rewritten %s: %v", subject, err)}
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
		Method: subject, Rule: RuleProtocol, Field: field, Origin: p.OriginOrDefault(RuleMode),
		Reason: fmt.Sprintf("it is %s where Codex %s has %s", wrong.Found, methods.Measured, wrong.Want), Hint: "send it in the form of Codex's JSON schema",
	})}
}

func checkParams(m *rpc.Message) *methods.Mismatch {
	if m.Kind == rpc.Notification {
		return methods.CheckNotification(m.Method, m.Params)
	}
	return methods.CheckRequest(m.Method, m.Params)
}

// dropUnknownFields removes fields that the method does not have, unless policy.unknown_methods
// allows them, and look-alikes of checked fields in any case.
//
// Measured with Codex 0.169: it ignores approval_policy, sandboxMode and the like. A later version
// may read such an alias, or the field in another method, without a check.
func (c *request) dropUnknownFields() {
	for key := range c.params.Members() {
		if c.err != nil {
			return
		}
		if c.spec.known[key] {
			continue
		}
		name, ok := c.p.checkedFields[methods.FoldName(key)]
		switch {
		case ok && key == name:
			c.dropField(key, RuleMode, "this method does not have it, but a later version of Codex may")
		case ok:
			c.dropField(key, RuleMode, "it reads like "+name+", and a later version of Codex may read it as that")
		case !c.p.allowsUnknown:
			c.dropField(key, RuleUnknown, newFieldReason(key))
		}
	}
}

// dropNewFields removes the fields that Codex's schema lacks from a message that otherwise passes unchanged,
// unless policy.unknown_methods allows them: in a later version of Codex they may make the method do more.
func (p *Policy) dropNewFields(m *rpc.Message, st State) Decision {
	c := newFindings(p.strictest(st.Policies).newRequest(&methodSpec{noThread: true}, m, st))
	for key := range m.Params.Members() {
		switch {
		case c.err != nil, c.p.allowsUnknown, methods.HasParam(m.Kind, m.Method, key), slices.Contains(p.newer.Fields(m.Method), key):
		case p.newer.Adds(m.Method): // without the field the request may do more
			c.refuse(rpc.CodeInvalidParams, "params."+key, RuleUnknown, "the table of Codex "+p.newer.Covered()+" lets the method pass without this field", "remove it, or update codex-bridge")
		default:
			c.dropField(key, RuleUnknown, newFieldReason(key))
		}
	}
	return c.result()
}

// newFieldReason returns why a field that Codex's schema lacks is removed.
func newFieldReason(field string) string {
	if field == "bridge" {
		return "Codex has no such field; the bridge reads it where a session begins or resumes, from a client that offers capabilities.bridge"
	}
	return "this method has no such field in Codex " + methods.Measured + "; a later version may use it"
}
