package guard

import (
	"context"
	"slices"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// openingCall is a request that opens a thread, until Codex has answered it.
type openingCall struct {
	thread       string // of a resume; start and fork create threads
	sent         policy.SentSettings
	state        policy.State
	own          []*policy.Policy // the policies of its folders, and of the machine's requirements
	policies     []*policy.Policy // all that decided the request
	loaded       []string         // the threads that Codex had in memory before a resume; nil if this is not known
	enforced     bool             // the request was decided under enforce
	wasOpen      bool             // the thread was verified before the request
	namesSandbox bool             // the request has a sandbox
	change       *gateChange
	request      gateRequest
}

// verifyResponse compares Codex's response to a request that opens a thread with the request. The
// thread takes no turn before the comparison, nor after a difference. loaded are the threads that
// Codex had in memory before a resume; nil if this is not known.
//
// sentUnder is the policy that decided the request.
func (g *Guard) verifyResponse(call *bridge.ClientMessage, sentUnder *policy.Policy, d policy.Decision, state policy.State, own []*policy.Policy, loaded []string) {
	id := ""
	if call.Method == "thread/resume" {
		id = textOf(call, "threadId")
	}
	done := g.threads.beginOpening(id)
	g.threads.recordSent(d.Sent.Project, own)
	o := &openingCall{
		thread: id, sent: *d.Sent, state: state, own: own, policies: append(slices.Clip(own), sentUnder), loaded: loaded,
		enforced: sentUnder.Mode() == config.Enforce, wasOpen: id != "" && state.Thread != nil,
		namesSandbox: call.Params.Get("sandbox").Kind() > rpc.Null, // the parser uses the memory of the request again
	}
	if state.Thread != nil { // the source of a fork
		o.state.Thread = g.threads.peek(state.Thread.ID)
	}
	o.change, o.request = g.threads.beginGateChange(id, d.Gated), g.newGateRequest(call.Method, id, nil)
	call.OnResponse(func(a *bridge.ServerResponse) {
		// Later features also use the thread, for example to verify its hooks.
		a.AfterHandlers(done)
		g.rulesFor() // remember the rules that Codex has just read
		var outcome bridge.Outcome
		if a.Result().Exists() {
			outcome = g.openedBy(o, a)
		} else {
			outcome = g.notOpenedBy(o, a)
		}
		g.threads.endGateChange(o.change, outcome)
		g.gateChanged(context.Background(), a, o.request)
	})
}

// notOpenedBy handles a response without a result: Codex returned an error, or it is too large to parse.
func (g *Guard) notOpenedBy(o *openingCall, a *bridge.ServerResponse) bridge.Outcome {
	outcome := a.Outcome()
	if o.thread == "" {
		return outcome
	}
	g.threads.apply(o.thread, overlayAnswered{policies: o.policies, outcome: outcome}) // Codex may have loaded it before an error
	if outcome == bridge.Unknown {
		g.threads.apply(o.thread, threadRevoked{}) // Codex may have changed its settings
		g.threads.apply(o.thread, profileSent{fence: o.sent.Profile})
	}
	return outcome
}

// openedBy handles the result of a request that opens a thread. It returns the outcome that counts for the
// gate: if it is unknown, the stricter state stays. After a success the response determines the state.
func (g *Guard) openedBy(o *openingCall, a *bridge.ServerResponse) bridge.Outcome {
	outcome := a.Outcome()
	opened, _ := a.Result().Get("thread").Get("id").Text()
	if opened != o.thread {
		a.AfterHandlers(g.threads.beginOpening(opened))
	}
	// The policy may have changed since the request. The response to a request that was sent
	// under audit stays as it is; the current policy decides whether the thread may take turns.
	if opened != "" {
		g.threads.apply(opened, overlayAnswered{policies: o.policies, outcome: outcome})
	}
	if !o.enforced {
		g.threads.apply(opened, openedUnenforced{})
	}
	sent := o.sent
	sent.Loaded = o.wasOpen && opened == o.thread || slices.Contains(o.loaded, opened)
	if sent.Loaded && sent.Gated != nil && !*sent.Gated {
		// Codex keeps the approval policy of a loaded thread, so the bridge keeps its gate. Of a thread
		// that the guard does not know, the record has it; without a record, the bridge asks.
		sent.Gated, outcome = nil, bridge.Failed
		if o.state.Thread == nil && o.enforced {
			gated := o.state.StoredGate == nil || *o.state.StoredGate
			sent.Gated = &gated
		}
	}
	err := g.registerOpened(openedThread{sent: &sent, result: a.Result(), world: o.state, order: o.change.order, own: o.own})
	if !o.enforced {
		if g.Enforces() {
			g.threads.apply(opened, threadRevoked{}) // as in SetPolicy
		}
		g.showOpened(opened, o.namesSandbox, a)
		return outcome
	}
	if err == nil {
		err = g.requireEnforced(o, opened)
	}
	if err != nil { // Codex has not done what was requested: the gate stays as it is
		g.refuseOpened(o, opened, &sent, a, err)
		return bridge.Failed
	}
	g.showOpened(opened, o.namesSandbox, a)
	a.AfterHandlers(func() { g.recordGate(context.Background(), opened) })
	return outcome
}

// requireEnforced returns an error if Codex may have loaded an opened thread by another request, with a
// configuration that the policies do not allow.
func (g *Guard) requireEnforced(o *openingCall, opened string) *rpc.Error {
	wasLoaded := slices.Contains(o.loaded, opened)
	how := &openedEnforced{wasLoaded: wasLoaded}
	if g.threads.apply(opened, how); how.isRefused {
		return openedUnenforcedError(o.sent.Method)
	}
	return g.requireOverlay(o.sent.Method, opened, o.policies, o.loaded != nil && !wasLoaded)
}

// refuseOpened gives the client an error in place of the response that opened a thread.
func (g *Guard) refuseOpened(o *openingCall, opened string, sent *policy.SentSettings, a *bridge.ServerResponse, err *rpc.Error) {
	g.log.Error("a thread differs from the request", "method", sent.Method, "error", err.Message)
	g.recordRevoked(sent.Method, a.ID, opened, a.Line, err)
	a.Line = rpc.EncodeError(a.ID, err)
	a.AfterHandlers(func() { g.recordRoots(context.Background(), sent, opened, o.state) })
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
