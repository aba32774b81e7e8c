package guard

import (
	"cmp"
	"context"
	"slices"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
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
	if err := g.refuseUnenforced(call); err != nil {
		return err
	}
	if policies[0].Mode() == config.Off {
		return nil
	}
	waitCtx := newLazyTimeout(ctx, g.codexTimeout)
	defer waitCtx.cancel()
	c := &clientCall{ClientMessage: call, thread: textOf(call, "threadId"), policies: policies, enforced: policies[0].Mode() == config.Enforce}
	if err := g.admit(waitCtx, c); err != nil {
		return err
	}
	if err := g.judgeCall(waitCtx, c); err != nil {
		return err
	}
	if err := g.applyJudged(ctx, c); err != nil {
		return err
	}
	g.followGate(ctx, c)
	if c.enforced && c.Kind == rpc.Request {
		g.holdForRequest(waitCtx, call, c.decision, c.state)
		g.warnUnhidden(call, c.state)
	}
	// Under enforce the proxy refuses a notification whose response is needed.
	if c.decision.Sent != nil && (c.enforced || c.Kind == rpc.Request) {
		g.verifyResponse(call, policies[0], c.decision, c.state, c.folderPolicies, c.loaded)
	}
	if gated := c.decision.Gated; gated != nil && *gated && c.Method != "thread/fork" && c.thread != "" { // start and fork create threads
		if err := g.requireGateRecord(ctx, c.Method, c.thread, c.decision.Sent != nil); err != nil {
			return err
		}
	}
	if c.enforced {
		g.warnOfCall(c)
	}
	return g.leaveThread(waitCtx, c)
}

// judgement is the decision about a client's message, with its inputs.
type judgement struct {
	decision       policy.Decision
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
	if p.Mode() == config.Enforce {
		folderErr = g.readStoredThread(ctx, call, &j.state)
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
	j.decision = g.decideTogether(ctx, policies, call, d, &j.state)
	if refusal == nil {
		refusal = g.checkBeside(ctx, policies, call, &j)
	}
	if refusal != nil {
		j.decision = policy.Decision{Verdict: policy.Deny, Err: refusal}
	}
	return j
}

// readStoredThread adds to state what the guard and Codex have recorded of the thread of a resume or fork.
func (g *Guard) readStoredThread(ctx context.Context, call *bridge.ClientMessage, state *policy.State) (refusal *rpc.Error) {
	if call.Method == "thread/resume" || call.Method == "thread/fork" {
		g.readRecord(ctx, textOf(call, "threadId"), state)
	}
	if state.Thread == nil {
		state.OpenedIn, state.MovedTo, refusal = g.originalFolder(ctx, call.Message)
	}
	return refusal
}

// checkBeside returns the first refusal of the checks that the decision of the policies does not have.
func (g *Guard) checkBeside(ctx context.Context, policies []*policy.Policy, call *bridge.ClientMessage, j *judgement) *rpc.Error {
	thread := textOf(call, "threadId")
	resumes := call.Method == "thread/resume" && policies[0].Mode() == config.Enforce
	for _, check := range []func() *rpc.Error{
		func() *rpc.Error { return checkIDSpelling(call.Method, thread) },
		func() (err *rpc.Error) {
			if resumes && j.decision.Sent != nil {
				j.loaded, err = g.loadedBefore(ctx, thread, policies)
			}
			return err
		},
		func() *rpc.Error {
			if resumes {
				return g.keepStoredGate(ctx, thread, &j.decision, j.state)
			}
			return nil
		},
		func() *rpc.Error { return g.checkGit(ctx, policies, call, j.decision, &j.state) },
		func() *rpc.Error { return g.checkProjects(ctx, policies, call, j.decision, &j.state) },
		func() *rpc.Error {
			if j.decision.Verdict != policy.Deny {
				return checkFolder(call, j.state)
			}
			return nil
		},
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
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
