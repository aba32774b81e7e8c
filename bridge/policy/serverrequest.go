package policy

import (
	"encoding/json"

	"codex-bridge/bridge/rules"
	"codex-bridge/rpc"
)

// asked judges a question that is known. The person is asked about what is neither
// refused nor allowed; always says that it is about nothing else.
func (p *Policy) asked(method string, params rpc.Value, st State, always bool) Decision {
	at := p.leaving(method, params, st)
	m, reach := p.ruling(method, params, st, at)
	switch {
	case m.Decision == rules.Deny:
		return p.ruledOut(method, m)
	case st.ThreadRevoked && IsApproval(method, params):
		return p.unverifiedCall(method)
	case at.leaves() && !p.letsOut:
		return p.letOut(method, at)
	case m.Decision == rules.Allow && !always && (reach == rules.Sandboxed || p.letsOut):
		if yes := consent(method, params); yes != nil {
			return ruledIn(m, yes)
		}
	}
	if at.leaves() {
		return p.marked(params, at)
	}
	return Decision{Verdict: Pass}
}

// letOut is the refusal of what leaves the sandbox. Measured: of a decline the model is
// told "rejected by user" for a command, "patch rejected by user" for a patch, and no
// reason.
func (p *Policy) letOut(method string, at leave) Decision {
	reason := "it would leave the sandbox: " + at.reason
	err := NewRefusalError(rpc.CodeRefused, Refusal{
		Method: method, Rule: ruleEscalation, Reason: reason, Origin: p.place(ruleEscalation),
		Hint: `do it by hand, or set policy.escalation = "ask"`,
	})
	return Decision{Verdict: Deny, Err: err, Answer: refusal(method, reason)}
}

// ruledIn is a rule's consent.
func ruledIn(m rules.Match, yes []byte) Decision {
	reason := m.Rule.Reason
	if reason == "" {
		reason = "a rule says " + m.Decision.String()
	}
	return Decision{Verdict: Accept, Answer: yes, Changes: []Change{{
		Field: "result", Rule: ruleRule, Reason: reason + ": " + clipped(m.Part), Origin: m.Rule.Origin.String(), To: yes,
	}}}
}

// consent is the answer that says yes once; nil where codex does not offer it.
func consent(method string, params rpc.Value) []byte {
	a := answer{asked: ServerRequest{Method: method, Params: params}}
	switch method {
	case "item/commandExecution/requestApproval", "item/fileChange/requestApproval":
		if a.offers(currentWords.yes) {
			return []byte(`{"decision":"accept"}`)
		}
	case "execCommandApproval", "applyPatchApproval":
		if a.offers(legacyWords.yes) {
			return []byte(`{"decision":"approved"}`)
		}
	case "mcpServer/elicitation/request":
		return []byte(`{"action":"accept","content":{},"_meta":null}`)
	}
	return nil
}

// mark begins the reason of what leaves the sandbox, as the person is shown it.
const mark = "[codex-bridge: leaves the sandbox] "

// marked has the person shown that a question is about leaving the sandbox. The reason
// is all that a client shows beside the command (measured), and may be left out.
func (p *Policy) marked(params rpc.Value, at leave) Decision {
	from := params.Get("reason")
	text := mark + at.reason
	if said, ok := from.Text(); ok && said != "" {
		text += ". " + said
	}
	to := json.RawMessage(quote(text))
	return Decision{Verdict: Rewrite, ShownReason: to, Changes: []Change{{
		Field: "params.reason", Rule: ruleEscalation, Reason: at.reason, Origin: p.origin(ruleEscalation), From: clone(from), To: to,
	}}}
}
