package policy

import (
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/rpc"
)

// MethodVerdict returns the verdict of the method table and policy.methods for a client's message;
// false if the table does not have the method.
func (p *Policy) MethodVerdict(m *rpc.Message) (methods.Row, methods.Verdict, bool) {
	side := methods.ClientRequest
	row, known := p.newer.Lookup(side, m.Method)
	if m.Kind == rpc.Notification {
		// A request without an id counts as a request, although Codex 0.169 drops it.
		if said, ok := p.newer.Lookup(methods.ClientNotification, m.Method); ok {
			row, known = said, ok
		}
	}
	override := p.overrides[m.Method]
	if !known {
		row = methods.Row{Side: side, Method: m.Method, Verdict: methods.Deny}
		if p.allowsUnknown {
			row.Verdict = methods.Pass
		}
	}
	return row, row.Override(override), known
}

// ownPrefix begins the names of the methods that the bridge answers itself.
const ownPrefix = "bridge/"

// isSentByCodex reports whether a method is a request or a notification of Codex.
func (p *Policy) isSentByCodex(method string) bool {
	_, request := p.newer.Lookup(methods.ServerRequest, method)
	_, notification := methods.Lookup(methods.ServerNotification, method)
	return request || notification
}

// DecideOwnMethod decides a method that the bridge answers itself to a client that offers capabilities.bridge.
// beginsWork reports whether it begins work.
func (p *Policy) DecideOwnMethod(m *rpc.Message, beginsWork bool) Decision {
	switch {
	case p.mode == config.Off:
	case p.DeniesMethod(m.Method):
		return p.RefuseMethod(methods.Row{Method: m.Method}, methods.Deny, true)
	case beginsWork:
		return p.DecideWork(m.Method)
	}
	return Decision{Verdict: Pass, Message: m.Bytes()}
}

// RefuseMethod returns the refusal of a method.
func (p *Policy) RefuseMethod(row methods.Row, verdict methods.Verdict, known bool) Decision {
	override := p.overrides[row.Method]
	key := config.Key("policy", "methods", row.Method)
	r := Refusal{Method: row.Method}
	switch {
	case verdict == methods.Ask:
		r.Rule, r.Reason = key, "a person must consent, but the client has neither the hook permissionRequest nor elicitations"
		r.Hint = `declare capabilities.bridge.hooks or capabilities.bridge.elicitations in initialize, or set "allow" or "deny"`
	case override == "deny":
		r.Rule, r.Reason = key, "the configuration denies it"
		r.Hint = "remove the line, or set \"allow\""
	case !known && p.isSentByCodex(row.Method):
		r.Rule, r.Reason, r.Hint = RuleUnknown, "only Codex sends this method", "send a method that a client may send"
	case !known && strings.HasPrefix(row.Method, ownPrefix):
		r.Rule, r.Reason = RuleUnknown, "Codex has no such method, and the bridge answers methods of its own only to a client that offers capabilities.bridge"
		r.Hint = "offer capabilities.bridge in initialize, and look whether its response lists the method"
	case !known && p.newer.WhyLeftOut(row.Method) != "":
		r.Rule, r.Reason, r.Hint = RuleUnknown, p.newer.WhyLeftOut(row.Method), "update codex-bridge, or use Codex "+methods.Measured
	case !known:
		r.Rule, r.Reason = RuleUnknown, "codex-bridge knows the methods of Codex "+p.newer.Covered()+", and this is none of them"
		r.Hint = "update codex-bridge, or use Codex " + p.newer.Covered() + "; to allow the method without a check, set " + key + ` = "allow"`
	default:
		r.Rule, r.Reason = RuleMethods, row.Why
		r.Hint = "it acts outside the policy; to allow it, set " + key + ` = "allow"`
	}
	r.Origin = p.OriginOrDefault(r.Rule)
	return Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeRefused, r)}
}

// NeedsConsent reports whether policy.methods requires a person's consent for the message.
func (p *Policy) NeedsConsent(m *rpc.Message) bool {
	_, verdict, _ := p.MethodVerdict(m)
	return p.mode == config.Enforce && verdict == methods.Ask
}

// MethodOverride returns the verdict of policy.methods for a method; "" for none.
func (p *Policy) MethodOverride(method string) string { return p.overrides[method] }

// DeniesMethod reports whether policy.methods denies the method explicitly.
func (p *Policy) DeniesMethod(method string) bool { return p.overrides[method] == "deny" }

// MethodOrigin returns the key of policy.methods for a method and where it is set.
func (p *Policy) MethodOrigin(method string) (key, origin string) {
	key = config.Key("policy", "methods", method)
	return key, p.OriginOrDefault(key)
}

// NeedsState reports whether Decide depends on the params and the thread of a message. If not, the
// method alone decides.
func (p *Policy) NeedsState(m *rpc.Message) bool {
	row, verdict, _ := p.MethodVerdict(m)
	if verdict == methods.Ask { // Decide applies this verdict after consent
		verdict = row.Override("allow")
	}
	switch verdict {
	case methods.Deny:
		return false
	case methods.Pass:
		return RunsCommand(m.Method)
	}
	return true
}

// checkTrace refuses a request that Codex would drop without a response.
//
// Measured with Codex 0.169: it drops a message whose trace is neither null nor an object in which
// traceparent and tracestate are strings or null.
func (p *Policy) checkTrace(m *rpc.Message) (Decision, bool) {
	trace := m.Root().Get("trace")
	isText := func(v rpc.Value) bool { return IsUnset(v) || v.Kind() == rpc.String }
	if IsUnset(trace) || trace.Kind() == rpc.Object && isText(trace.Get("traceparent")) && isText(trace.Get("tracestate")) {
		return Decision{}, false
	}
	return Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeInvalidRequest, Refusal{
		Method: display.Clip(m.Method), Rule: RuleProtocol, Field: "trace", Reason: "Codex drops such a message without a response",
		Hint: "omit trace, or send an object in which traceparent and tracestate are strings",
	})}, true
}
