package inject

import (
	"context"
	"log/slog"
	"regexp"
	"runtime"
	"sync"
	"sync/atomic"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/relay/hook"

	"codex-bridge.example/rpc"
)

// Source is Codex's name of the file for hooks in a thread's configuration. Measured with Codex 0.169.0, by
// Wine for Windows.
var Source = sourceOn(runtime.GOOS)

func sourceOn(goos string) string {
	if goos == "windows" {
		return `C:\<session-flags>\config.toml`
	}
	return "/<session-flags>/config.toml"
}

// configWarning is Codex's notification about configuration without effect.
const configWarning = "configWarning"

// Options configure a Feature. The functions must be safe for concurrent calls.
type Options struct {
	// Plan returns the hooks for a thread with this approvalPolicy (Absent if it is
	// omitted), or nil for none. The error says why the hooks can't be installed.
	Plan func(approval rpc.Value) (*Plan, error)
	Mode func() config.Mode
	// IsShared reports whether another client of Codex has the thread open; nil: there is none.
	IsShared func(thread string) bool
	// Observe is called when hooks become active or inactive, but not after each run; nil:
	// not called.
	Observe func(State)
	// Failed is called, in a goroutine, after a hook of the bridge has failed in a turn. why is what
	// Codex reports.
	Failed func(ctx context.Context, thread, turn, event, why string)
	// Unanswered is called, in a goroutine, after a hook of the bridge has denied its call, since it got no answer.
	Unanswered func(ctx context.Context, thread, turn, event, why string)
	// Refuse logs that a request is refused under enforce, since the thread has no active hooks, and returns
	// the error.
	Refuse func(ctx context.Context, call *bridge.ClientMessage, why string) *rpc.Error
	Log    *slog.Logger
}

// State says whether the hooks are active and how their runs ended.
type State struct {
	Active bool           `json:"active"`
	Reason string         `json:"reason,omitempty"` // why they are not active
	Runs   hook.RunCounts `json:"runs"`             // of the bridge's hooks
}

// Feature installs and verifies the bridge's hooks. It is a bridge.Feature and must come
// after the guard, which removes the client's own hooks under enforce.
type Feature struct {
	*shared
	options Options
	peer    *bridge.Conn

	runsMu sync.Mutex
	runs   hook.RunCounts
}

// shared is what the Features of all clients of one Codex share.
type shared struct {
	hasHooks atomic.Bool // hooks were added to at least one thread

	mu          sync.Mutex
	threads     map[string]*thread
	lastFault   string  // why the newest thread has no hooks; "": it has
	opened      bool    // at least one thread was verified
	unavailable *string // see requirementsFault; nil: not read yet
}

// New returns a Feature.
func New(o Options) *Feature {
	return &Feature{shared: &shared{threads: make(map[string]*thread)}, options: o}
}

// Join returns a Feature for another client of the same Codex. The two share what they know of the
// threads' hooks.
func (f *Feature) Join(o Options) *Feature { return &Feature{shared: f.shared, options: o} }

// Attach implements bridge.Attacher.
func (f *Feature) Attach(p *bridge.Conn) { f.peer = p }

// Routes implements bridge.Feature.
func (f *Feature) Routes() []bridge.Route {
	routes := []bridge.Route{
		{From: bridge.Codex, Method: "hook/completed", Why: "after a hook of the bridge fails, the turn is interrupted", HandleServer: f.handleHookCompleted, When: f.hasHooks.Load},
	}
	for _, method := range methods.UnloadNotifications {
		routes = append(routes, bridge.Route{From: bridge.Codex, Method: method, Why: "the thread's hooks are forgotten", HandleServer: f.handleThreadClosed, When: f.hasHooks.Load})
	}
	for _, method := range []string{"thread/start", "thread/resume", "thread/fork"} {
		routes = append(routes, bridge.Route{From: bridge.Client, Method: method, Why: "the bridge's hooks are added", HandleClient: f.addHooks})
	}
	for row := range methods.Rows() {
		if row.RunsModel() {
			routes = append(routes, bridge.Route{From: bridge.Client, Method: row.Method, Why: "only if the bridge's hooks are active", HandleClient: f.requireHooks})
		}
	}
	return routes
}

// Stage implements bridge.Feature.
func (*Feature) Stage() bridge.Stage { return bridge.AfterGuard }

// State returns the current state.
func (f *Feature) State() State {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := State{Active: f.opened && f.lastFault == "", Reason: f.lastFault, Runs: f.runCounts()}
	if !f.opened && f.lastFault == "" {
		s.Reason = "no thread has taken a turn yet"
	}
	return s
}

