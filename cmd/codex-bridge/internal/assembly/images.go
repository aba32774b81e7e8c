package assembly

import (
	"io"
	"os"
	"slices"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/hello"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/buildinfo"
	"codex-bridge.example/lifecycle/image"
)

// newImages returns the feature that answers bridge/image/describe. It starts a separate Codex
// with the command of the conversation's.
func newImages(cfg *config.Config, command codex.Command, g *guard.Guard, hi *hello.Hello) *image.Feature {
	f := image.NewFeature(NewWorker(command, g, os.Stderr), cfg.Image, hi.KnowsBridge)
	hi.AddMethods(image.Method)
	hi.AddStatus("images", func() any { return f.State() })
	return f
}

// NewWorker returns a worker that describes images by a Codex of its own.
func NewWorker(command codex.Command, policy image.Policy, stderr io.Writer) *image.Worker {
	return &image.Worker{
		Command: slices.Concat([]string{command.Path}, command.Args), Env: command.Env, Stderr: stderr, Version: buildinfo.Version, Policy: policy, MakeFolder: store.MakeScratch,
	}
}
