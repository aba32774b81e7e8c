package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/methods"
	"codex-bridge/bridge/policy"
	"codex-bridge/bridge/userrules"
	"codex-bridge/rpc"
)

// patience is how long a message waits for what codex has to say first: its
// configuration, or the answer to a thread/resume that the message builds on.
// Both take milliseconds; who waits this long is refused.
const patience = 30 * time.Second

// Guard is the policy of one conversation.
type Guard struct {
	policy     atomic.Pointer[policy.Policy]
	patience   time.Duration
	world      policy.State // Start, Home, Temp and Paths
	pinArgs    []string     // the policy's, with which Codex was started
	threads    threads
	children   children
	patches    patches
	calls      startedCalls
	userRules  userrules.Reader
	told       told
	client     atomic.Pointer[string] // as it calls itself
	needs      []string               // notifications on which decisions lean
	consents   consents
	usable     func(context.Context) error                 // Requires; nil: everything is
	workspaces func(folder string) (*policy.Policy, error) // Workspaces; nil: no folder has a policy of its own
	gitEnv     []string                                    // ReadsGit; nil: git is not asked
	peer       *bridge.Conn
	recorder   Recorder
	listeners  []func(Applied)
	counts     struct{ rewritten, refused atomic.Int64 }
	unenforced atomic.Bool // Codex may have loaded threads while no policy was enforced
	log        *slog.Logger
}

// CodexHome is codex's own folder; "" not known.
func (g *Guard) CodexHome() string { return g.world.CodexHome }

// New makes a Guard. world gives the folders and the paths of each State.
func New(p *policy.Policy, world policy.State, recorder Recorder, log *slog.Logger) *Guard {
	g := &Guard{world: world, patience: patience, pinArgs: p.PinArgs(), recorder: recorder, log: log}
	g.policy.Store(p)
	g.unenforced.Store(p.Mode() != config.Enforce)
	g.readRules(p)
	return g
}

// readRules reads the user's own rules for commands, which Codex reads when it starts and
// when it opens a thread.
func (g *Guard) readRules(p *policy.Policy) {
	if p.Mode() != config.Off {
		g.UserRules()
	}
}

// Attach implements bridge.Attacher.
func (g *Guard) Attach(peer *bridge.Conn) {
	g.peer = peer
	g.needs = []string{"hook/completed"} // of relay/inject: a hook that has failed
	for _, r := range g.Routes() {
		if r.From == bridge.Codex && r.Method != bridge.Other {
			g.needs = append(g.needs, r.Method)
		}
	}
}

// Policy is the policy in force.
func (g *Guard) Policy() *policy.Policy { return g.policy.Load() }

// SetPolicy puts another policy in force, from the next message on. Threads whose
// last known settings it does not allow take no more turns until they are resumed, and
// where none was enforced before, no thread does. An open thread is still checked against
// each policy that was in force since it was opened.
func (g *Guard) SetPolicy(p *policy.Policy) {
	if p.Mode() != config.Enforce {
		g.unenforced.Store(true)
	}
	if p.Mode() == config.Off { // nothing is seen of what the client does
		g.threads.unenforced()
	}
	was := g.policy.Swap(p)
	g.readRules(p)
	if p.Mode() == config.Enforce && was.Mode() != config.Enforce {
		g.threads.forget() // nobody has held them to anything: they may have no hooks, say
	}
	if n := g.threads.keeps(was); n > 0 && was.Mode() == config.Enforce {
		g.changedUnder(n)
	}
	g.threads.recheck(p)
}

// Requires has nothing of the client's pass under enforce while usable returns an
// error: it says why this codex can't be held to a policy. Call it before the
// conversation starts. usable may wait for as long as its ctx lets it.
func (g *Guard) Requires(usable func(context.Context) error) { g.usable = usable }

// bar is the refusal of a message because of the codex that would get it; nil: it passes.
func (g *Guard) bar(ctx context.Context, method string) *rpc.Error {
	if g.usable == nil || g.policy.Load().Mode() != config.Enforce {
		return nil
	}
	if err := g.usable(ctx); err != nil {
		return rpc.Errorf(rpc.CodeUpstream, "%s: %v", clip(method), err)
	}
	return nil
}

