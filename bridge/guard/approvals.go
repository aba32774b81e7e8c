package guard

import (
	"context"
	"slices"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// Mode is the mode of the policy.
func (g *Guard) Mode() config.Mode { return g.policy.Load().Mode() }

// Enforces tells whether the policy is in force.
func (g *Guard) Enforces() bool { return g.Mode() == config.Enforce }

// Client is the client as it calls itself.
func (g *Guard) Client() string { return g.clientName() }

// Stays tells whether an accept keeps what codex asks about in the sandbox.
func (g *Guard) Stays(method string, params rpc.Value) bool {
	state := g.stateNow(params)
	state.Escalation = g.escalation(method, params, state)
	return g.all(params, func(p *policy.Policy) bool { return p.AcceptStaysInSandbox(method, params, state) })
}

// Remains tells whether what codex asks about is not known to leave the sandbox, nor
// unknown.
func (g *Guard) Remains(method string, params rpc.Value) bool {
	state := g.stateNow(params)
	state.Escalation = g.escalation(method, params, state)
	return g.all(params, func(p *policy.Policy) bool { return p.RunsInSandbox(method, params, state) })
}

// all tells whether something is true of every policy of the thread that params name.
func (g *Guard) all(params rpc.Value, is func(*policy.Policy) bool) bool {
	thread, _ := params.Get("threadId").Text()
	return !slices.ContainsFunc(g.policies(thread), func(p *policy.Policy) bool { return p.Mode() != config.Off && !is(p) })
}

// WantsNotification reports whether the client has not opted out of a notification.
func (g *Guard) WantsNotification(method string) bool {
	return !g.peer.OptedOut(method)
}

// Settled puts on record that a question was answered for the person, by a rule of
// that name and for that reason.
func (g *Guard) Settled(ctx context.Context, asked *rpc.Envelope, verdict policy.Verdict, rule, reason string) error {
	p, params := g.policy.Load(), asked.Root().Get("params")
	d := policy.Decision{Verdict: verdict}
	refusal := policy.Refusal{Method: asked.Method, Rule: rule, Reason: reason, Hint: "ask again"}
	if verdict == policy.Deny {
		d.Err = policy.NewRefusalError(rpc.CodeDeadline, refusal)
	} else {
		d.Changes = []policy.Change{{Field: "result", Rule: rule, Reason: reason}}
	}
	g.report(p.Mode(), asked.Method, d)
	if err := g.record(ctx, p.Mode(), subjectOf(asked.Method, params, nil), d); err != nil {
		if verdict == policy.Deny { // refused all the same
			g.applied(asked.Method, asked.ID, params, d)
		}
		return err
	}
	g.applied(asked.Method, asked.ID, params, d)
	return nil
}
