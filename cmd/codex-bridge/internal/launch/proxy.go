package launch

import (
	"context"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/cmd/codex-bridge/internal/assembly"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
	"codex-bridge.example/cmd/internal/core"
	"codex-bridge.example/cmd/internal/settings"
)

// Proxy runs the real app-server behind the bridge. On success it ends this process with
// the exit status of the app-server. The user reads notices after the first thread has opened.
func Proxy(cfg *config.Config, command codex.Command, notices []string, record *decisionlog.Log) error {
	log := configured.Logger(cfg)
	record.Ship(cfg, log)
	shared, err := assembly.NewShared(cfg, settings.Workspace(), command, record, log)
	if err != nil {
		return err
	}
	a, err := assembly.New(shared, log, nil)
	if err != nil {
		return err
	}
	return a.Run(core.RunOptions{
		Setup: configured.Setup, Proxy: a.Options, Notices: notices, SetConfig: []func(*config.Config){a.SetConfig}, Started: a.Tools.Start,
		Close: func() {
			a.CloseParts(shared.Parts()...)
			a.CloseState(func(ctx context.Context) {
				if err := record.Shutdown(ctx); err != nil {
					log.Error("can't close the decision log", "error", err)
				}
			})
		},
	})
}
