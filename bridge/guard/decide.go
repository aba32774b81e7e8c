package guard

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// decide checks one message of the client. It returns the error for the client if the message is
// refused.
func (g *Guard) decide(ctx context.Context, call *bridge.ClientMessage) *rpc.Error {
	g.tightenFor(call)
	return g.decideWith(ctx, call, g.policiesOf(call.Method, textOf(call, "threadId")))
}

// decideWith checks one message against policies. The first decides whether they are enforced.
func (g *Guard) decideWith(ctx context.Context, call *bridge.ClientMessage, policies []*policy.Policy) *rpc.Error {
	thread, p := textOf(call, "threadId"), policies[0]
	if err := g.refuseUnenforced(call); err != nil {
		return err
	}
	if p.Mode() == config.Off {
		return nil
	}
	waitCtx := newLazyTimeout(ctx, g.codexTimeout)
	defer waitCtx.cancel()
	if call.Method != "initialize" || call.Kind != rpc.Request { // checked with its response
		if err := g.requireUsableCodex(waitCtx, call.Method); err != nil {
			return err
		}
	}
	if call.Method == "thread/resume" && call.Kind == rpc.Request {
		done, ok := g.threads.beginResume(waitCtx, thread, g, g.peer.CodexDone())
		if !ok {
			return rpc.Errorf(rpc.CodeDeadline, "thread/resume: another client's thread/resume has no response yet; send this request again")
		}
		call.OnResponse(func(a *bridge.ServerResponse) { a.AfterHandlers(done) }) // also if it is refused
	}
	if slices.Contains(openRequests, call.Method) && call.Kind == rpc.Request {
		g.forgetEnded(waitCtx)
	}
	var j judgement
	if !g.threads.reserveWritable(thread, func(all []string) []string {
		j = g.judge(waitCtx, policies, call, all)
		return j.Writable
	}) {
		return foldersChangedError(call.Method)
	}
	d, state := j.Decision, j.state
	if d.Sent != nil && p.Mode() == config.Enforce {
		if err := g.requireNotifications(call.Method); err != nil {
			d = policy.Decision{Verdict: policy.Deny, Err: err}
		}
	}
	g.logDecision(p.Mode(), call.Method, d)
	d = g.recordMessage(ctx, slices.Concat(policies, j.folderPolicies), call, state, d)
	if p.Mode() == config.Enforce {
		if d.Verdict != policy.Pass {
			g.notifyApplied(call.Method, call.ID, call.Params, d)
		}
		if d.Verdict == policy.Deny {
			return d.Err
		}
		if d.Verdict == policy.Rewrite {
			call.Line = d.Message
			g.warnChanged(call, d.Changes)
			g.log.Debug("codex gets", "method", call.Method, "line", string(bytes.TrimSpace(call.Line)))
		}
	}
	if p.Mode() != config.Enforce {
		gated := false // Codex got the client's own approval policy
		d.Gated = &gated
		if d.Sent != nil {
			d.Sent.Gated = &gated
		}
	}
	if d.Gated != nil && d.Sent == nil && state.Thread != nil && call.Kind == rpc.Request {
		request := g.newGateRequest(call.Method, state.Thread.ID, call.Line)
		change := g.threads.beginGateChange(state.Thread.ID, d.Gated)
		call.OnResponse(func(a *bridge.ServerResponse) {
			g.threads.endGateChange(change, a.Outcome())
			if p.Mode() == config.Enforce {
				g.recordGate(ctx, change.thread)
				g.gateChanged(ctx, a, request)
			}
		})
	}
	if p.Mode() == config.Enforce && call.Kind == rpc.Request {
		g.holdForRequest(waitCtx, call, d, state)
		g.warnUnhidden(call, state)
	}
	// Under enforce the proxy refuses a notification whose response is needed.
	if d.Sent != nil && (p.Mode() == config.Enforce || call.Kind == rpc.Request) {
		g.verifyResponse(call, p, d, state, j.folderPolicies, j.loaded)
	}
	if d.Gated != nil && *d.Gated && call.Method != "thread/fork" && thread != "" { // start and fork create threads
		if err := g.requireGateRecord(ctx, call.Method, thread, d.Sent != nil); err != nil {
			return err
		}
	}
	if d.Sent != nil && p.Mode() == config.Enforce {
		g.warnAtStart(call)
		g.warnUntested(call)
		g.warnUnsupervised(call, slices.Concat(policies, j.folderPolicies))
		g.warnReadOnly(call, p)
	}
	if d.Untrusted != "" && p.Mode() == config.Enforce {
		g.warnUntrusted(call, d.Untrusted, state)
	}
	if call.Method == "thread/unsubscribe" || slices.Contains(methods.UnloadRequests, call.Method) {
		g.threads.awaitOpenings(waitCtx, thread, g.peer.CodexDone())
		if waitCtx.Err() != nil {
			return rpc.Errorf(rpc.CodeDeadline, "%s: Codex has not answered the request that opens a thread; send this request again", call.Method)
		}
	}
	if call.Method == "thread/unsubscribe" {
		g.unsubscribe(call, thread)
	}
	if slices.Contains(methods.UnloadRequests, call.Method) && call.Kind == rpc.Request {
		call.OnResponse(func(a *bridge.ServerResponse) {
			if a.Outcome() != bridge.Failed {
				g.threads.apply(thread, threadRevoked{})
			}
		})
	}
	return nil
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

// judgement is the decision about a client's message, with its inputs.
type judgement struct {
	policy.Decision
	state          policy.State
	folderPolicies []*policy.Policy // of the folders in which the message opens a thread or runs a command, and of the machine's requirements
	loaded         []string         // ids of the threads that Codex had in memory before a resume
}

// judge decides a message of the client by the policies. The first decides whether they are
// enforced. writable are the folders that commands of any thread could write.
func (g *Guard) judge(ctx context.Context, policies []*policy.Policy, call *bridge.ClientMessage, writable []string) judgement {
	p := policies[0]
	if call.Method == "thread/resume" || call.Method == "thread/fork" {
		ctx = withStoredReads(ctx)
	}
	refusal := g.refreshFiles(call)
	j := judgement{state: g.stateFor(ctx, p, call.Message)}
	j.state.Writable = writable
	j.state.Consented = g.consents.has(call.Message)
	j.state.FolderAdded = call.FolderAdded
	var folderErr *rpc.Error
	if method := call.Method; p.Mode() == config.Enforce && (method == "thread/resume" || method == "thread/fork") {
		g.readRecord(ctx, textOf(call, "threadId"), &j.state)
	}
	if p.Mode() == config.Enforce && j.state.Thread == nil {
		j.state.OpenedIn, j.state.MovedTo, folderErr = g.originalFolder(ctx, call.Message)
	}
	d := g.decideWithFacts(ctx, p, call, call.Message, &j.state)
	var fileErr *rpc.Error
	j.folderPolicies, fileErr = g.folderPolicies(ctx, call, d, &j.state)
	refusal = cmp.Or(refusal, folderErr, fileErr)
	if refusal == nil && d.Sent != nil {
		var required *policy.Policy
		if required, refusal = g.requiredPolicy(ctx, call.Method, p); required != nil {
			j.folderPolicies = append(j.folderPolicies, required)
		}
	}
	policies = slices.Concat(policies, j.folderPolicies)
	d = g.decideTogether(ctx, policies, call, d, &j.state)
	if refusal == nil {
		refusal = checkIDSpelling(call.Method, textOf(call, "threadId"))
	}
	if refusal == nil && p.Mode() == config.Enforce && call.Method == "thread/resume" && d.Sent != nil {
		j.loaded, refusal = g.loadedBefore(ctx, textOf(call, "threadId"), policies)
	}
	if refusal == nil && p.Mode() == config.Enforce && call.Method == "thread/resume" {
		refusal = g.keepStoredGate(ctx, textOf(call, "threadId"), &d, j.state)
	}
	if refusal == nil {
		refusal = g.checkGit(ctx, policies, call, d, &j.state)
	}
	if refusal == nil {
		refusal = g.checkProjects(ctx, policies, call, d, &j.state)
	}
	if refusal == nil && d.Verdict != policy.Deny {
		refusal = checkFolder(call, j.state)
	}
	if refusal != nil {
		d = policy.Decision{Verdict: policy.Deny, Err: refusal}
	}
	j.Decision = d
	return j
}

// stateFor returns the state for a message. It waits for the message's thread unless the policy
// passes the message without checks, as with turn/interrupt.
func (g *Guard) stateFor(ctx context.Context, p *policy.Policy, m *rpc.Message) policy.State {
	state := g.currentState(rpc.Value{})
	state.Unpinned = g.isUnpinned(p)
	state.NamedProfile, _ = m.Params.Get("permissions").Text()
	if id, ok := m.Params.Get("threadId").Text(); ok && p.NeedsState(m) {
		state.Thread = g.threads.get(ctx, id, g.peer.CodexDone())
		if m.Method == "thread/resume" {
			state.LoadedProfile, state.Unsubscribed = g.threads.profile(id)
			state.Left = g.threads.left(id)
		}
	}
	return state
}

// textOf returns a text member of a message's params, or "" if it is missing.
func textOf(call *bridge.ClientMessage, member string) string {
	text, _ := call.Params.Get(member).Text()
	return text
}
