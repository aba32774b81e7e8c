package host

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/config"
	"codex-bridge/relay/tools"
)

// Options make a Feature. Config is needed.
type Options struct {
	Config  *config.Config // as it is at the start
	Version string         // of the bridge
	// Known tells whether the client knows the bridge; nil: it does not.
	Known func() bool
	// Session is the thread in whose name a thread works, of a subagent's its parent's;
	// nil: itself.
	Session func(thread string) string
	// CodexHome is codex's own folder; "" not known.
	CodexHome string
	// Experimental reports whether the bridge uses what Codex offers only with the
	// capability experimentalApi, for another reason than tools; nil: it does not.
	Experimental func() bool
	// Forked tells that a thread that was started with other tools is not resumed: who
	// sees to that warns of it, too.
	Forked func() bool
	// Before, Handlers and After are the Runner's.
	Before   []tools.Before
	Handlers []tools.Handler
	After    []tools.After
	Log      *slog.Logger
}

// Feature is a bridge.Feature. It stands behind what holds requests to a policy: what is
// offered here is not the client's.
type Feature struct {
	o          Options
	configured bool // there were tools at the start: the routes are there
	catalogue  *tools.Catalogue
	registered *registered
	experiment experiment
	threads    threads
	running    running
	peer       *bridge.Conn

	changed chan struct{} // the catalogue is to be looked at
	stop    chan struct{}
	tasks   sync.WaitGroup // calls, the one that attends, and servers that are ending

	mu      sync.Mutex
	kit     *Kit
	limits  config.ToolLimits
	runner  *tools.Runner
	retired []*tools.Runner
	left    map[tools.OmittedTool]bool // of which the log has been told
}

// New makes a Feature, which has to be closed.
func New(o Options) *Feature {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Known == nil {
		o.Known = func() bool { return false }
	}
	if o.Session == nil {
		o.Session = func(thread string) string { return thread }
	}
	if o.Experimental == nil {
		o.Experimental = func() bool { return false }
	}
	if o.Forked == nil {
		o.Forked = func() bool { return false }
	}
	f := &Feature{
		o: o, configured: Configured(o.Config), registered: newRegistered(), left: map[tools.OmittedTool]bool{},
		changed: make(chan struct{}, 1), stop: make(chan struct{}), limits: o.Config.ToolLimits,
	}
	f.kit = NewKit(o.Config, f.kitOptions())
	f.catalogue = tools.NewCatalogue(f.kit.Providers()...)
	f.runner = f.newRunner()
	return f
}

// Configured tells whether a configuration has tools.
func Configured(cfg *config.Config) bool { return len(cfg.Tools)+len(cfg.ToolServers) > 0 }

func (f *Feature) kitOptions() KitOptions {
	return KitOptions{Version: f.o.Version, Log: f.o.Log, OnChange: f.look}
}

func (f *Feature) newRunner() *tools.Runner {
	o := tools.Options{Limits: f.limits, Before: f.o.Before, Handlers: f.o.Handlers, After: f.o.After, Log: f.o.Log}
	if f.limits.Loops {
		limits := tools.DefaultLoopLimits()
		o.Loops = &limits
	}
	return tools.NewRunner(f.catalogue, o)
}

// look has the catalogue looked at. It does not wait.
func (f *Feature) look() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// Attach implements bridge.Attacher.
func (f *Feature) Attach(peer *bridge.Conn) { f.peer = peer }

// Start starts the servers, and waits for none of them.
func (f *Feature) Start() {
	if !f.configured {
		return
	}
	f.kit.Start()
	f.tasks.Go(f.attend)
}

// Close ends the calls, which are answered, and the servers with what they have started;
// when ctx is done it goes on without politeness. No message may come any more.
func (f *Feature) Close(ctx context.Context) {
	close(f.stop)
	f.running.endAll()
	f.mu.Lock()
	runners := append([]*tools.Runner{f.runner}, f.retired...)
	kit := f.kit
	f.mu.Unlock()
	for _, r := range runners {
		r.Close()
	}
	kit.Close(ctx)
	f.tasks.Wait()
}

// SetConfig puts changed tools in force: for the calls at once, for what is offered with
// the next thread.
func (f *Feature) SetConfig(cfg *config.Config) {
	if !f.configured {
		if Configured(cfg) {
			f.o.Log.Warn("the configuration had no tools when the bridge was started; those it has now are offered once it is started again")
		}
		return
	}
	f.mu.Lock()
	before := f.kit
	f.kit = next(before, cfg, f.kitOptions())
	now := f.kit
	if cfg.ToolLimits != f.limits {
		f.limits = cfg.ToolLimits
		f.retired = append([]*tools.Runner{f.runner}, f.retired...)
		f.runner = f.newRunner()
	}
	f.mu.Unlock()
	f.catalogue.Set(now.Providers()...)
	now.Start()
	gone := before.without(now)
	f.tasks.Go(func() { gone.Close(context.Background()) })
	f.look()
}

// answers is who answers a call that comes now, and how long that may take: what is
// asked before, the tool and the handlers have the longest time of a call each.
func (f *Feature) answers() (*tools.Runner, time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	longest := time.Duration(cmp.Or(f.limits.MaxTimeout, config.Default().ToolLimits.MaxTimeout))
	steps := 2 + len(f.o.Before) + len(f.o.Handlers)
	return f.runner, time.Duration(steps)*longest + time.Minute
}

// attend looks at the catalogue when it may have changed, until Close.
func (f *Feature) attend() {
	for {
		o := f.catalogue.Refresh()
		f.report(o)
		f.tell(o)
		select {
		case <-f.changed:
		case <-f.stop:
			return
		}
	}
}

// mostLeft is how many tools that were left out are remembered: a server may name others each
// time that it is asked.
const mostLeft = 4096

// report has the log say, once, what is left out.
func (f *Feature) report(o *tools.Snapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.left) > mostLeft {
		clear(f.left)
	}
	for _, l := range o.Omitted {
		if !f.left[l] {
			f.left[l] = true
			f.o.Log.Warn("a tool is not offered", "tool", l.Tool, "origin", l.Origin, "reason", l.Reason)
		}
	}
}
