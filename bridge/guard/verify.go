package guard

import (
	"context"
	"slices"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// verifyResponse compares Codex's response to a request that opens a thread with the request. The
// thread takes no turn before the comparison, nor after a difference. loaded are the threads that
// Codex had in memory before a resume; nil if this is not known.
//
// sentUnder is the policy that decided the request.
func (g *Guard) verifyResponse(call *bridge.ClientMessage, sentUnder *policy.Policy, d policy.Decision, state policy.State, own []*policy.Policy, loaded []string) {
	id := ""
	if call.Method == "thread/resume" { // start and fork create threads
		id, _ = call.Params.Get("threadId").Text()
	}
	done := g.threads.beginOpening(id)
	g.threads.recordSent(d.Sent.Project, own)
	wasOpen := id != "" && state.Thread != nil
	if state.Thread != nil { // the source of a fork
		state.Thread = g.threads.peek(state.Thread.ID)
	}
	namesSandbox := call.Params.Get("sandbox").Kind() > rpc.Null // the parser uses the memory of the request again
	change, request := g.threads.beginGateChange(id, d.Gated), g.newGateRequest(call.Method, id, nil)
	enforced, policies := sentUnder.Mode() == config.Enforce, append(slices.Clip(own), sentUnder)
	call.OnResponse(func(a *bridge.ServerResponse) {
		// Later features also use the thread, for example to verify its hooks.
		a.AfterHandlers(done)
		g.rulesFor() // remember the rules that Codex has just read
		// If the outcome is unknown, the stricter state stays. After a success the response
		// determines the state.
		outcome := a.Outcome()
		defer func() {
			g.threads.endGateChange(change, outcome)
			g.gateChanged(context.Background(), a, request)
		}()
		result := a.Result()
		if !result.Exists() {
			if id == "" {
				return // no thread was opened, or its id is not known
			}
			g.threads.apply(id, overlayAnswered{policies: policies, outcome: outcome}) // Codex may have loaded it before an error
			if a.Outcome() == bridge.Unknown {
				g.threads.apply(id, threadRevoked{}) // Codex may have changed its settings
				g.threads.apply(id, profileSent{fence: d.Sent.Profile})
			}
			return // Codex returned an error, or the response is too large to parse
		}
		opened, _ := result.Get("thread").Get("id").Text()
		if opened != id {
			a.AfterHandlers(g.threads.beginOpening(opened))
		}
		// The policy may have changed since the request. The response to a request that was sent
		// under audit stays as it is; the current policy decides whether the thread may take turns.
		if opened != "" {
			g.threads.apply(opened, overlayAnswered{policies: policies, outcome: outcome})
		}
		if !enforced {
			g.threads.apply(opened, openedUnenforced{})
		}
		sent := *d.Sent
		sent.Loaded = wasOpen && opened == id || slices.Contains(loaded, opened)
		if sent.Loaded && sent.Gated != nil && !*sent.Gated {
			// Codex keeps the approval policy of a loaded thread, so the bridge keeps its gate. Of a thread
			// that the guard does not know, the record has it; without a record, the bridge asks.
			sent.Gated, outcome = nil, bridge.Failed
			if state.Thread == nil && enforced {
				gated := state.StoredGate == nil || *state.StoredGate
				sent.Gated = &gated
			}
		}
		err := g.registerOpened(openedThread{sent: &sent, result: result, world: state, order: change.order, own: own})
		if err == nil && enforced {
			how := &openedEnforced{wasLoaded: slices.Contains(loaded, opened)}
			if g.threads.apply(opened, how); how.isRefused {
				err = openedUnenforcedError(d.Sent.Method)
			}
		}
		if err == nil && enforced {
			err = g.requireOverlay(d.Sent.Method, opened, policies, loaded != nil && !slices.Contains(loaded, opened))
		}
		if err != nil && enforced {
			outcome = bridge.Failed // Codex has not done what was requested: the gate stays as it is
			g.log.Error("a thread differs from the request", "method", d.Sent.Method, "error", err.Message)
			g.recordRevoked(d.Sent.Method, a.ID, opened, a.Line, err)
			a.Line = rpc.EncodeError(a.ID, err)
			a.AfterHandlers(func() { g.recordRoots(context.Background(), &sent, opened, state) })
			return
		}
		if !enforced && g.Enforces() {
			g.threads.apply(opened, threadRevoked{}) // as in SetPolicy
		}
		g.showOpened(opened, namesSandbox, a)
		if enforced {
			a.AfterHandlers(func() { g.recordGate(context.Background(), opened) })
		}
	})
}

// showOpened changes the response that opened a thread to what the client sees. namesSandbox reports that the request
// has a sandbox.
func (g *Guard) showOpened(thread string, namesSandbox bool, a *bridge.ServerResponse) {
	p := g.policy.Load()
	if p.Mode() != config.Enforce {
		return
	}
	result, t := a.Result(), g.threads.current(thread, lastGated)
	patch, approval := rpc.NewEnvelopePatch(a.Envelope), result.Get("approvalPolicy").Raw()
	if shown := p.ShownApproval(t); shown != nil {
		patch.Set(result, "approvalPolicy", shown)
		approval = shown
	}
	g.threads.apply(thread, approvalShown{client: g, approval: string(approval)})
	const profile = "activePermissionProfile"
	if shown := p.ShownOpenedProfile(t, namesSandbox, result.Get(profile)); shown != nil {
		patch.Set(result, profile, shown)
	}
	if shown := p.ShownRoots(t, result.Get("sandbox"), g.world); shown != nil {
		patch.Set(result.Get("sandbox"), "writableRoots", shown)
	}
	if patch.Changed() {
		a.Line = patch.Bytes()
	}
}

// settingsUpdated verifies the settings that Codex reports as effective.
func (g *Guard) settingsUpdated(_ context.Context, msg *bridge.ServerMessage) {
	if g.policy.Load().Mode() == config.Off {
		return
	}
	id, _ := msg.Root().Get("params").Get("threadId").Text()
	g.verifyUpdate(msg, id)
	p := g.policy.Load()
	if p.Mode() != config.Enforce || msg.Line == nil {
		return
	}
	var shown []byte
	g.showing.Lock() // see showApproval
	defer g.showing.Unlock()
	shown, msg.Line = showSettings(p, g.threads.current(id, lastGated), g.world, msg.Envelope, msg.Line)
	g.threads.apply(id, approvalShown{client: g, approval: string(shown)})
}

// showSettings returns the line of a thread/settings/updated that the client gets, and the approval policy
// in it.
func showSettings(p *policy.Policy, t *policy.Thread, world policy.State, e *rpc.Envelope, line []byte) (approval, out []byte) {
	settings := e.Root().Get("params").Get("threadSettings")
	patch, approval := rpc.NewEnvelopePatch(e), settings.Get("approvalPolicy").Raw()
	if shown := p.ShownApproval(t); shown != nil {
		patch.Set(settings, "approvalPolicy", shown)
		approval = shown
	}
	const profile = "activePermissionProfile"
	if shown := p.ShownProfile(t, settings.Get(profile)); shown != nil {
		patch.Set(settings, profile, shown)
	}
	if shown := p.ShownRoots(t, settings.Get("sandboxPolicy"), world); shown != nil {
		patch.Set(settings.Get("sandboxPolicy"), "writableRoots", shown)
	}
	if patch.Changed() {
		line = patch.Bytes()
	}
	return approval, line
}

// threadUnloaded removes a thread that Codex has unloaded. It takes turns again after it was opened
// and verified again.
//
// Each client of Codex gets the notification. If another one has the thread open, this client is slow:
// the thread was opened again meanwhile, or that client gets the notification, too.
func (g *Guard) threadUnloaded(ctx context.Context, msg *bridge.ServerMessage) {
	id, ok := msg.Root().Get("params").Get("threadId").Text()
	g.forgetTurn(id)
	if !ok || msg.Method == "thread/closed" && g.subscribers != nil && g.subscribers(id) {
		return
	}
	g.threads.apply(id, threadUnloaded{})
	if msg.Method == "thread/deleted" {
		g.deleteGate(ctx, id)
	}
}

// recordRevoked logs that a thread takes no more turns. This holds even if the log can't be
// written.
func (g *Guard) recordRevoked(method string, id rpc.ID, thread string, line []byte, err *rpc.Error) {
	d := policy.Decision{Verdict: policy.Deny, Err: err}
	about := subjectOf(method, rpc.Value{}, line)
	about.thread = thread
	_ = g.record(context.Background(), config.Enforce, about, d)
	g.notifyApplied(method, id, rpc.Value{}, d)
}
