package guard

import (
	"context"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/rpc"
)

// handleServerRequest decides a request of Codex, and registers the check of the client's response.
func (g *Guard) handleServerRequest(ctx context.Context, msg *bridge.ServerMessage) {
	params := msg.Root().Get("params")
	thread, _ := params.Get("threadId").Text()
	policies := g.policies(thread)
	state := g.currentState(params)
	if policies[0].Mode() != config.Off {
		state.Escalation, state.ThreadRevoked = g.findEscalation(msg.Method, params, state), g.isRevoked(params)
		state.Approved = g.takeApproval(msg.Envelope)
		g.offerCommands(policies, msg.Envelope, state)
		d := g.decideQuestion(policies, msg, state)
		if d.Verdict != policy.Pass {
			g.logDecision(d.by.Mode(), msg.Method, d.Decision)
			about := subjectOf(msg.Method, params, msg.Line)
			about.facts = d.facts
			about.recordTimeout, about.canWait = shortRecordTimeout, d.Verdict == policy.Rewrite // only the shown reason
			err := g.record(ctx, d.by.Mode(), about, d.Decision)
			if d.by.Mode() == config.Enforce && g.applyDecision(msg, params, d.Decision, err) {
				return
			}
		}
	}
	// The policy that is active at the time of the response counts.
	msg.OnResponse(func(r *bridge.ClientResponse) { g.handleClientResponse(ctx, msg.Envelope, state, r) })
}

// decideQuestion is decideRequest for a request that may be too large, or about a turn that does not run.
func (g *Guard) decideQuestion(policies []*policy.Policy, msg *bridge.ServerMessage, state policy.State) requestDecision {
	if !g.isOfRunningTurn(msg.Envelope) {
		return refuseTurn(policies[0], msg.Envelope)
	}
	d := g.decideRequest(policies, msg.Envelope, state)
	if msg.Truncated() { // the missing part could change the decision
		d.Decision = policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeTooLarge, policy.Refusal{
			Method: msg.Method, Rule: "codex.max_message", Field: "params", Reason: "the request has more values than the bridge reads", Hint: "ask for less at once",
		})}
		d.facts = unknownFacts("", "the request had more values than the bridge reads")
	}
	return d
}

// applyDecision applies a decision on a request of Codex. It returns false if the client is to get
// the request.
func (g *Guard) applyDecision(msg *bridge.ServerMessage, params rpc.Value, d policy.Decision, recordErr *rpc.Error) bool {
	if recordErr != nil && d.Verdict == policy.Accept {
		return false // the user decides; a refusal applies even if it can't be logged
	}
	g.notifyApplied(msg.Method, msg.ID, params, d)
	g.warnTurn(msg.Envelope, d)
	switch {
	case d.Verdict == policy.Rewrite:
		patch := rpc.NewEnvelopePatch(msg.Envelope)
		patch.Set(params, "reason", d.ShownReason)
		msg.Line = patch.Bytes()
		return false
	case d.Answer != nil:
		msg.Reply(d.Answer)
	default:
		msg.Refuse(d.Err)
	}
	return true
}

// takeApproval returns what approvers have approved of the call that Codex asks about.
func (g *Guard) takeApproval(request *rpc.Envelope) policy.Approval {
	params := request.Root().Get("params")
	if !request.ID.IsValid() || !serverrequest.CanBeApproved(request.Method, params) {
		return policy.NotApproved
	}
	at, id := calledBy(params)
	return g.calls.takeApproval(at, id, request.ID.Key())
}

// Approve records that the approvers of a rule have approved a started call, which may leave the sandbox
// if leaves is true.
func (g *Guard) Approve(thread, turn, id string, leaves bool) {
	a := policy.ApprovedInside
	if leaves {
		a = policy.ApprovedOutside
	}
	g.calls.approve(turnOf{thread, turn}, id, a)
}

