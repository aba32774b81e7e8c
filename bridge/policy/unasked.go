package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"codex-bridge.example/rpc"
)

// questions says about what a client lets Codex ask, as the members of a granular approval policy do.
type questions struct{ sandbox, rules, elicitations, skills, permissions bool }

var allQuestions = questions{true, true, true, true, true}

// questionsOf returns about what an approval policy lets Codex ask: under never about nothing. A form
// that Codex does not have counts as never.
func questionsOf(v rpc.Value) questions {
	if name, ok := v.Text(); ok {
		if name == "never" {
			return questions{}
		}
		return allQuestions
	}
	if v.Len() == 1 && (v.Get("untrusted").Exists() || v.Get("on-request").Exists()) {
		return allQuestions // measured with Codex 0.169: it also reads {"on-request": null}
	}
	if v.Get("never").Exists() {
		return questions{}
	}
	is := func(key string) bool { on, _ := v.Get("granular").Get(key).Bool(); return on }
	return questions{is("sandbox_approval"), is("rules"), is("mcp_elicitations"), is("skill_approval"), is("request_permissions")}
}

// areFew reports whether the policy's own value could allow more than a client that lets Codex ask only
// these questions. A client that answers about commands can let each of them leave the sandbox, so the
// other questions add nothing to that.
func (q questions) areFew() bool { return !q.sandbox || !q.rules }

// granular returns the approval policy under which Codex asks these questions and refuses the others.
func (q questions) granular() json.RawMessage {
	return fmt.Appendf(nil, `{"granular":{"sandbox_approval":%t,"rules":%t,"skill_approval":%t,"request_permissions":%t,"mcp_elicitations":%t}}`,
		q.sandbox, q.rules, q.skills, q.permissions, q.elicitations)
}

// IsReduced reports whether an approval policy is one that the bridge sends for a client that wants
// fewer questions: granular, and Codex refuses to leave the sandbox.
//
// Measured with Codex 0.169: a command stays in the sandbox, as under on-request without a question.
// Codex refuses a call that needs a question that is off. Only tools of MCP servers are asked about, whatever
// mcp_elicitations says.
func IsReduced(v rpc.Value) bool {
	asks, ok := v.Get("granular").Get("sandbox_approval").Bool()
	return ok && !asks
}

// WithoutQuestions returns the approval policy that Codex gets in place of a forbidden never, as a
// requirement allows it.
func WithoutQuestions() map[string]map[string]bool {
	return map[string]map[string]bool{"granular": {
		"sandbox_approval": false, "rules": false, "skill_approval": false, "request_permissions": false, "mcp_elicitations": false,
	}}
}

// reducedRequirement is WithoutQuestions in TOML.
const reducedRequirement = "{ granular = { sandbox_approval = false, rules = false, skill_approval = false, request_permissions = false, mcp_elicitations = false } }"

const reducedReason = "Codex refuses what the client does not want to be asked about"

// AllowsReduced reports whether a thread may have a reduced approval policy. Without questions, commands
// run in the sandbox; so the policy must allow that, or the bridge must ask.
func (p *Policy) AllowsReduced(gated bool) bool {
	if gated {
		return p.gate
	}
	return !p.requiresUntrusted()
}

// reduceApproval sets the approval policy in place of v, which the policy does not allow and under
// which Codex would not ask all its questions: neither the client nor Codex may allow more than under
// v. Under the policy's own value a client that accepts by itself could let a command leave the sandbox
// that Codex refuses under v. If gated, the bridge asks in Codex's place.
func (c *approvalRule) reduceApproval(v rpc.Value, gated bool, reason string) sentApproval {
	q := questionsOf(v)
	q.sandbox = false // else an accepted command that fails runs again outside
	if c.p.approvals[0] == "never" {
		q = questions{}
	}
	if gated {
		return c.applyReduced(q, true, reason, reducedReason+", and codex-bridge decides about each command")
	}
	return c.applyReduced(q, false, reason, reducedReason)
}

// reduceToTools sets the approval policy in place of v where the policy's own value is never: Codex asks
// about tools of MCP servers alone.
//
// Measured with Codex 0.169: under never with full access it runs these tools without a question, whatever
// default_tools_approval_mode says; under any other approval policy it asks. Where the machine's requirements
// exclude v, Codex alone takes never, too.
func (c *approvalRule) reduceToTools(v rpc.Value, reason string) sentApproval {
	if r := c.p.required; r != nil && r.approvals != nil && !r.reduced && !slices.Contains(r.approvals, TextOf(v)) {
		return c.applyFirst(reason)
	}
	return c.applyReduced(questions{elicitations: questionsOf(v).elicitations}, false, reason, "Codex asks only about tools of MCP servers, which it would run unasked under never")
}

// applyReduced sets the granular approval policy with these questions. effect says what that means.
func (c *approvalRule) applyReduced(q questions, gated bool, reason, effect string) sentApproval {
	limited := c.p.required != nil && c.p.required.approvals != nil
	switch {
	case limited && !c.p.required.reduced:
		c.refuse(rpc.CodeRefused, "params.approvalPolicy", RuleApproval, reason+", and the machine's requirements allow Codex no value that asks as little",
			`send an allowed value, or add `+reducedRequirement+` to allowed_approval_policies of the requirements`)
		return sentApproval{}
	case !c.p.AllowsReduced(gated):
		c.refuse(rpc.CodeRefused, "params.approvalPolicy", RuleApproval, reason+", and under untrusted Codex asks about each command", `send "untrusted", or set policy.gate = true`)
		return sentApproval{}
	}
	if limited {
		q = questions{}
	}
	to := q.granular()
	found := sentApproval{gated: &gatedFalse}
	if gated {
		found.gated = &gatedTrue
	}
	switch sent := c.params.Get("approvalPolicy"); {
	case c.spec.confirmed:
		c.setField("approvalPolicy", to, RuleApproval, reason) // and so refused
	case !isGranular(sent) || questionsOf(sent) != q:
		c.setField("approvalPolicy", to, RuleApproval, reason+"; "+effect)
	}
	if c.spec.opensThread {
		found.sent = to
	}
	return found
}

// questions returns about what the thread's client may be asked.
func (t *Thread) questions() questions {
	if t == nil || t.Approval == nil {
		return allQuestions
	}
	d, err := rpc.ParseValue(t.Approval)
	if err != nil {
		return questions{}
	}
	return questionsOf(d.Root())
}

// AsksNothing reports whether the thread's client wants no question, by a granular approval policy.
// Under never Codex itself asks none.
func (t *Thread) AsksNothing() bool {
	return t != nil && strings.HasPrefix(string(t.Approval), "{") && t.questions() == questions{}
}

// RefusesToLeave reports whether Codex refuses what would leave the sandbox, because the client does not
// want to be asked about it.
func (t *Thread) RefusesToLeave() bool {
	return t != nil && strings.HasPrefix(string(t.Approval), "{") && !t.questions().sandbox
}

// NoQuestions ends the reason of a refusal in place of a question.
const NoQuestions = "this client wants no questions: it set approvalPolicy to never, or switched them off in granular"

// UnaskedHint says what to do about a question that the client does not want.
const UnaskedHint = `run it yourself, or start the turn with approvalPolicy "on-request"`

// AsksAboutRules reports whether the thread's client may be asked about a call by a rule.
func (t *Thread) AsksAboutRules() bool { return t.questions().rules }
