package guard

import (
	"bytes"
	"context"
	"slices"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// clientCall is a message of the client while decideWith handles it.
type clientCall struct {
	*bridge.ClientMessage
	judgement
	thread   string           // "" if the message names none
	policies []*policy.Policy // besides those of the judgement
	enforced bool             // the policies are enforced; otherwise their decision is logged
}

// isOf reports whether the call is a request with one of the methods.
func (c *clientCall) isOf(requests []string) bool {
	return c.Kind == rpc.Request && slices.Contains(requests, c.Method)
}

// all returns all policies that have decided the call.
func (c *clientCall) all() []*policy.Policy { return slices.Concat(c.policies, c.folderPolicies) }

// admit waits until the call can be judged: Codex must be usable, and no other client may resume the thread.
func (g *Guard) admit(ctx context.Context, c *clientCall) *rpc.Error {
	if c.Method != "initialize" || c.Kind != rpc.Request { // checked with its response
		if err := g.requireUsableCodex(ctx, c.Method); err != nil {
			return err
		}
	}
	if c.isOf([]string{"thread/resume"}) {
		done, ok := g.threads.beginResume(ctx, c.thread, g, g.peer.CodexDone())
		if !ok {
			return rpc.Errorf(rpc.CodeDeadline, "thread/resume: another client's thread/resume has no response yet; send this request again")
		}
		c.OnResponse(func(a *bridge.ServerResponse) { a.AfterHandlers(done) }) // also if it is refused
	}
	if c.isOf(openRequests) {
		g.forgetEnded(ctx)
	}
	return nil
}

// judgeCall decides the call, and reserves the folders that it makes writable.
func (g *Guard) judgeCall(ctx context.Context, c *clientCall) *rpc.Error {
	if !g.threads.reserveWritable(c.thread, func(all []string) []string {
		c.judgement = g.judge(ctx, c.policies, c.ClientMessage, all)
		return c.decision.Writable
	}) {
		return foldersChangedError(c.Method)
	}
	if c.decision.Sent != nil && c.enforced {
		if err := g.requireNotifications(c.Method); err != nil {
			c.decision = policy.Decision{Verdict: policy.Deny, Err: err}
		}
	}
	return nil
}

// applyJudged logs the decision. If it is enforced, it returns the refusal or rewrites the line, and tells
// the user.
func (g *Guard) applyJudged(ctx context.Context, c *clientCall) *rpc.Error {
	g.logDecision(c.policies[0].Mode(), c.Method, c.decision)
	c.decision = g.recordMessage(ctx, c.all(), c.ClientMessage, c.state, c.decision)
	d := &c.decision
	if !c.enforced {
		gated := false // Codex gets the client's own approval policy
		d.Gated = &gated
		if d.Sent != nil {
			d.Sent.Gated = &gated
		}
		return nil
	}
	if d.Verdict != policy.Pass {
		g.notifyApplied(c.Method, c.ID, c.Params, *d)
	}
	switch d.Verdict {
	case policy.Deny:
		return d.Err
	case policy.Rewrite:
		c.Line = d.Message
		g.warnChanged(c.ClientMessage, d.Changes)
		g.log.Debug("codex gets", "method", c.Method, "line", string(bytes.TrimSpace(c.Line)))
	}
	return nil
}

// followGate applies a change of the thread's gate with the response.
func (g *Guard) followGate(ctx context.Context, c *clientCall) {
	if c.decision.Gated == nil || c.decision.Sent != nil || c.state.Thread == nil || c.Kind != rpc.Request {
		return
	}
	request := g.newGateRequest(c.Method, c.state.Thread.ID, c.Line)
	change, enforced := g.threads.beginGateChange(c.state.Thread.ID, c.decision.Gated), c.enforced
	c.OnResponse(func(a *bridge.ServerResponse) {
		g.threads.endGateChange(change, a.Outcome())
		if enforced {
			g.recordGate(ctx, change.thread)
			g.gateChanged(ctx, a, request)
		}
	})
}

// warnOfCall tells the user what the response of an enforced call does not say.
func (g *Guard) warnOfCall(c *clientCall) {
	if c.decision.Sent != nil {
		g.warnAtStart(c.ClientMessage)
		g.warnUntested(c.ClientMessage)
		g.warnUnsupervised(c.ClientMessage, c.all())
		g.warnReadOnly(c.ClientMessage, c.policies[0])
	}
	if c.decision.Untrusted != "" {
		g.warnUntrusted(c.ClientMessage, c.decision.Untrusted, c.state)
	}
}

// leaveThread handles a call by which the client leaves the thread, or Codex unloads it. It waits until no
// request is opening the thread.
func (g *Guard) leaveThread(ctx context.Context, c *clientCall) *rpc.Error {
	unsubscribes, unloads := c.Method == "thread/unsubscribe", slices.Contains(methods.UnloadRequests, c.Method)
	if !unsubscribes && !unloads {
		return nil
	}
	g.threads.awaitOpenings(ctx, c.thread, g.peer.CodexDone())
	if ctx.Err() != nil {
		return rpc.Errorf(rpc.CodeDeadline, "%s: Codex has not answered the request that opens a thread; send this request again", c.Method)
	}
	if unsubscribes {
		g.unsubscribe(c.ClientMessage, c.thread)
	}
	if unloads && c.Kind == rpc.Request {
		thread := c.thread
		c.OnResponse(func(a *bridge.ServerResponse) {
			if a.Outcome() != bridge.Failed {
				g.threads.apply(thread, threadRevoked{})
			}
		})
	}
	return nil
}

// unsubscribe handles thread/unsubscribe: the thread takes no more turns. Requests that open the
// thread wait for the response. Otherwise Codex could end the notifications after it has opened the
// thread again.
//
// If another client gets the notifications, the thread stays as it is.
func (g *Guard) unsubscribe(call *bridge.ClientMessage, thread string) {
	call.OnResponse(func(*bridge.ServerResponse) { g.threads.apply(thread, clientUnsubscribed{g}) })
	if g.subscribers != nil && g.subscribers(thread) {
		return
	}
	g.threads.unsubscribe(thread, g.isOpened(thread))
	if call.Kind == rpc.Request {
		done := g.threads.beginOpening(thread)
		call.OnResponse(func(*bridge.ServerResponse) { done() })
	}
}

// slowRecord is when a message that waits for the decision log lets others go on.
const slowRecord = 100 * time.Millisecond

// recordMessage logs the decision about a message of the client, the exceptions by which it passes, and that
// it signs in or out.
// It returns the decision that applies. If the log is locked, requests that change nothing go on.
func (g *Guard) recordMessage(ctx context.Context, policies []*policy.Policy, call *bridge.ClientMessage, state policy.State, d policy.Decision) policy.Decision {
	defer time.AfterFunc(slowRecord, call.LetReadsPass).Stop()
	d = g.recordEffect(ctx, policies[0].Mode(), subjectOf(call.Method, call.Params, call.Bytes()), d)
	if d.Verdict == policy.Deny {
		return d
	}
	if signs, changes := policy.AccountChange(call.Message); changes {
		if err := g.recordEffect(ctx, policies[0].Mode(), subjectOf(call.Method, call.Params, call.Bytes()), signs).Err; err != nil {
			return policy.Decision{Verdict: policy.Deny, Err: err}
		}
	}
	return g.recordCommand(ctx, policies, call, state, d)
}

// recordCommand logs the exceptions by which a command of the client passes. It returns the decision
// that applies: d, or a refusal.
func (g *Guard) recordCommand(ctx context.Context, policies []*policy.Policy, call *bridge.ClientMessage, state policy.State, d policy.Decision) policy.Decision {
	var used []rules.Exception
	for _, p := range policies {
		used = policy.AddExceptions(used, p.CommandExceptions(call.Message, state))
	}
	if err := g.recordExceptions(ctx, policies[0].Mode(), subjectOf(call.Method, call.Params, call.Bytes()), used); err != nil {
		return policy.Decision{Verdict: policy.Deny, Err: err}
	}
	return d
}
