package policy

import (
	"bytes"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/methods"
	"codex-bridge/bridge/shape"
	"codex-bridge/rpc"
)

const (
	ruleRemember = "approvals.remember"
	ruleProtocol = "protocol"
)

// ServerRequest is a request of Codex's that the client has heard.
type ServerRequest struct {
	Method string
	Params rpc.Value
}

// DecideRequest judges a request of Codex's before the client hears it: unknown ones,
// what a rule denies, and what would leave the sandbox. A rule's consent is given
// only where an accept can't let the command out, or where a person may be asked for
// that and the rule says escalated. Denied, Answer or Err is what Codex gets.
func (p *Policy) DecideRequest(method string, params rpc.Value, st State) Decision {
	if p.mode == config.Off {
		return Decision{Verdict: Pass}
	}
	_, known := methods.Lookup(methods.ServerRequest, method)
	override := p.overrides[method]
	if p.noTools && asksForTool(params) {
		override = "deny" // the same question, as Codex asks it without its feature tool_call_mcp_elicitation
	}
	switch {
	case override == "deny" && known:
		d := p.refused(methods.Row{Method: method}, methods.Deny, true)
		d.Answer = refusal(method, d.Err.Message)
		return d
	case known:
		return p.asked(method, params, st, override == "ask")
	case p.unknown, override == "allow", override == "ask":
		return Decision{Verdict: Pass}
	}
	return Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeRefused, Refusal{
		Method: method, Rule: ruleUnknown, Reason: "codex " + methods.Measured + " asks no such thing, and nobody has judged what an answer would allow",
		Origin: p.place(ruleUnknown), Hint: "use codex " + methods.Measured + `, or set policy.unknown_methods = "allow"`,
	})}
}

// DecideAnswer judges what the client answers to Asked: no more than was offered,
// for no longer than once, and nothing that policy forbids. Codex waits for an
// answer without end, so that what can't stay becomes a refusal, not silence.
func (p *Policy) DecideAnswer(asked ServerRequest, m *rpc.Message, st State) Decision {
	if p.mode == config.Off || m.Kind != rpc.Response {
		return Decision{Verdict: Pass, Message: m.Bytes()} // an error is a refusal to Codex (measured)
	}
	return p.plain(p.decideAnswer(asked, m, st), m, func(m *rpc.Message) *shape.Mismatch {
		return shape.CheckResponse(asked.Method, m.Result)
	}, asked.Method, "result")
}

func (p *Policy) decideAnswer(asked ServerRequest, m *rpc.Message, st State) Decision {
	passed := Decision{Verdict: Pass, Message: m.Bytes()}
	a := answer{p: p, asked: asked, m: m, st: st}
	if m.Truncated() {
		return Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeTooLarge, Refusal{
			Method: asked.Method, Rule: "codex.max_message", Field: "result", Reason: "the answer has more values than are looked at", Hint: "send less",
		})}
	}
	// The policy may have changed since the question was asked.
	if d := p.DecideRequest(asked.Method, asked.Params, st); !st.ThreadRevoked && d.Verdict == Deny && !a.refuses() {
		if d.Answer == nil {
			return Decision{Verdict: Deny, Err: d.Err}
		}
		a.note("result", m.Result, d.Answer, ruleMode, "the policy denies it now: "+d.Err.Message)
		a.patch.Replace(m.Result, d.Answer)
		return Decision{Verdict: Rewrite, Message: a.patch.Bytes(), Changes: a.changes}
	}
	switch asked.Method {
	case "item/commandExecution/requestApproval", "item/fileChange/requestApproval":
		a.decision(&currentWords)
	case "execCommandApproval", "applyPatchApproval":
		a.decision(&legacyWords)
	case "item/permissions/requestApproval":
		if granted := m.Result.Get("permissions"); st.ThreadRevoked && granted.Len() > 0 {
			a.note("result.permissions", granted, []byte(`{}`), ruleMode, unverifiedReason)
			a.patch.Replace(m.Result, []byte(`{"permissions":{},"scope":"turn"}`))
		} else {
			a.grant()
		}
	case "mcpServer/elicitation/request":
		a.elicitation()
	case "item/tool/requestUserInput":
		if asksForTool(asked.Params) || asksToInstall(asked.Params) {
			a.userInput()
		}
	}
	switch {
	case len(a.changes) == 0:
		return passed
	case a.full():
		return Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeTooLarge, Refusal{
			Method: asked.Method, Rule: a.changes[0].Rule, Field: "result", Reason: tooManyChanges, Hint: "send less that is not allowed",
		})}
	}
	return Decision{Verdict: Rewrite, Message: a.patch.Bytes(), Changes: a.changes}
}

// answer is one decision about an answer in the making.
type answer struct {
	p       *Policy
	asked   ServerRequest
	m       *rpc.Message
	st      State
	patch   *rpc.Patch
	changes []Change
}

// full tells whether there is more to change than is changed.
func (a *answer) full() bool { return len(a.changes) > mostChanges }

func (a *answer) note(field string, from rpc.Value, to []byte, rule, reason string) {
	a.changes = append(a.changes, Change{field, rule, reason, a.p.origin(rule), bytes.Clone(from.Raw()), to})
	if a.patch == nil {
		a.patch = rpc.NewPatch(a.m)
	}
}

func (a *answer) set(object rpc.Value, key, field string, to []byte, rule, reason string) {
	a.note(field, object.Get(key), to, rule, reason)
	a.patch.Set(object, key, to)
}

func (a *answer) drop(object rpc.Value, key, field, rule, reason string) {
	a.note(field, object.Get(key), nil, rule, reason)
	a.patch.Delete(object, key)
}

// replace puts another result in the place of one that can't be read.
func (a *answer) replace(to []byte, reason string) {
	a.note("result", a.m.Result, to, ruleProtocol, reason)
	a.patch.Replace(a.m.Result, to)
}

// only takes out the members of the result that the schema does not have.
func (a *answer) only(known ...string) {
	if a.p.unknown {
		return
	}
next:
	for key := range a.m.Result.Members() {
		if a.full() {
			return
		}
		for _, name := range known {
			if key == name {
				continue next
			}
		}
		a.drop(a.m.Result, key, "result."+key, ruleUnknown, "no member of this answer in codex "+methods.Measured+"; a later one may act on it")
	}
}
