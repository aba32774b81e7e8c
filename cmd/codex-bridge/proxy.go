package main

import (
	"context"
	"log/slog"
	"os"
	"runtime"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/codex"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/hello"
)

// proxy runs the real app-server behind us and ends as it ends.
func proxy(cfg *config.Config, command codex.Command, record *ledger) error {
	log := logger()
	hold, err := newGuard(cfg, record, log)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go watch(ctx, cfg, hold, log) // ends with ctx
	p, err := bridge.NewProxy(bridge.Options{
		In: os.Stdin, Out: os.Stdout,
		Command:    command,
		Features:   []bridge.Feature{hello.New(Version, cfg.Codex.MinVersion, hold, log), hold},
		MaxMessage: int(cfg.Codex.MaxMessage),
		Grace:      time.Duration(cfg.Codex.ShutdownGrace),
		Log:        log,
	})
	if err != nil {
		return err
	}
	stop := codex.Signals()
	// The death signal comes when the thread that started codex ends: the main
	// thread, which ends with the process.
	runtime.LockOSThread()
	state, err := p.Run(ctx, stop)
	if err != nil {
		return err
	}
	if err := record.Close(); err != nil {
		log.Error("the decision log was not closed in good order", "error", err)
	}
	codex.Mirror(state)
	return nil
}

// logger writes to stderr: stdout is the protocol's. Warnings and worse, unless
// CODEX_BRIDGE_LOG says otherwise.
func logger() *slog.Logger {
	level := slog.LevelWarn
	if text := os.Getenv("CODEX_BRIDGE_LOG"); text != "" {
		if err := level.UnmarshalText([]byte(text)); err != nil {
			level = slog.LevelWarn
		}
	}
	opts := &slog.HandlerOptions{Level: level}
	if os.Getenv("CODEX_BRIDGE_LOG_FORMAT") == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, opts))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, opts))
}
