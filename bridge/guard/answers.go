package guard

import (
	"context"

	"codex-bridge/bridge"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// asks looks at what codex asks of the client, and sees to it that the answer is
// held to the policy.
func (g *Guard) asks(ctx context.Context, said *bridge.Said) {
	params := said.Root().Get("params")
	p := g.policy.Load()
	if p.Mode() != config.Off {
		d := p.DecideRequest(said.Method, params, g.stateNow(params))
		if d.Verdict == policy.Deny {
			g.report(p.Mode(), said.Method, d)
			// Refused is refused, on record or not.
			_ = g.record(ctx, p.Mode(), subjectOf(said.Method, params, said.Line), d)
			if p.Mode() == config.Enforce {
				g.applied(said.Method, said.ID, params, d)
				if d.Answer != nil {
					said.Reply(d.Answer)
				} else {
					said.Refuse(d.Err)
				}
				return
			}
		}
	}
	// The policy in force when the answer comes is the one that counts.
	said.OnReply(func(r *bridge.Reply) { g.answered(ctx, said.Envelope, r) })
}

// answered holds the client's answer to what codex asked to the policy.
func (g *Guard) answered(ctx context.Context, asked *rpc.Envelope, r *bridge.Reply) {
	p := g.policy.Load()
	if p.Mode() == config.Off {
		return
	}
	params := asked.Root().Get("params")
	d := p.DecideAnswer(policy.Asked{Method: asked.Method, Params: params}, r.Message, g.stateNow(params))
	if d.Verdict == policy.Pass {
		return
	}
	g.report(p.Mode(), asked.Method, d)
	err := g.record(ctx, p.Mode(), subjectOf(asked.Method, params, r.Bytes()), d)
	if p.Mode() != config.Enforce {
		return
	}
	if err != nil && d.Err == nil {
		d = policy.Decision{Verdict: policy.Deny, Err: err}
	}
	if r.Line = d.Message; d.Err != nil {
		// Codex takes an error for a refusal, and waits no longer.
		r.Line = append(rpc.ReplyError(r.ID, d.Err), '\n')
	}
	g.applied(asked.Method, asked.ID, params, d)
}

// unasked stops an answer to nothing. Codex may have asked already, and the
// question be on its way here: its answer would have been judged by nobody.
func (g *Guard) unasked(ctx context.Context, call *bridge.Call) *rpc.Error {
	p := g.policy.Load()
	if p.Mode() == config.Off {
		return nil
	}
	d := policy.Decision{Verdict: policy.Deny, Err: policy.Refused(rpc.CodeRefused, policy.Refusal{
		Method: "answer", Rule: "policy.mode", Field: "id",
		Reason: "codex has asked nothing under this id, or it was answered",
		Mend:   "answer each request once, after it has come",
	})}
	g.report(p.Mode(), "answer", d)
	_ = g.record(ctx, p.Mode(), subjectOf("answer", rpc.Value{}, call.Bytes()), d)
	if p.Mode() != config.Enforce {
		return nil
	}
	g.applied("answer", call.ID, rpc.Value{}, d)
	return d.Err
}

// settled takes note that codex waits no more for an answer.
func (g *Guard) settled(_ context.Context, said *bridge.Said) {
	if id, ok := rpc.IDOf(said.Root().Get("params").Get("requestId")); ok {
		g.peer.Settled(id)
	}
}

// stateNow is the world for a message that does not wait for anything.
func (g *Guard) stateNow(params rpc.Value) policy.State {
	state := g.world
	state.Workspaces = g.threads.workspaces()
	if id, ok := params.Get("threadId").Text(); ok {
		state.Thread = g.threads.peek(id)
	}
	if item, ok := params.Get("itemId").Text(); ok {
		state.Files = g.patches.of(item)
	}
	return state
}
