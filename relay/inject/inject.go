package inject

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"codex-bridge/bridge"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/methods"
	"codex-bridge/relay/hook"
	"codex-bridge/relay/observe"
	"codex-bridge/rpc"
)

// Source is what Codex calls the file of hooks that come with a thread's configuration.
const Source = "/<session-flags>/config.toml"

// warning is the notification by which Codex itself says that something of the
// configuration has no effect.
const warning = "configWarning"

// Options are what a Feature is made of. The functions are called from several
// goroutines at once.
type Options struct {
	// Plan is what to install in a thread that is opened with this approvalPolicy
	// (Absent when it is left out); nil: nothing. The error tells why it can't be.
	Plan func(approval rpc.Value) (*Plan, error)
	Mode func() config.Mode
	// Observe is told when hooks come into force, or don't; nil: nobody. Runs it is not
	// told of: those are counted, and who watches them is another.
	Observe func(State)
	Log     *slog.Logger
}

// State is what is known of the hooks: whether they run, and how the runs ended.
type State struct {
	Active bool         `json:"active"`
	Reason string       `json:"reason,omitempty"` // why not
	Runs   observe.Runs `json:"runs"`             // of our hooks
}

// Feature is a bridge.Feature. It must stand behind those that hold thread requests
// to a policy: what a client says of hooks is theirs to take out.
type Feature struct {
	o    Options
	peer *bridge.Conn
	used atomic.Bool // hooks were added to a thread

	mu       sync.Mutex
	threads  map[string]*thread
	last     string // why the newest thread has no hooks; "" it has
	opened   bool   // a thread was verified
	runs     observe.Runs
	required *requirements // nil: not read yet
}

// New makes a Feature.
func New(o Options) *Feature {
	return &Feature{o: o, threads: make(map[string]*thread)}
}

// Attach implements bridge.Attacher.
func (f *Feature) Attach(p *bridge.Conn) { f.peer = p }

// Routes implements bridge.Feature.
func (f *Feature) Routes() []bridge.Route {
	routes := []bridge.Route{
		{From: bridge.Codex, Method: "hook/completed", Why: "a hook of ours that failed has let its tool run", HandleServer: f.completed, When: f.used.Load},
	}
	for _, method := range methods.Unloaded {
		routes = append(routes, bridge.Route{From: bridge.Codex, Method: method, Why: "its hooks are gone with it", HandleServer: f.closed, When: f.used.Load})
	}
	for _, method := range []string{"thread/start", "thread/resume", "thread/fork"} {
		routes = append(routes, bridge.Route{From: bridge.Client, Method: method, Why: "the bridge's hooks are added", HandleClient: f.opens})
	}
	for _, row := range methods.Rows() {
		if row.Side == methods.ClientRequest && works(row) {
			routes = append(routes, bridge.Route{From: bridge.Client, Method: row.Method, Why: "only where the bridge's hooks are in force", HandleClient: f.takesTurn})
		}
	}
	return routes
}

// works tells whether a method has the model work, and with it tools run.
func works(row methods.Row) bool {
	return (row.Class == methods.Turn || row.Class == methods.ModelWork) && row.Verdict == methods.Gate
}

// State is what is known now.
func (f *Feature) State() State {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := State{Active: f.opened && f.last == "", Reason: f.last, Runs: f.runs}
	if !f.opened && f.last == "" {
		s.Reason = "no thread has taken a turn yet"
	}
	return s
}

// InForce tells whether Codex has said that a thread's hook for an event is trusted and
// enabled.
func (f *Feature) InForce(id string, event hook.Event) bool {
	f.mu.Lock()
	one := f.threads[id]
	f.mu.Unlock()
	return one != nil && one.runs(event)
}

// opens adds the hooks to a request that opens a thread.
func (f *Feature) opens(ctx context.Context, call *bridge.ClientMessage) *rpc.Error {
	m, err := rpc.ParseMessage(call.Line) // as the features before have left it
	if err != nil {
		return rpc.Errorf(rpc.CodeInternal, "%s as it was rewritten can't be read: %v", call.Method, err)
	}
	if call.Kind != rpc.Request || m.Params.Kind() != rpc.Object {
		return nil
	}
	plan, fault := f.o.Plan(m.Params.Get("approvalPolicy"))
	if plan == nil && fault == nil {
		return nil
	}
	one := &thread{}
	reason := ""
	if fault != nil {
		reason = fault.Error()
	} else if reason = f.unavailable(ctx); reason == "" {
		reason = foreign(m.Params.Get("config"))
	}
	switch {
	case reason == "":
		call.Line, one.trusted = plan.into(m), plan.Trusted()
		f.used.Store(true)
		f.o.Log.Debug("hooks are added", "method", call.Method, "line", string(call.Line))
	case f.o.Mode() == config.Enforce:
		// What waits in a thread's queue goes on by itself once it is open.
		return refused(call.Method, reason)
	default:
		one.reason = reason
	}
	call.OnResponse(func(a *bridge.ServerResponse) {
		id, ok := a.Result().Get("thread").Get("id").Text()
		if !ok {
			return
		}
		f.mu.Lock()
		f.threads[id] = one
		f.mu.Unlock()
		if one.reason != "" {
			f.without(one.reason)
			a.AfterSent(func() { f.warn(one.reason) })
		}
	})
	return nil
}

// into adds the plan's keys to the configuration that a request carries.
func (p *Plan) into(m *rpc.Message) []byte {
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
		out = append(append(append(out, encode(key.Name)...), ':'), key.Value...)
	}
	patch.Set(m.Params, "config", append(out, '}'))
	return patch.Bytes()
}

// takesTurn lets the model work in threads only whose hooks Codex says to be in
// force.
func (f *Feature) takesTurn(ctx context.Context, call *bridge.ClientMessage) *rpc.Error {
	id, _ := call.Params.Get("threadId").Text()
	f.mu.Lock()
	one := f.threads[id]
	f.mu.Unlock()
	if one == nil {
		return nil // opened by nobody here: codex knows no such thread, or it is the policy's to refuse
	}
	reason, first := one.verify(ctx, f.peer, id)
	if reason != "" && f.o.Mode() == config.Enforce {
		return refused(call.Method, reason)
	}
	if first && reason != one.reason {
		f.warn(reason)
	}
	if first {
		f.without(reason)
	}
	return nil
}

func refused(method, reason string) *rpc.Error {
	return rpc.Errorf(rpc.CodeNotVerified, "%s: the bridge's hooks are not active in this thread: %s", method, reason)
}

// without notes why a thread has no hooks, or that it has them.
func (f *Feature) without(reason string) {
	f.mu.Lock()
	f.last = reason
	f.opened = f.opened || reason == ""
	f.mu.Unlock()
	f.changed()
}

func (f *Feature) changed() {
	if f.o.Observe != nil {
		f.o.Observe(f.State())
	}
}

// warn tells the client that its thread has no hooks, in Codex's own words.
func (f *Feature) warn(reason string) {
	f.o.Log.Warn("a thread has no hooks", "reason", reason)
	f.peer.Notify(warning, map[string]any{
		"summary": "The hooks of codex-bridge are not active in this thread.",
		"details": reason,
	})
}
