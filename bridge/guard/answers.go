package guard

import (
	"context"

	"codex-bridge/bridge"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/bridge/rollout"
	"codex-bridge/bridge/rules"
	"codex-bridge/rpc"
)

// asks looks at what codex asks of the client, and sees to it that the answer is
// held to the policy.
func (g *Guard) asks(ctx context.Context, said *bridge.ServerMessage) {
	params := said.Root().Get("params")
	thread, _ := params.Get("threadId").Text()
	policies := g.policies(thread)
	state := g.stateNow(params)
	if policies[0].Mode() != config.Off {
		state.Escalation, state.ThreadRevoked = g.escalation(said.Method, params, state), g.isForgotten(params)
		d, p := strictest(policies, func(p *policy.Policy) policy.Decision { return p.DecideRequest(said.Method, params, state) }, strictness)
		if said.Truncated() { // what is missing could be what counts
			d = policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeTooLarge, policy.Refusal{
				Method: said.Method, Rule: "codex.max_message", Field: "params", Reason: "the question has more values than are looked at", Hint: "ask for less at once",
			})}
		}
		if d.Verdict != policy.Pass {
			g.report(p.Mode(), said.Method, d)
			err := g.record(ctx, p.Mode(), subjectOf(said.Method, params, said.Line), d)
			if p.Mode() == config.Enforce && g.settles(said, params, d, err) {
				return
			}
		}
	}
	// The policy in force when the answer comes is the one that counts.
	said.OnResponse(func(r *bridge.ClientResponse) { g.answered(ctx, said.Envelope, state.Escalation, r) })
}

// settles does what was decided about a question; false: the client is to hear it.
func (g *Guard) settles(said *bridge.ServerMessage, params rpc.Value, d policy.Decision, unrecorded *rpc.Error) bool {
	if unrecorded != nil && d.Verdict == policy.Accept {
		return false // for the person to say; refused is refused, on record or not
	}
	g.applied(said.Method, said.ID, params, d)
	switch {
	case d.Verdict == policy.Rewrite:
		patch := rpc.NewEnvelopePatch(said.Envelope)
		patch.Set(params, "reason", d.ShownReason)
		said.Line = patch.Bytes()
		return false
	case d.Answer != nil:
		said.Reply(d.Answer)
	default:
		said.Refuse(d.Err)
	}
	return true
}

// escalation is what the model's own call says of the command that codex asks about.
func (g *Guard) escalation(method string, params rpc.Value, state policy.State) rules.Escalation {
	key := "itemId"
	switch method {
	case "item/commandExecution/requestApproval":
	case "execCommandApproval":
		key = "callId"
	default:
		return rules.EscalationUnknown
	}
	if call, ok := params.Get(key).Text(); ok && state.Thread != nil {
		return rollout.FindCall(state.CodexHome, state.Thread.Rollout, call).Escalation
	}
	return rules.EscalationUnknown
}

// answered holds the client's answer to what codex asked to the policy.
func (g *Guard) answered(ctx context.Context, asked *rpc.Envelope, escalation rules.Escalation, r *bridge.ClientResponse) {
	params := asked.Root().Get("params")
	thread, _ := params.Get("threadId").Text()
	policies := g.policies(thread)
	p := policies[0]
	if p.Mode() == config.Off {
		return
	}
	state := g.stateNow(params)
	state.Escalation, state.ThreadRevoked = escalation, g.isForgotten(params)
	question := policy.ServerRequest{Method: asked.Method, Params: params}
	var d policy.Decision
	ok := g.threads.writable.reserve(func(all []string) (string, []string) {
		state.Writable = all
		d = judgeAnswer(policies, question, r.Message, state)
		if p.Mode() != config.Enforce || asked.Method != "item/permissions/requestApproval" || d.Err != nil {
			return "", nil
		}
		m, err := rpc.ParseMessage(d.Message)
		if err != nil {
			return "", nil
		}
		return thread, policy.GrantedPaths(m.Result)
	})
	if !ok {
		d = policy.Decision{Verdict: policy.Deny, Err: errFolders(asked.Method)}
	}
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
		r.Line = append(rpc.EncodeError(r.ID, d.Err), '\n')
	}
	g.applied(asked.Method, asked.ID, params, d)
}

// judgeAnswer holds an answer to each of the policies.
func judgeAnswer(policies []*policy.Policy, question policy.ServerRequest, answer *rpc.Message, state policy.State) policy.Decision {
	d := policies[0].DecideAnswer(question, answer, state)
	for _, q := range policies[1:] {
		if m, err := rpc.ParseMessage(d.Message); err == nil && q.Mode() == config.Enforce { // of a denied answer there is no message
			if e := q.DecideAnswer(question, m, state); e.Verdict != policy.Pass {
				e.Changes = append(d.Changes, e.Changes...)
				d = e
			}
		}
	}
	return d
}

// unasked stops an answer to nothing. Codex may have asked already, and the
// question be on its way here: its answer would have been judged by nobody.
func (g *Guard) unasked(ctx context.Context, call *bridge.ClientMessage) *rpc.Error {
	p := g.policy.Load()
	if p.Mode() == config.Off {
		return nil
	}
	d := policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
		Method: "answer", Rule: "policy.mode", Field: "id",
		Reason: "codex has asked nothing under this id, or it was answered",
		Hint:   "answer each request once, after it has come",
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
func (g *Guard) settled(_ context.Context, said *bridge.ServerMessage) {
	if id, ok := rpc.ParseID(said.Root().Get("params").Get("requestId")); ok {
		g.peer.ForgetServerRequest(id)
	}
}

// stateNow is the world for a message that does not wait for anything.
func (g *Guard) stateNow(params rpc.Value) policy.State {
	state := g.world
	state.Workspaces, state.Writable = g.threads.workspaces(), g.threads.writable.ofAll()
	if id, ok := params.Get("threadId").Text(); ok {
		turn, _ := params.Get("turnId").Text()
		state.Thread = g.thread(id, turn)
		state.Files = g.Files(params)
	}
	return state
}
