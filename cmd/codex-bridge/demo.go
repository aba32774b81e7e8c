package main

import (
	"context"
	"os"
	"os/signal"

	"codex-bridge/bridge/codex"
	"codex-bridge/cmd/codex-bridge/internal/demo"
)

type demoCmd struct{}

// Run plays the demo with the codex of CODEX_BRIDGE_CODEX or PATH. It ignores the user's
// configuration.
func (demoCmd) Run(out rawOutput) error {
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
	return demo.Run(ctx, demo.Options{Bridge: self, Codex: path, Out: out, Color: colored()})
}

// colored reports whether standard output is a terminal with colours.
func colored() bool {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := os.Stdout.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
