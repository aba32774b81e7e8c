package featurecmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/cmd/codex-bridge/internal/assembly"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/lifecycle/image"
)

// ImageCmd is the command "codex-bridge image".
type ImageCmd struct {
	Describe describeImageCmd `cmd:"" help:"Print the model's description of images, in a thread that no list shows." example:"codex-bridge image describe screenshot.png"`
}

type describeImageCmd struct {
	File    []string      `arg:"" help:"1 to 16 PNG, JPEG, GIF or WebP files, of at most 20 MiB each and 40 MiB together."`
	Prompt  string        `help:"What to describe; by default what the images show."`
	Model   string        `help:"The model; by default image.model, or the first that takes images."`
	Timeout time.Duration `help:"The time limit, Codex's start included (100ms to 1h); by default image.timeout."`
	JSON    bool          `help:"Print {text, model}." name:"json"`
}

func (c describeImageCmd) Run(out io.Writer) error {
	cfg, err := configured.LoadStrict()
	if err == nil {
		err = configured.RequireBundle(cfg)
	}
	if err != nil {
		return err
	}
	var result image.Result
	err = exit.UntilStopped(func(ctx context.Context) (err error) {
		ctx, end := image.WithTimeout(ctx, cmp.Or(c.Timeout, time.Duration(cfg.Image.Timeout)))
		defer end()
		result, err = c.describe(ctx, cfg)
		return err
	})
	if err != nil {
		return err
	}
	if c.JSON {
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(result)
	}
	_, err = fmt.Fprintln(out, display.Lines(result.Text))
	return err
}

// describe has the images described by a Codex of its own.
func (c describeImageCmd) describe(ctx context.Context, cfg *config.Config) (none image.Result, err error) {
	job := image.Job{Prompt: c.Prompt, Model: cmp.Or(c.Model, cfg.Image.Model)}
	for _, path := range c.File {
		one, err := image.Open(ctx, path)
		if err != nil {
			return none, err
		}
		job.Images = append(job.Images, one)
	}
	record := decisionlog.New(cfg)
	command, err := appServer(cfg, record)
	if err != nil {
		return none, err
	}
	g, err := configured.Setup.NewGuard(cfg, nil, record, configured.Logger(cfg))
	if err != nil {
		return none, err
	}
	if refused := g.RefuseCommand(ctx, "bridge/image/describe", ""); refused != nil {
		return none, errors.Join(refused, record.Close())
	}
	step := progress(os.Stderr)
	step("codex starts")
	result, err := assembly.NewWorker(command, g, nil).Describe(ctx, job, step)
	step("")
	return result, errors.Join(err, record.Close())
}

// appServer returns the command of the real app-server, for use without a conversation.
func appServer(cfg *config.Config, record guard.Recorder) (codex.Command, error) {
	path, err := codex.Find(cfg.Codex.Command)
	if err != nil {
		return codex.Command{}, err
	}
	args, _, err := settings.ApplyArgs(cfg, slices.Concat(cfg.Codex.Args, []string{"app-server"}), len(cfg.Codex.Args), record, configured.Logger(cfg))
	return codex.Command{Path: path, Args: args, Env: configured.Setup.CodexEnviron(cfg)}, err
}

// progress returns a function that shows a step on one line of a terminal, and clears the line
// for "". If to is not a terminal, the function does nothing.
func progress(to *os.File) func(string) {
	info, err := to.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func(string) {}
	}
	return func(step string) {
		if step != "" {
			step += " …"
		}
		fmt.Fprintf(to, "\r\x1b[K%s", step)
	}
}
