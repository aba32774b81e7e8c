package threads

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/lifecycle/turn"
	"codex-bridge.example/rpc"
)

// Options configure a Feature. Several goroutines may call the functions.
type Options struct {
	// Store opens the state on the first call.
	Store func(context.Context) (*store.Store, error)
	// Thread returns the section [thread] of the current configuration.
	Thread func() config.Thread
	// Offered returns the dynamicTools that Codex gets in a thread/start after the later features have added
	// theirs; nil if there are none. If the function is nil, Codex gets the client's.
	Offered func(json.RawMessage) (json.RawMessage, error)
	// StaleTools returns the tools of the thread of a rollout file that differ from those of a new thread, and
	// the client's own tools. If the function is nil, the host has no tools.
	StaleTools func(path string) (stale []string, own json.RawMessage, err error)
	// History returns the items that a new thread gets as the history of the thread of a rollout file.
	History func(path string) ([]json.RawMessage, error)
	// Settings returns the settings and the sandbox that the thread of a rollout file had last, in the
	// form of the threadSettings of thread/settings/updated; nil if they are not known.
	Settings func(ctx context.Context, path string) (*rpc.Doc, policy.SandboxSettings)
	// Resumed returns the parameters that a thread/resume has once the policy has decided about it.
	Resumed func(context.Context, *rpc.Message) (rpc.Value, error)
	// Size returns the size of a thread's rollout file in bytes.
	Size func(thread string) (int64, error)
	// Warn sends a warning to the client of a thread.
	Warn func(thread, message string)
	// Known reports whether the client knows the bridge. For another client, Codex gets sessions and triggers,
	// and ignores them.
	Known func() bool
	Now   func() time.Time
	// Owners has the sessions of all clients of one Codex; nil if there is one client.
	Owners *Owners
	Log    *slog.Logger
}

// Owners records which client of one Codex writes each session; the lease of a session belongs to the
// process. Several goroutines may use it.
type Owners struct {
	mu sync.Mutex
	by map[string]*Feature
}

// take makes f the owner of a session. It returns false if another client is.
func (o *Owners) take(session string, f *Feature) bool {
	if o == nil {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if owner := o.by[session]; owner != nil && owner != f {
		return false
	}
	if o.by == nil {
		o.by = make(map[string]*Feature)
	}
	o.by[session] = f
	return true
}

// release ends the ownership of f.
func (o *Owners) release(session string, f *Feature) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.by[session] == f {
		delete(o.by, session)
	}
}

// Feature is a bridge.Feature. It comes before the features that check requests against a policy.
type Feature struct {
	o     Options
	queue *turn.Queue // requests for one session, and for one thread
	known known
	peer  *bridge.Conn

	updating sync.Mutex // held while a binding changes

	mu       sync.Mutex
	held     map[string]bool     // the sessions that this client writes
	replaced map[string]replaced // by session
}

// New returns a Feature.
func New(o Options) *Feature {
	return &Feature{o: o, queue: turn.NewQueue(math.MaxInt), held: make(map[string]bool), replaced: make(map[string]replaced)}
}

// Attach implements bridge.Attacher.
func (f *Feature) Attach(peer *bridge.Conn) { f.peer = peer }

// Methods are the methods that the Feature answers.
var Methods = []string{methodClear, methodList, methodRead}

const (
	methodClear = "bridge/binding/clear"
	methodList  = "bridge/binding/list"
	methodRead  = "bridge/binding/read"
)

// Routes implements bridge.Feature.
func (f *Feature) Routes() []bridge.Route {
	routes := []bridge.Route{
		{From: bridge.Client, Method: "thread/start", Why: "the thread of a session; what is configured for new threads", HandleClient: f.threadStart},
		{From: bridge.Client, Method: "thread/resume", Why: "what is configured for threads", HandleClient: f.threadOpen},
		{From: bridge.Client, Method: "thread/fork", Why: "what is configured for threads", HandleClient: f.threadOpen},
		{From: bridge.Client, Method: "turn/start", Why: "what started the turn", HandleClient: f.turnStart},
		{From: bridge.Codex, Method: "thread/settings/updated", Why: "the model of a session's thread", HandleServer: f.settingsUpdated, When: f.known.any},
		{From: bridge.Codex, Method: "turn/completed", Why: "a turn that costs a session its thread", HandleServer: f.turnCompleted, When: f.known.anyBound},
		{From: bridge.Client, Method: methodClear, Why: "answered here", HandleClient: f.localMethod(f.clear)},
		{From: bridge.Client, Method: methodList, Why: "answered here", HandleClient: f.localMethod(f.list)},
		{From: bridge.Client, Method: methodRead, Why: "answered here", HandleClient: f.localMethod(f.read)},
	}
	for _, method := range methods.UnloadNotifications {
		routes = append(routes, bridge.Route{From: bridge.Codex, Method: method, Why: "nothing has to be known of it any more", HandleServer: f.threadClosed, When: f.known.any})
	}
	return routes
}

// Stage implements bridge.Feature.
func (*Feature) Stage() bridge.Stage { return bridge.BeforeGuard }

// State is the state in the response to bridge/status.
type State struct {
	Sessions int `json:"sessions"` // that this process writes
}

// State returns the current state.
func (f *Feature) State() State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return State{len(f.held)}
}

// Close releases the sessions that this client writes. Other clients of this process can write them afterwards,
// even if the state can't be changed: its lease belongs to the process.
func (f *Feature) Close(ctx context.Context) error {
	f.mu.Lock()
	sessions := slices.Collect(maps.Keys(f.held))
	f.mu.Unlock()
	if len(sessions) == 0 {
		return nil
	}
	defer func() {
		for _, session := range sessions {
			f.removeHeld(session)
		}
	}()
	s, err := f.o.Store(ctx)
	if err != nil {
		return err
	}
	here, err := store.CurrentProcess()
	if err != nil {
		return err
	}
	return s.ReleaseLeases(ctx, sessions, here)
}

// serialize calls do when the earlier requests with the key have ended.
func (f *Feature) serialize(ctx context.Context, key string, do func(context.Context) error) error {
	place, err := f.queue.Join(key)
	if err != nil {
		return err
	}
	return place.Do(ctx, do)
}

// cloneRequest returns a copy of a request that can be used when its handler has returned.
func cloneRequest(call *bridge.ClientMessage) (*rpc.Message, *rpc.Error) {
	if call.Truncated() {
		return nil, tooManyValues(call)
	}
	m, err := rpc.ParseMessage(bytes.Clone(call.Bytes()))
	if err != nil { // impossible: it was parsed before
		return nil, internal(err)
	}
	return m, nil
}

func tooManyValues(call *bridge.ClientMessage) *rpc.Error {
	return rpc.Errorf(rpc.CodeTooLarge, "%s has more values than are looked at; send less", call.Method)
}

// message returns a request with the id of a client's request.
func message(id rpc.ID, method string, params json.RawMessage) (*rpc.Message, error) {
	return rpc.ParseMessage(append(rpc.EncodeRequest(id, method, params), '\n'))
}

func internal(err error) *rpc.Error { return rpc.Errorf(rpc.CodeInternal, "%v", err) }
