package guard

import (
	"bytes"
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// patience is how long a message waits for what codex has to say first: its
// configuration, or the answer to a thread/resume that the message builds on.
// Both take milliseconds; who waits this long is refused.
const patience = 30 * time.Second

// Guard is the policy of one conversation.
type Guard struct {
	policy  atomic.Pointer[policy.Policy]
	world   policy.State // Start, Home, Temp and Paths
	threads threads
	peer    *bridge.Peer
	log     *slog.Logger
}

// New makes a Guard. world gives the folders and the paths of each State.
func New(p *policy.Policy, world policy.State, log *slog.Logger) *Guard {
	g := &Guard{world: world, log: log}
	g.policy.Store(p)
	return g
}

// Attach implements bridge.Attacher.
func (g *Guard) Attach(peer *bridge.Peer) { g.peer = peer }

// Policy is the policy in force.
func (g *Guard) Policy() *policy.Policy { return g.policy.Load() }

// SetPolicy puts another policy in force, from the next message on. Threads whose
// last known settings it does not allow take no more turns until they are resumed.
func (g *Guard) SetPolicy(p *policy.Policy) {
	g.policy.Store(p)
	g.threads.recheck(p)
}

// Routes implements bridge.Feature.
func (g *Guard) Routes() []bridge.Route {
	routes := []bridge.Route{{
		From: bridge.Codex, Method: "thread/settings/updated",
		Why:  "what is in force for a thread must be what the policy allows",
		Said: g.settingsUpdated,
	}}
	for _, method := range policy.Methods() {
		routes = append(routes, bridge.Route{
			From: bridge.Client, Method: method, Why: "its settings are held to the policy", Call: g.decide,
		})
	}
	return routes
}

// Threads is the number of threads that may take turns.
func (g *Guard) Threads() int { return g.threads.count() }

// decide holds one message of the client to the policy.
func (g *Guard) decide(ctx context.Context, call *bridge.Call) *rpc.Error {
	p := g.policy.Load()
	if p.Mode() == config.Off {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	state := g.state(ctx, call.Message)
	d := p.Decide(call.Message, state)
	// A resume or fork may do without codex's configuration, and is judged better
	// with it: what it leaves out can become codex's own default (measured).
	if d.NeedsDefaults || (d.Sent != nil && call.Method != "thread/start") {
		if state.Defaults = g.defaults(ctx, d.Workspace); state.Defaults != nil {
			d = p.Decide(call.Message, state)
		}
	}
	g.report(p.Mode(), call.Message, d)
	if p.Mode() == config.Enforce {
		if d.Verdict == policy.Deny {
			return d.Err
		}
		if d.Verdict == policy.Rewrite {
			call.Line = d.Message
			g.log.Debug("codex gets", "method", call.Method, "line", string(bytes.TrimSpace(call.Line)))
		}
	}
	if d.Sent != nil && (p.Mode() == config.Enforce || call.Kind == rpc.Request) {
		g.opens(call, p.Mode(), d, state)
	}
	return nil
}

// state is the world as this message finds it.
func (g *Guard) state(ctx context.Context, m *rpc.Message) policy.State {
	state := g.world
	if id, ok := m.Params.Get("threadId").Text(); ok {
		state.Thread = g.threads.get(ctx, id)
	}
	return state
}

// defaults is what codex's own configuration says for a thread in workspace; nil
// when it can't be read.
func (g *Guard) defaults(ctx context.Context, workspace string) *policy.Defaults {
	params := make(map[string]string)
	if workspace != "" {
		params["cwd"] = workspace
	}
	result, err := g.peer.Ask(ctx, "config/read", params)
	if err == nil {
		var d *policy.Defaults
		if d, err = policy.ParseDefaults(result); err == nil {
			return d
		}
	}
	g.log.Error("codex's configuration can't be read; a thread that leaves settings to it is refused", "error", err)
	return nil
}

// opens has codex's answer to a thread request compared with what was sent. Until
// then, and ever after a difference, the thread takes no turn.
func (g *Guard) opens(call *bridge.Call, sentUnder config.Mode, d policy.Decision, state policy.State) {
	id := ""
	if call.Method == "thread/resume" { // start and fork make new threads
		id, _ = call.Params.Get("threadId").Text()
	}
	done := g.threads.opening(id)
	call.OnAnswer(func(a *bridge.Answer) {
		defer done()
		result := a.Result()
		if !result.Exists() {
			return // an error of codex's own, or an answer too long to be read
		}
		// The policy may have changed since. What was sent under audit is answered
		// as it was; whether the thread may take turns is for today's policy to say.
		err := g.threads.opened(g.policy.Load, d.Sent, result, state)
		if err != nil && sentUnder == config.Enforce {
			g.log.Error("a thread is not what was asked for", "method", d.Sent.Method, "error", err.Message)
			a.Line = rpc.ReplyError(a.ID, err)
		}
	})
}

// settingsUpdated looks at what codex says is in force from now on.
func (g *Guard) settingsUpdated(_ context.Context, said *bridge.Said) {
	if g.policy.Load().Mode() == config.Off {
		return
	}
	params := said.Root().Get("params")
	id, _ := params.Get("threadId").Text()
	if err := g.threads.changed(g.policy.Load, id, params.Get("threadSettings")); err != nil {
		g.log.Error("a thread's settings are not what the policy allows; it takes no turn until it is resumed",
			"thread", id, "error", err.Message)
	}
}

// report logs what was decided, a line a change. Under audit the log is all there
// is, so it is said where nobody asked for more than warnings, too.
func (g *Guard) report(mode config.Mode, m *rpc.Message, d policy.Decision) {
	level, text := slog.LevelInfo, "policy"
	if mode == config.Audit {
		level, text = slog.LevelWarn, "policy (audit: not applied)"
		if d.Verdict == policy.Deny {
			g.log.Log(context.Background(), level, text, "method", m.Method, "verdict", d.Verdict, "reason", d.Err.Message)
		}
	}
	for _, c := range d.Changes {
		g.log.Log(context.Background(), level, text, "method", m.Method, "verdict", d.Verdict, "field", c.Field, "rule", c.Rule,
			"from", string(c.From), "to", string(c.To), "reason", c.Reason)
	}
}