// IsActive reports whether Codex has listed a thread's hook for an event as trusted and
// enabled. The hook may be for some tools only.
func (f *Feature) IsActive(id string, event hook.Event) bool {
	_, ok := f.active(id, event)
	return ok
}

// RunsFor reports whether IsActive, and the hook runs for the calls of a tool.
func (f *Feature) RunsFor(id string, event hook.Event, tool string) bool {
	h, ok := f.active(id, event)
	if !ok || h.matcher == "" {
		return ok
	}
	matches, err := regexp.MatchString(h.matcher, tool)
	return err == nil && matches
}

func (f *Feature) active(id string, event hook.Event) (h trustedHook, ok bool) {
	f.mu.Lock()
	one := f.threads[id]
	f.mu.Unlock()
	if one == nil {
		return trustedHook{}, false
	}
	return one.active(event)
}

// addHooks adds the hooks to a request that opens a thread.
func (f *Feature) addHooks(ctx context.Context, call *bridge.ClientMessage) *rpc.Error {
	m, err := rpc.ParseMessage(call.Line) // earlier features may have rewritten it
	if err != nil {
		return rpc.Errorf(rpc.CodeInternal, "the rewritten %s can't be parsed: %v", call.Method, err)
	}
	if call.Kind != rpc.Request || m.Params.Kind() != rpc.Object {
		return nil
	}
	plan, fault := f.options.Plan(m.Params.Get("approvalPolicy"))
	if plan == nil && fault == nil {
		return nil
	}
	one := &thread{}
	reason := ""
	if fault != nil {
		reason = fault.Error()
	} else if reason = f.requirementsFault(ctx); reason == "" {
		reason = conflictingConfig(m.Params.Get("config"))
	}
	switch {
	case reason == "":
		call.Line, one.plans = plan.addTo(m), []map[string]trustedHook{plan.trusted()}
		f.hasHooks.Store(true)
		f.options.Log.Debug("hooks are added", "method", call.Method, "line", string(call.Line))
	case f.options.Mode() == config.Enforce:
		// a queue of the thread would run as soon as it is open
		return f.options.Refuse(ctx, call, reason)
	default:
		one.reason = reason
	}
	call.OnResponse(func(a *bridge.ServerResponse) {
		id, ok := a.Result().Get("thread").Get("id").Text()
		if !ok {
			return
		}
		f.mu.Lock()
		one.addEarlier(f.threads[id])
		f.threads[id] = one
		f.mu.Unlock()
		if one.reason != "" {
			f.setState(one.reason)
			a.AfterSent(func() { f.warn(one.reason) })
		}
	})
	return nil
}

// addTo returns the request with the plan's keys added to its config.
func (p *Plan) addTo(m *rpc.Message) []byte {
	patch := rpc.NewPatch(m)
	if overlay := m.Params.Get("config"); overlay.Kind() == rpc.Object {
		for _, key := range p.Keys() {
			patch.Set(overlay, key.Name, key.Value)
		}
		return patch.Bytes()
	}
	out := []byte{'{'}
	for i, key := range p.Keys() {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, rpc.Encode(key.Name)...), ':'), key.Value...)
	}
	patch.Set(m.Params, "config", append(out, '}'))
	return patch.Bytes()
}

// requireHooks rejects a request that makes the model work in a thread whose hooks Codex
// does not list as active.
func (f *Feature) requireHooks(ctx context.Context, call *bridge.ClientMessage) *rpc.Error {
	id, _ := call.Params.Get("threadId").Text()
	f.mu.Lock()
	one := f.threads[id]
	f.mu.Unlock()
	if one == nil {
		return nil // not opened here; Codex or the policy rejects it
	}
	reason, first := one.verify(ctx, f.peer, id)
	if reason != "" && f.options.Mode() == config.Enforce {
		return f.options.Refuse(ctx, call, reason)
	}
	if first && reason != one.reason {
		f.warn(reason)
	}
	if first {
		f.setState(reason)
	}
	return nil
}

// setState records why a thread has no hooks, or with "" that it has them.
func (f *Feature) setState(reason string) {
	f.mu.Lock()
	f.lastFault = reason
	f.opened = f.opened || reason == ""
	f.mu.Unlock()
	if f.options.Observe != nil {
		f.options.Observe(f.State())
	}
}

// warn sends the client a configWarning that a thread has no hooks.
func (f *Feature) warn(reason string) {
	f.options.Log.Warn("a thread has no hooks", "reason", reason)
	f.peer.Notify(configWarning, map[string]any{
		"summary": "codex-bridge's hooks are not active in this thread.",
		"details": reason,
	})
}
