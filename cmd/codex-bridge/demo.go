package main

import (
	"context"
	"os"
	"os/signal"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/cmd/codex-bridge/internal/demo"
)

type demoCmd struct {
	All bool `help:"Play all scenes."`
}

// Run plays the demo with the codex of CODEX_BRIDGE_CODEX or PATH. It ignores the user's
// configuration.
func (c demoCmd) Run(out rawOutput) error {
	path, err := codex.Find("codex")
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return demo.Run(ctx, demo.Options{Bridge: self, Codex: path, Out: out, Color: hasColours(os.Stdout), All: c.All})
}
