package main

import (
	"context"
	"io"
	"log/slog"
	"os"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/cmd/internal/core"
	"codex-bridge.example/cmd/internal/settings"
)

// proxy runs the real app-server behind the bridge. On success it ends this process with
// the exit status of the app-server. The user reads notices after the first thread has opened.
func proxy(cfg *config.Config, command codex.Command, notices []string, record *ledger) error {
	log := logger(cfg)
	record.ship(cfg, log)
	shared, err := newSharedParts(cfg, settings.Workspace(), command, record, log)
	if err != nil {
		return err
	}
	a, err := assemble(shared, log, nil)
	if err != nil {
		return err
	}
	return a.Run(core.RunOptions{
		Setup: setup, Proxy: a.options, Notices: notices, SetConfig: []func(*config.Config){a.setConfig}, Started: a.tools.Start,
		Close: func() {
			a.CloseParts(shared.Parts()...)
			a.CloseState(func(ctx context.Context) {
				if err := record.close(ctx); err != nil {
					log.Error("can't close the decision log", "error", err)
				}
			})
		},
	})
}

// logger returns a logger that writes to stderr, because stdout carries the protocol. It
// logs warnings and errors unless CODEX_BRIDGE_LOG sets another level, and redacts secrets.
func logger(cfg *config.Config) *slog.Logger { return loggerTo(os.Stderr, cfg) }

func loggerTo(w io.Writer, cfg *config.Config) *slog.Logger {
	return setup.Logger(w, cfg)
}
