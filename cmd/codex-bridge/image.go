package main

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
	"codex-bridge.example/bridge/hello"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/lifecycle/image"
)

type imageCmd struct {
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
	cfg, err := loadStrictConfig()
	if err == nil {
		err = requireBundle(cfg)
	}
	if err != nil {
		return err
	}
	var result image.Result
	err = untilStopped(func(ctx context.Context) (err error) {
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
	record := newLedger(cfg)
	command, err := appServer(cfg, record)
	if err != nil {
		return none, err
	}
	g, err := setup.NewGuard(cfg, nil, record, logger(cfg))
	if err != nil {
		return none, err
	}
	if refused := g.RefuseCommand(ctx, "bridge/image/describe", ""); refused != nil {
		return none, errors.Join(refused, record.Close())
	}
	step := progress(os.Stderr)
	step("codex starts")
	result, err := newWorker(command, g, nil).Describe(ctx, job, step)
	step("")
	return result, errors.Join(err, record.Close())
}

// appServer returns the command of the real app-server, for use without a conversation.
func appServer(cfg *config.Config, record guard.Recorder) (codex.Command, error) {
	path, err := codex.Find(cfg.Codex.Command)
	if err != nil {
		return codex.Command{}, err
	}
	args, _, err := settings.ApplyArgs(cfg, slices.Concat(cfg.Codex.Args, []string{"app-server"}), len(cfg.Codex.Args), record, logger(cfg))
	return codex.Command{Path: path, Args: args, Env: setup.CodexEnviron(cfg)}, err
}

func newWorker(command codex.Command, policy image.Policy, stderr io.Writer) *image.Worker {
	return &image.Worker{
		Command: slices.Concat([]string{command.Path}, command.Args), Env: command.Env, Stderr: stderr, Version: Version, Policy: policy, MakeFolder: store.MakeScratch,
	}
}

// newImages returns the feature that answers bridge/image/describe. It starts a separate Codex
// with the command of the conversation's.
func newImages(cfg *config.Config, command codex.Command, g *guard.Guard, hi *hello.Hello) *image.Feature {
	f := image.NewFeature(newWorker(command, g, os.Stderr), cfg.Image, hi.KnowsBridge)
	hi.AddMethods(image.Method)
	hi.AddStatus("images", func() any { return f.State() })
	return f
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