// unheardOf is the refusal to open a thread of which codex would not say what is in force;
// nil: it does. The client has had it silenced before the policy was in force.
func (g *Guard) unheardOf(method string) *rpc.Error {
	silent := g.peer.DisabledNotification(g.needs)
	if silent == "" {
		return nil
	}
	return policy.NewRefusalError(rpc.CodeNotVerified, policy.Refusal{
		Method: method, Rule: "policy.mode", Hint: "start codex again, and with it the conversation",
		Reason: "before the policy was in force codex was told to be silent about " + silent + ", on which verification leans",
	})
}

// Routes implements bridge.Feature.
func (g *Guard) Routes() []bridge.Route {
	routes := []bridge.Route{
		{From: bridge.Client, Method: bridge.Other, Why: "every message of the client is held to the method table", HandleClient: g.decide, When: g.isActive},
		{From: bridge.Client, Method: "initialize", Why: "who the client is", HandleClient: g.initialize},
		{From: bridge.Client, Method: bridge.Unsolicited, Why: "an answer that nobody judges must not reach codex", HandleClient: g.unasked, When: g.isActive},
		{From: bridge.Codex, Method: "thread/settings/updated", Why: "what is in force for a thread must be what the policy allows", HandleServer: g.settingsUpdated},
		{
			From: bridge.Codex, Method: "item/started", Why: "the files that a patch changes, for the question about it",
			HandleServer: g.itemStarted, When: g.judgesFiles, Match: isPatch,
		},
		{From: bridge.Codex, Method: "serverRequest/resolved", Why: "codex waits no more for an answer", HandleServer: g.settled},
		{From: bridge.Codex, Method: bridge.Other, Why: "what codex may ask that no version measured knows", HandleServer: g.asks},
	}
	for _, method := range opening {
		routes = append(routes, bridge.Route{
			From: bridge.Client, Method: method, Why: "the policy of a thread's folder counts, too", HandleClient: g.decide,
			When: func() bool { return g.isActive() || g.opensUnenforced() },
		})
	}
	for _, method := range methods.UnloadNotifications {
		routes = append(routes, bridge.Route{From: bridge.Codex, Method: method, Why: "what was verified of it is not true of the next that has its id", HandleServer: g.unloaded})
	}
	for _, row := range methods.Rows() {
		if row.Side == methods.ServerRequest {
			routes = append(routes, bridge.Route{From: bridge.Codex, Method: row.Method, Why: row.Why, HandleServer: g.asks})
		}
	}
	return routes
}

// isActive reports whether a policy decides about messages, if only for the log: the one in
// force, or one that a thread keeps.
func (g *Guard) isActive() bool { return g.Policy().Mode() != config.Off || g.threads.keepsEnforced() }

// Threads is the number of threads that may take turns.
func (g *Guard) Threads() int { return g.threads.count() }

// decide holds one message of the client to the policy.
func (g *Guard) decide(ctx context.Context, call *bridge.ClientMessage) *rpc.Error {
	return g.decideUnder(ctx, call, g.policiesOf(call.Method, textOf(call, "threadId")))
}

