package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/cmd/codex-bridge/internal/demo"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/cmd/internal/scripted"
)

type demoCmd struct {
	All   bool `help:"Play all scenes." xor:"what"`
	Model *int `placeholder:"PORT" help:"Only serve the scripted model, on this port of 127.0.0.1 (0: a free one), for a Codex of yours." xor:"what"`
}

// Help describes the scripted model.
func (demoCmd) Help() string {
	return `The scripted model does what the user's text says, such as "RUN: git push" or "SAY: hello".
It shows what a policy does with a model's calls, without an account. docs/guides/team.md tries a fleet with it.`
}

// Run plays the demo with the codex of CODEX_BRIDGE_CODEX or PATH. It ignores the user's
// configuration.
func (c demoCmd) Run(out output.Unescaped) error {
	if c.Model != nil {
		return serveModel(*c.Model, out)
	}
	path, err := codex.Find("codex")
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return exit.UntilStopped(func(ctx context.Context) error {
		return demo.Run(ctx, demo.Options{Bridge: self, Codex: path, Out: out, Color: output.HasColours(os.Stdout), All: c.All})
	})
}

// serveModel serves the scripted model until a signal ends it.
func serveModel(port int, out io.Writer) error {
	if port < 0 || port > 65535 {
		return exit.UsageError(fmt.Sprintf("--model=%d: a port from 0 to 65535", port))
	}
	return exit.UntilStopped(func(ctx context.Context) error {
		model, err := scripted.StartAt(port, nil)
		if err != nil {
			return fmt.Errorf("%w; choose another port", err)
		}
		_, err = fmt.Fprintf(out, "The scripted model is at %s/v1 until you interrupt it.\n", model.URL())
		if err == nil {
			<-ctx.Done()
		}
		return errors.Join(err, model.Close())
	})
}
