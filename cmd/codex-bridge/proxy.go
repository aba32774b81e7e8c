package main

import (
	"context"
	"log/slog"
	"os"
	"runtime"

	"codex-bridge/bridge"
	"codex-bridge/bridge/codex"
	"codex-bridge/bridge/config"
	"codex-bridge/relay/redact"
)

// proxy runs the real app-server behind us and ends as it ends.
func proxy(cfg *config.Config, command codex.Command, record *ledger) error {
	log := logger(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a, err := assemble(ctx, cfg, command, record, log)
	if err != nil {
		return err
	}
	p, err := bridge.NewProxy(a.options)
	if err != nil {
		a.close(ctx)
		return err
	}
	if a.guard.Enforces() {
		a.program.Start() // beside codex itself, so that initialize need not wait
	}
	stop := codex.Signals()
	a.tools.Start()
	// The death signal comes when the thread that started codex ends: the main
	// thread, which ends with the process.
	runtime.LockOSThread()
	state, err := p.Run(ctx, stop)
	a.close(ctx)
	if err != nil {
		return err
	}
	if err := record.Close(); err != nil {
		log.Error("the decision log was not closed in good order", "error", err)
	}
	codex.ExitLike(state) // ends the process
	return nil
}

// logger writes to stderr: stdout is the protocol's. Warnings and worse, unless
// CODEX_BRIDGE_LOG says otherwise. Secrets are taken out.
func logger(cfg *config.Config) *slog.Logger {
	level := slog.LevelWarn
	if text := os.Getenv("CODEX_BRIDGE_LOG"); text != "" {
		if err := level.UnmarshalText([]byte(text)); err != nil {
			level = slog.LevelWarn
		}
	}
	opts := &slog.HandlerOptions{Level: level}
	var h slog.Handler = slog.NewTextHandler(os.Stderr, opts)
	if os.Getenv("CODEX_BRIDGE_LOG_FORMAT") == "json" {
		h = slog.NewJSONHandler(os.Stderr, opts)
	}
	return slog.New(redact.New(redact.Limits{}, secrets(cfg)...).Handler(h))
}