// decideUnder holds one message of the client to policies, of which the first decides whether they are enforced.
func (g *Guard) decideUnder(ctx context.Context, call *bridge.ClientMessage, policies []*policy.Policy) *rpc.Error {
	thread, p := textOf(call, "threadId"), policies[0]
	if err := g.refuseUnenforced(call); err != nil {
		return err
	}
	if p.Mode() == config.Off {
		return nil
	}
	patient := newLazyTimeout(ctx, g.patience)
	defer patient.cancel()
	if err := g.bar(patient, call.Method); err != nil {
		return err
	}
	var j judgement
	if !g.threads.writable.reserve(func(all []string) (string, []string) {
		j = g.judge(patient, policies, call, all)
		return thread, j.Writable
	}) {
		return errFolders(call.Method)
	}
	d, state := j.Decision, j.state
	if d.Sent != nil && p.Mode() == config.Enforce {
		if err := g.unheardOf(call.Method); err != nil {
			d = policy.Decision{Verdict: policy.Deny, Err: err}
		}
	}
	g.report(p.Mode(), call.Method, d)
	err := g.record(ctx, p.Mode(), subjectOf(call.Method, call.Params, call.Bytes()), d)
	if p.Mode() == config.Enforce {
		if err != nil && d.Err == nil {
			d = policy.Decision{Verdict: policy.Deny, Err: err}
		}
		if d.Verdict != policy.Pass {
			g.applied(call.Method, call.ID, call.Params, d)
		}
		if d.Verdict == policy.Deny {
			return d.Err
		}
		if d.Verdict == policy.Rewrite {
			call.Line = d.Message
			g.log.Debug("codex gets", "method", call.Method, "line", string(bytes.TrimSpace(call.Line)))
		}
	}
	if p.Mode() != config.Enforce {
		asked := false // codex was sent what the client said
		d.Gated = &asked
		if d.Sent != nil {
			d.Sent.Gated = &asked
		}
	}
	if d.Gated != nil && d.Sent == nil && state.Thread != nil && call.Kind == rpc.Request {
		change := g.threads.prepare(state.Thread.ID, d.Gated)
		call.OnResponse(func(a *bridge.ServerResponse) { g.threads.settle(change, a.Outcome()) })
	}
	// Under enforce the proxy refuses a notification that needs an answer.
	if d.Sent != nil && (p.Mode() == config.Enforce || call.Kind == rpc.Request) {
		g.opens(call, p.Mode(), d, state, j.own, j.loaded)
	}
	if d.Untrusted != "" && p.Mode() == config.Enforce {
		g.keptUntrusted(call, d.Untrusted, state)
	}
	if call.Method == "thread/unsubscribe" || slices.Contains(methods.UnloadRequests, call.Method) {
		g.threads.awaitAll(patient, thread, g.peer.CodexDone())
		if patient.Err() != nil {
			return rpc.Errorf(rpc.CodeDeadline, "%s: Codex has not answered the request that opens a thread; send it again", call.Method)
		}
	}
	if call.Method == "thread/unsubscribe" {
		g.unsubscribe(call, thread)
	}
	if slices.Contains(methods.UnloadRequests, call.Method) && call.Kind == rpc.Request {
		call.OnResponse(func(a *bridge.ServerResponse) {
			if a.Outcome() != bridge.Failed {
				g.threads.unverified(thread)
			}
		})
	}
	return nil
}

// unsubscribe has a thread take no turn from now on. Requests that open the thread wait for Codex's answer, so that Codex
// does not end the notifications after it has opened the thread again.
func (g *Guard) unsubscribe(call *bridge.ClientMessage, thread string) {
	g.threads.unsubscribe(thread, g.isOpened(thread))
	if call.Kind == rpc.Request {
		done := g.threads.opening(thread)
		call.OnResponse(func(*bridge.ServerResponse) { done() })
	}
}

// judgement is the decision about a client's message, and what it was made with.
type judgement struct {
	policy.Decision
	state  policy.State
	own    []*policy.Policy // of the folders in which the message opens a thread
	loaded []string         // the threads that Codex has loaded, before a resume
}

// judge holds a message of the client to the policies. The first decides whether they are enforced. writable are the
// folders that commands of any thread could write.
func (g *Guard) judge(ctx context.Context, policies []*policy.Policy, call *bridge.ClientMessage, writable []string) judgement {
	p := policies[0]
	j := judgement{state: g.state(ctx, p, call.Message)}
	j.state.Writable = writable
	j.state.Consented = g.consents.has(call.Message)
	var refusal, unread *rpc.Error
	if p.Mode() == config.Enforce && j.state.Thread == nil {
		j.state.OpenedIn, unread = g.openedIn(ctx, call.Message)
	}
	d := g.informed(ctx, p, call, call.Message, &j.state)
	j.own, refusal = g.folderPolicies(ctx, call, d, &j.state)
	if unread != nil {
		refusal = unread
	}
	policies = slices.Concat(policies, j.own)
	d = g.together(ctx, policies, call, d, &j.state)
	if refusal == nil {
		refusal = respelled(call.Method, textOf(call, "threadId"))
	}
	if refusal == nil && p.Mode() == config.Enforce && call.Method == "thread/resume" && d.Sent != nil && g.unenforced.Load() {
		j.loaded, refusal = g.loaded(ctx)
	}
	if refusal == nil {
		refusal = g.gitPrograms(ctx, policies, call, d, &j.state)
	}
	if refusal != nil {
		d = policy.Decision{Verdict: policy.Deny, Err: refusal}
	}
	j.Decision = d
	return j
}

