package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"runtime"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/relay/redact"
)

// proxy runs the real app-server behind the bridge. On success it ends this process with
// the exit status of the app-server. The user reads notices after the first thread has opened.
func proxy(cfg *config.Config, command codex.Command, notices []string, record *ledger) error {
	log := logger(cfg)
	record.ship(cfg, log)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	shared, err := newSharedParts(cfg, settings.Workspace(), command, record, log)
	if err != nil {
		return err
	}
	a, err := assemble(shared, log, nil)
	if err != nil {
		return err
	}
	a.options.In, a.options.Out = os.Stdin, os.Stdout
	shared.Socket.Decide = func(ctx context.Context, call *hook.Call) hook.Answer { return a.Hooks.Decide(ctx, call, true) }
	closeAll := func() {
		a.CloseParts(shared.Parts()...)
		a.CloseState(func(ctx context.Context) {
			if err := record.close(ctx); err != nil {
				log.Error("can't close the decision log", "error", err)
			}
		})
	}
	stop := codex.Signals()
	// Linux sends the parent-death signal when the thread that started Codex ends. Start it
	// from the main thread, which ends with the process.
	runtime.LockOSThread()
	started, err := codex.Start(shared.Command)
	if err != nil {
		closeAll()
		return shared.Starts.StartError(err, cfg)
	}
	// The rest of the set-up runs while Codex starts.
	a.options.Upstream = started
	keepProcessorFree()
	go shared.WarnOutOfRange(ctx) // ends with ctx
	setPolicy := func(p *policy.Policy) { shared.SetPolicy(ctx, a.Guard, p) }
	go setup.Watch(ctx, configFiles(), cfg, log, a.Hello.NotifyReloaded, setPolicy, shared.SetConfig, a.setConfig) // ends with ctx
	a.Guard.SetStartNotices(notices)
	a.Guard.SetUserAgentReader(shared.Program.ReadUserAgent) // this Codex has no other client
	p, err := bridge.NewProxy(a.options)
	if err != nil {
		started.Kill()
		closeAll()
		return err
	}
	a.tools.Start()
	state := p.Run(ctx, stop)
	closeAll()
	codex.ExitLike(state) // ends the process
	return nil
}

// keepProcessorFree lets goroutines run while two of them wait in system calls: one for the client's next
// message, one for the end of Codex. With two of Go's processors, the default on two cores, Codex's first
// line waited for up to 10 ms.
func keepProcessorFree() {
	const enough = 4
	if runtime.GOMAXPROCS(0) < enough {
		runtime.GOMAXPROCS(enough)
	}
}

// logger returns a logger that writes to stderr, because stdout carries the protocol. It
// logs warnings and errors unless CODEX_BRIDGE_LOG sets another level, and redacts secrets.
func logger(cfg *config.Config) *slog.Logger { return loggerTo(os.Stderr, cfg) }

func loggerTo(w io.Writer, cfg *config.Config) *slog.Logger {
	level := slog.LevelWarn
	if text := os.Getenv("CODEX_BRIDGE_LOG"); text != "" {
		if err := level.UnmarshalText([]byte(text)); err != nil {
			level = slog.LevelWarn
		}
	}
	opts := &slog.HandlerOptions{Level: level}
	var h slog.Handler = slog.NewTextHandler(w, opts)
	if os.Getenv("CODEX_BRIDGE_LOG_FORMAT") == "json" {
		h = slog.NewJSONHandler(w, opts)
	}
	return slog.New(redact.New(redact.Limits{}, setup.Secrets(cfg)...).Handler(h))
}