// handleClientResponse checks the client's response to a request of Codex.
func (g *Guard) handleClientResponse(ctx context.Context, request *rpc.Envelope, asked policy.State, r *bridge.ClientResponse) {
	params := request.Root().Get("params")
	thread, _ := params.Get("threadId").Text()
	policies := g.policies(thread)
	p := policies[0]
	if p.Mode() == config.Off {
		return
	}
	if r.Unreadable != nil {
		g.refuseUnreadableAnswer(ctx, request, r)
		return
	}
	state := g.currentState(params)
	state.Escalation, state.Approved, state.ThreadRevoked = asked.Escalation, asked.Approved, g.isRevoked(params)
	question := serverrequest.Request{Method: request.Method, Params: params}
	var d policy.Decision
	ok := g.threads.reserveWritable(thread, func(all []string) []string {
		state.Writable = all
		d = decideAnswer(policies, question, r.Message, state)
		if p.Mode() != config.Enforce || request.Method != "item/permissions/requestApproval" || d.Err != nil {
			return nil
		}
		m, err := rpc.ParseMessage(d.Message)
		if err != nil {
			return nil
		}
		return serverrequest.GrantedPaths(m.Result)
	})
	if !ok {
		d = policy.Decision{Verdict: policy.Deny, Err: foldersChangedError(request.Method)}
	}
	if d.Verdict == policy.Pass {
		return
	}
	g.logDecision(p.Mode(), request.Method, d)
	about := subjectOf(request.Method, params, r.Bytes())
	about.facts = unknownFacts("", "it is about the client's answer")
	d = g.recordEffect(ctx, p.Mode(), about, d)
	if p.Mode() != config.Enforce {
		return
	}
	if r.Line = d.Message; d.Message == nil {
		// Codex treats an error as a refusal and stops waiting.
		r.Line = append(rpc.EncodeError(r.ID, d.Err), '\n')
	}
	g.notifyApplied(request.Method, request.ID, params, d)
}

// refuseUnreadableAnswer logs that a response of the client can't be read, and tells the user. In each mode Codex gets an
// error, which declines.
func (g *Guard) refuseUnreadableAnswer(ctx context.Context, request *rpc.Envelope, r *bridge.ClientResponse) {
	params := request.Root().Get("params")
	d := policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
		Method: request.Method, Rule: "protocol", Reason: r.Unreadable.Message, Hint: "answer each request once, with a result or an error",
	})}
	g.logDecision(effective, request.Method, d)
	about := subjectOf(request.Method, params, r.Received)
	about.facts = unknownFacts("", "the client's answer can't be read")
	_ = g.record(ctx, effective, about, d) // the answer counts as a refusal even if this fails
	g.notifyApplied(request.Method, request.ID, params, d)
}

// decideAnswer decides a response by each of the policies.
func decideAnswer(policies []*policy.Policy, question serverrequest.Request, answer *rpc.Message, state policy.State) policy.Decision {
	d := serverrequest.DecideAnswer(policies[0], question, answer, state)
	for _, q := range policies[1:] {
		if d.Verdict == policy.Deny {
			break
		}
		if m, err := rpc.ParseMessage(d.Message); err == nil && q.Mode() == config.Enforce {
			if e := serverrequest.DecideAnswer(q, question, m, state); e.Verdict != policy.Pass {
				e.Changes = append(d.Changes, e.Changes...)
				d = e
			}
		}
	}
	return d
}

// refuseUnsolicited refuses a response without a request. Codex's request may already be on its
// way, and Codex would take the response without a check.
func (g *Guard) refuseUnsolicited(ctx context.Context, call *bridge.ClientMessage) *rpc.Error {
	p := g.policy.Load()
	if p.Mode() == config.Off {
		return nil
	}
	d := policy.Decision{Verdict: policy.Deny, Err: policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
		Method: "answer", Rule: "policy.mode", Field: "id",
		Reason: "codex has sent no request with this id, or it has its response",
		Hint:   "respond to each request once, after it has arrived",
	})}
	g.logDecision(p.Mode(), "answer", d)
	_ = g.record(ctx, p.Mode(), subjectOf("answer", rpc.Value{}, call.Bytes()), d)
	if p.Mode() != config.Enforce {
		return nil
	}
	g.notifyApplied("answer", call.ID, rpc.Value{}, d)
	return d.Err
}

// serverRequestResolved handles the notification that Codex no longer waits for a response.
func (g *Guard) serverRequestResolved(_ context.Context, msg *bridge.ServerMessage) {
	if id, ok := rpc.ParseID(msg.Root().Get("params").Get("requestId")); ok {
		g.peer.ForgetServerRequest(id)
	}
}