// informed decides, and asks codex for what the decision turns out to need.
func (g *Guard) informed(ctx context.Context, p *policy.Policy, call *bridge.ClientMessage, m *rpc.Message, state *policy.State) policy.Decision {
	d := p.Decide(m, *state)
	// At most: the folder, the configuration, that with the project's own, the
	// thread's last sandbox, and the profile of a loaded thread.
	for range 5 {
		switch {
		case d.NeedsLoadedProfile:
			id, _ := m.Params.Get("threadId").Text()
			state.LoadedProfile = g.loadedProfile(ctx, id)
			state.NotLoaded = state.LoadedProfile == nil
		case d.NeedsStoredSandbox:
			state.StoredSandbox = g.stored(ctx, call)
			if state.StoredSandbox == nil {
				return d
			}
		case d.NeedsThreadFolder:
			if !g.stands(ctx, call, state) {
				return d
			}
		// A resume or fork may do without codex's configuration, and is judged better
		// with it: what it leaves out can become codex's own default (measured).
		case d.NeedsDefaults, d.Sent != nil && call.Method != "thread/start" && state.Defaults == nil:
			defaults := g.defaults(ctx, d.ConfigCwd)
			if defaults == nil {
				return d
			}
			state.Defaults = defaults
		default:
			return d
		}
		d = p.Decide(m, *state)
	}
	return d
}

// state is the world as this message finds it. A message that passes whatever it says, an
// interrupt for one, does not wait for its thread.
func (g *Guard) state(ctx context.Context, p *policy.Policy, m *rpc.Message) policy.State {
	state := g.stateNow(rpc.Value{})
	state.Unpinned = g.isUnpinned(p)
	if id, ok := m.Params.Get("threadId").Text(); ok && p.NeedsState(m) {
		state.Thread = g.threads.get(ctx, id, g.peer.CodexDone())
		if m.Method == "thread/resume" {
			state.LoadedProfile, state.Unsubscribed = g.threads.profile(id)
		}
	}
	return state
}

// defaults is what codex's own configuration says for a thread in folder, with
// what the project there sets itself; nil when it can't be read. Measured: without
// a cwd no project counts, not even that of the folder codex was started in.
func (g *Guard) defaults(ctx context.Context, folder string) *policy.Defaults {
	params := map[string]any{"includeLayers": true}
	if folder != "" {
		params["cwd"] = folder
	}
	result, err := g.peer.Call(ctx, "config/read", params)
	if err == nil {
		var d *policy.Defaults
		if d, err = policy.ParseDefaults(result); err == nil {
			d.Cwd = folder
			return d
		}
	}
	g.log.Error("codex's configuration can't be read; a thread that leaves settings to it is refused", "error", err)
	return nil
}

