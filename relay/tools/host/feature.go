package host

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/relay/tools"
)

// Options configure a Feature.
type Options struct {
	Config  *config.Config // at the start
	Version string         // of the bridge
	// Known reports whether the client knows the bridge.
	Known func() bool
	// Session returns the root thread of a subagent's thread, or else the thread itself.
	Session func(thread string) string
	// CodexHome is CODEX_HOME; "": not known.
	CodexHome string
	// Experimental reports whether the bridge needs experimentalApi for other reasons than
	// tools.
	Experimental func() bool
	// Forked reports whether threads with outdated tools are forked on resume, with their
	// own warning.
	Forked func() bool
	// Before, Handlers and After are passed to the Runner.
	Before   []tools.Before
	Handlers []tools.Handler
	After    []tools.After
	Log      *slog.Logger
}

// Feature adds tools and answers calls. It is a bridge.Feature and must come after the
// policy, which does not apply to the host's tools.
type Feature struct {
	options    Options
	configured bool // the configuration had tools at the start, so the routes exist
	catalogue  *tools.Catalogue
	registered *registeredTools
	experiment experimentalAPI
	threads    threadStates
	running    runningCalls
	peer       *bridge.Conn

	refresh chan struct{} // requests a refresh of the catalogue
	stop    chan struct{}
	tasks   sync.WaitGroup // calls, refreshLoop, and servers that are closing

	mu      sync.Mutex
	toolSet *ToolSet
	limits  config.ToolLimits
	runner  *tools.Runner
	retired []*tools.Runner
	logged  map[tools.OmittedTool]bool // omitted tools that were logged
}

// New returns a Feature. The caller must call Close.
func New(o Options) *Feature {
	f := &Feature{
		options: o, configured: Configured(o.Config), registered: newRegistered(), logged: map[tools.OmittedTool]bool{},
		refresh: make(chan struct{}, 1), stop: make(chan struct{}), limits: o.Config.ToolLimits,
	}
	f.toolSet = NewToolSet(o.Config, f.toolSetOptions())
	f.catalogue = tools.NewCatalogue(f.toolSet.Providers()...)
	f.runner = f.newRunner()
	return f
}

// Configured reports whether a configuration has tools.
func Configured(cfg *config.Config) bool { return len(cfg.Tools)+len(cfg.ToolServers) > 0 }

func (f *Feature) toolSetOptions() ToolSetOptions {
	return ToolSetOptions{Version: f.options.Version, Log: f.options.Log, OnChange: f.requestRefresh}
}

func (f *Feature) newRunner() *tools.Runner {
	return tools.NewRunner(f.catalogue, tools.Options{
		Limits: f.limits, Before: f.options.Before, Handlers: f.options.Handlers, After: f.options.After, Log: f.options.Log,
	})
}

// requestRefresh requests a refresh of the catalogue. It does not wait.
func (f *Feature) requestRefresh() {
	select {
	case f.refresh <- struct{}{}:
	default:
	}
}

// Attach implements bridge.Attacher.
func (f *Feature) Attach(peer *bridge.Conn) { f.peer = peer }

// Start starts the servers without waiting for them.
func (f *Feature) Start() {
	if !f.configured {
		return
	}
	f.toolSet.Start()
	f.tasks.Go(f.refreshLoop)
}

// Close answers and ends the calls, and closes the servers. When ctx is done it kills them.
// No message may arrive after Close is called.
func (f *Feature) Close(ctx context.Context) {
	close(f.stop)
	f.running.endAll()
	f.mu.Lock()
	runners := append([]*tools.Runner{f.runner}, f.retired...)
	kit := f.toolSet
	f.mu.Unlock()
	for _, r := range runners {
		r.Close()
	}
	kit.Close(ctx)
	f.tasks.Wait()
}

// SetConfig replaces the tools: at once for calls, with the next thread for offers.
func (f *Feature) SetConfig(cfg *config.Config) {
	if !f.configured {
		if Configured(cfg) {
			f.options.Log.Warn("the configuration had no tools when the bridge started; restart the bridge to offer them")
		}
		return
	}
	f.mu.Lock()
	before := f.toolSet
	f.toolSet = newToolSet(before, cfg, f.toolSetOptions())
	now := f.toolSet
	if cfg.ToolLimits != f.limits {
		f.limits = cfg.ToolLimits
		f.retired = append([]*tools.Runner{f.runner}, f.retired...)
		f.runner = f.newRunner()
	}
	f.mu.Unlock()
	f.catalogue.Set(now.Providers()...)
	now.Start()
	gone := before.minus(now)
	f.tasks.Go(func() { gone.Close(context.Background()) })
	f.requestRefresh()
}

// currentRunner returns the Runner for a new call and the call's longest duration. Each
// step before it, the tool and each handler may take the maximum timeout.
func (f *Feature) currentRunner() (*tools.Runner, time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	longest := time.Duration(cmp.Or(f.limits.MaxTimeout, config.Default().ToolLimits.MaxTimeout))
	steps := 2 + len(f.options.Before) + len(f.options.Handlers)
	return f.runner, time.Duration(steps)*longest + time.Minute
}

// refreshLoop refreshes the catalogue on request until Close.
func (f *Feature) refreshLoop() {
	for {
		o := f.catalogue.Refresh()
		f.logOmitted(o)
		f.warnOutdated(o)
		select {
		case <-f.refresh:
		case <-f.stop:
			return
		}
	}
}

// maxLogged is how many omitted tools are remembered, because a server may list others each
// time.
const maxLogged = 4096

// logOmitted logs each omitted tool once.
func (f *Feature) logOmitted(o *tools.Snapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.logged) > maxLogged {
		clear(f.logged)
	}
	for _, l := range o.Omitted {
		if !f.logged[l] {
			f.logged[l] = true
			f.options.Log.Warn("a tool is not offered", "tool", l.Tool, "origin", l.Origin, "reason", l.Reason)
		}
	}
}
