package turns

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/lifecycle/threads"
	"codex-bridge.example/lifecycle/turn"
	"codex-bridge.example/rpc"
)

// Options configure a Feature. The functions are called from several goroutines.
type Options struct {
	Threads  *threads.Feature
	Steering func() config.Steering // returns the current configuration
	// Known reports whether the client knows the bridge.
	Known func() bool
	// Tell sends the client a bridge/ notification.
	Tell  func(method string, params any)
	Judge Judge
	Log   *slog.Logger
}

// The maximum numbers of requests that wait for a session: for its turn, and for its thread.
const (
	maxRuns     = 100
	maxMessages = 2000
)

// Feature is a bridge.Feature.
type Feature struct {
	o         Options
	peer      *bridge.Conn
	runs      *turn.Queue // bridge/turn/run and bridge/turn/compact
	messages  *turn.Queue // bridge/turn/enqueue
	questions *openQuestions
	uploads   *uploader

	ctx     context.Context // of work that outlives a request; ends with Close
	end     context.CancelCauseFunc
	workers sync.WaitGroup

	collecting atomic.Int64 // turns whose text is collected
	offered    atomic.Bool  // initialize had capabilities.bridge
	silent     atomic.Bool  // the client answers no questions

	mu     sync.Mutex
	closed bool
	open   map[string]*conversation // by thread
	// efforts are the reasoning efforts of models, as Codex lists them; nil: not requested yet.
	efforts map[string][]string
}

// New returns a Feature.
func New(o Options) *Feature {
	f := &Feature{
		o: o, runs: turn.NewQueue(maxRuns), messages: turn.NewQueue(maxMessages), questions: newOpenQuestions(), open: make(map[string]*conversation),
	}
	f.uploads = &uploader{codex: codex{f: f}}
	f.ctx, f.end = context.WithCancelCause(context.Background())
	return f
}

// Attach implements bridge.Attacher.
func (f *Feature) Attach(p *bridge.Conn) { f.peer = p }

// Methods are the requests that a client may send.
var Methods = []string{methodPreview, methodUpload, methodCompact, methodEnqueue, methodInterrupt, methodRun, methodSet}

const (
	methodPreview   = "bridge/diagnostics/preview"
	methodUpload    = "bridge/diagnostics/upload"
	methodCompact   = "bridge/turn/compact"
	methodEnqueue   = "bridge/turn/enqueue"
	methodInterrupt = "bridge/turn/interrupt"
	methodRun       = "bridge/turn/run"
	methodSet       = "bridge/turn/set"
)

// Routes implements bridge.Feature.
func (f *Feature) Routes() []bridge.Route {
	own := func(method string, begin func(rpc.Value) (later, error)) bridge.Route {
		return bridge.Route{From: bridge.Client, Method: method, Why: "answered here", HandleClient: f.own(begin)}
	}
	return append([]bridge.Route{
		{From: bridge.Client, Method: "initialize", Why: "whether the client knows the bridge, and answers questions", HandleClient: f.initialize},
		{From: bridge.Client, Method: "turn/start", Why: "a turn that the client starts itself", When: f.o.Known, HandleClient: f.clientStarts},
		{From: bridge.Client, Method: "thread/unsubscribe", Why: "Codex sends no more events of the thread", When: f.o.Known, HandleClient: f.unsubscribes},
		{From: bridge.Client, Method: "thread/resume", Why: "a turn has ended while Codex sent no events", When: f.o.Known, HandleClient: f.resumes},
		{From: bridge.Client, Method: "thread/settings/update", Why: "what a session's turns start with", When: f.o.Known, HandleClient: f.settingsUpdate},
		own(methodPreview, f.preview),
		own(methodUpload, f.upload),
		own(methodCompact, f.compact),
		own(methodEnqueue, f.enqueue),
		own(methodInterrupt, f.interrupt),
		own(methodRun, f.run),
		own(methodSet, f.set),
	}, f.heard()...)
}

// Stage implements bridge.Feature.
func (*Feature) Stage() bridge.Stage { return bridge.BeforeGuard }

// Close ends all waiting work and returns when it has ended.
func (f *Feature) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.end(rpc.Errorf(rpc.CodeUpstream, "the bridge ends"))
	f.workers.Wait()
}

// codex sends requests through the features behind this one.
type codex struct {
	f      *Feature
	thread string // "" if the request is for no thread
}

// Call implements turn.Codex.
func (c codex) Call(ctx context.Context, method string, params any) (rpc.Value, error) {
	result, err := c.f.peer.CallAsClient(ctx, method, params)
	if err == nil && method == "turn/start" {
		c.f.began(c.thread)
	}
	return result, err
}