// opens has codex's answer to a thread request compared with what was sent. Until
// then, and ever after a difference, the thread takes no turn. loaded are the threads that Codex
// had in memory before a resume.
func (g *Guard) opens(call *bridge.ClientMessage, sentUnder config.Mode, d policy.Decision, state policy.State, own []*policy.Policy, loaded []string) {
	id := ""
	if call.Method == "thread/resume" { // start and fork make new threads
		id, _ = call.Params.Get("threadId").Text()
	}
	done := g.threads.opening(id)
	if state.Thread != nil { // what a fork has from it
		state.Thread = g.threads.peek(state.Thread.ID)
	}
	change := g.threads.prepare(id, d.Gated)
	call.OnResponse(func(a *bridge.ServerResponse) {
		// The features behind look at the thread, too: for its hooks, say.
		a.AfterHandlers(done)
		// As strict as it may have to be where the outcome is not known; what the thread is
		// after a success comes of the answer.
		defer g.threads.settle(change, a.Outcome())
		result := a.Result()
		if !result.Exists() {
			if a.Outcome() == bridge.Unknown {
				g.threads.unverified(id) // it may be open in another way than before
				g.threads.mayHave(id, d.Sent.Profile)
			}
			return // an error of codex's own, or an answer too long to be read
		}
		opened, _ := result.Get("thread").Get("id").Text()
		if opened != id {
			a.AfterHandlers(g.threads.opening(opened))
		}
		// The policy may have changed since. What was sent under audit is answered
		// as it was; whether the thread may take turns is for today's policy to say.
		if sentUnder != config.Enforce {
			g.threads.reloaded(opened)
		}
		err := g.threads.opened(g.policy.Load, d.Sent, result, state, change.order, own)
		if err == nil && sentUnder == config.Enforce && !g.threads.registerEnforced(opened, slices.Contains(loaded, opened)) {
			err = openedBefore(d.Sent.Method)
		}
		if err != nil && sentUnder == config.Enforce {
			g.log.Error("a thread is not what was asked for", "method", d.Sent.Method, "error", err.Message)
			g.distrust(d.Sent.Method, a.ID, result.Get("thread").Get("id"), a.Line, err)
			a.Line = rpc.EncodeError(a.ID, err)
			return
		}
		g.ownRules(g.threads.peek(opened)) // as Codex has just read them
		if sentUnder != config.Enforce && g.Enforces() {
			g.threads.unverified(opened) // as SetPolicy has it
		}
		if shown := g.shown(opened); shown != nil {
			patch := rpc.NewEnvelopePatch(a.Envelope)
			patch.Set(result, "approvalPolicy", shown)
			a.Line = patch.Bytes()
		}
	})
}

// settingsUpdated looks at what codex says is in force from now on.
func (g *Guard) settingsUpdated(_ context.Context, said *bridge.ServerMessage) {
	if g.policy.Load().Mode() == config.Off {
		return
	}
	params := said.Root().Get("params")
	id, _ := params.Get("threadId").Text()
	if err := g.threads.changed(g.policy.Load, id, params.Get("threadSettings")); err != nil {
		g.log.Error("a thread's settings are not what the policy allows; it takes no turn until it is resumed",
			"thread", id, "error", err.Message)
		g.distrust(said.Method, rpc.ID{}, params.Get("threadId"), said.Line, err)
	}
	if shown := g.shown(id); shown != nil && said.Line != nil {
		patch := rpc.NewEnvelopePatch(said.Envelope)
		patch.Set(params.Get("threadSettings"), "approvalPolicy", shown)
		said.Line = patch.Bytes()
	}
}

// unloaded forgets a thread that codex has no more. It takes turns again once it was opened
// again, and verified.
func (g *Guard) unloaded(_ context.Context, said *bridge.ServerMessage) {
	if id, ok := said.Root().Get("params").Get("threadId").Text(); ok {
		g.threads.unloaded(id)
	}
}

// shown is the approval policy that the client is shown of a thread; nil: what codex
// says.
func (g *Guard) shown(thread string) json.RawMessage {
	if p := g.policy.Load(); p.Mode() == config.Enforce {
		return p.ShownApproval(g.threads.prepared(thread, lastGated))
	}
	return nil
}

// distrust records that a thread takes no more turns. It does not, on record or
// not.
func (g *Guard) distrust(method string, id rpc.ID, thread rpc.Value, line []byte, err *rpc.Error) {
	d := policy.Decision{Verdict: policy.Deny, Err: err}
	about := subjectOf(method, rpc.Value{}, line)
	about.thread, _ = thread.Text()
	_ = g.record(context.Background(), config.Enforce, about, d)
	g.applied(method, id, rpc.Value{}, d)
}

// report logs what was decided, a line a change. Under audit the log is all there
// is, so it is said where nobody asked for more than warnings, too.
func (g *Guard) report(mode config.Mode, method string, d policy.Decision) {
	level, text := slog.LevelInfo, "policy"
	if mode == config.Audit {
		level, text = slog.LevelWarn, "policy (audit: not applied)"
	}
	// A question of Codex's that is denied is told to nobody else.
	if d.Verdict == policy.Deny {
		g.log.Log(context.Background(), level, text, "method", method, "verdict", d.Verdict, "reason", d.Err.Message)
	}
	for _, c := range d.Changes {
		g.log.Log(context.Background(), level, text, "method", method, "verdict", d.Verdict, "field", c.Field, "rule", c.Rule,
			"from", string(c.From), "to", string(c.To), "reason", c.Reason)
	}
}
