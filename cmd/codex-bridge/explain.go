package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/rpc"
)

type explainCmd struct {
	File      string `arg:"" optional:"" help:"The message, one JSON object; by default standard input." type:"existingfile"`
	Workspace string `help:"The thread's folder, whose policy files count." default:"." type:"existingdir"`
	JSON      bool   `help:"Print JSON." name:"json"`
}

func (c explainCmd) Run(in io.Reader, out io.Writer) error {
	folder, err := filepath.Abs(c.Workspace)
	if err != nil {
		return err
	}
	cfg, err := config.LoadLenient(setup.Files(folder))
	if err == nil {
		err = settings.RequireWorkspace(cfg)
	}
	if err != nil {
		return err
	}
	p, err := policy.New(cfg.Policy, cfg.Place)
	if err != nil {
		return err
	}
	m, err := c.message(in)
	if err != nil {
		return err
	}
	// Codex's configuration and threads are unknown here: see guard.Explain.
	world, err := setup.CompleteWorld(cfg)
	if err != nil && p.Mode() == config.Enforce {
		return err
	}
	if world.StartFolder, err = world.Paths.Canonical(folder); err != nil {
		return err
	}
	g := guard.New(p, world, guard.NoRecord, slog.New(slog.DiscardHandler))
	e := g.Explain(m, nil)
	if e.Decision.Want == policy.WantModels {
		err := untilStopped(func(ctx context.Context) error {
			models, err := askModels(ctx, cfg)
			if err == nil {
				e = g.Explain(m, models)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	e.Expired, e.Invalid = cfg.Policy.ExpiredRules(world.Now()), settings.WorkspaceFaults(cfg)
	if c.JSON {
		return json.NewEncoder(out).Encode(e)
	}
	return c.print(out, e)
}

func (c explainCmd) message(in io.Reader) (*rpc.Message, error) {
	name := "standard input"
	if c.File != "" {
		f, err := os.Open(c.File)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in, name = f, c.File
	}
	if c.File == "" && isTerminal(os.Stdin) {
		printError("codex-bridge: type one message, a JSON object, and then Ctrl-D; or name a file that has it")
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	m, err := rpc.ParseMessage(bytes.TrimSpace(text))
	if err != nil {
		var refused *rpc.MessageError
		if errors.As(err, &refused) {
			return nil, fmt.Errorf("%s: codex would not get this: error %d: %s", name, refused.Err.Code, refused.Err.Message)
		}
		return nil, err
	}
	return m, nil
}

func (c explainCmd) print(out io.Writer, e guard.Explanation) error {
	w, d := &printer{w: out}, e.Decision
	for _, line := range e.Invalid {
		w.line("not valid: %s", line)
	}
	switch e.Mode {
	case config.Off:
		w.line("verdict: pass (policy.mode is off: nothing is decided)")
		return w.err
	case config.Audit:
		w.line("verdict: %s (policy.mode is audit: this is logged, and codex gets the message as it came)", d.Verdict)
	default:
		w.line("verdict: %s", d.Verdict)
	}
	for _, line := range e.Expired {
		w.line("expired: %s", line)
	}
	if d.Err != nil {
		w.line("error %d: %s", d.Err.Code, d.Err.Message)
	}
	if d.Answer != nil {
		w.line("the bridge responds to codex, and the client does not get the request: %s", d.Answer)
	}
	if e.Assumed {
		w.line("this holds for a thread that was opened through the bridge, with the folder of --workspace; on another one the request is refused")
	}
	if e.Starts {
		w.line("this is decided before the line; rules for commands also decide where each program of it starts, on Linux")
	}
	if e.Own {
		w.line("the bridge answers this itself, to a client that offers capabilities.bridge; codex does not get it")
	}
	w.changes("", d.Changes)
	for _, answer := range e.Answers {
		w.line("")
		if len(answer.Changes) == 0 {
			w.line("the answer %s passes", answer.Answer)
			continue
		}
		w.line("the answer %s becomes %s", answer.Answer, answer.Becomes)
		w.changes("    ", answer.Changes)
	}
	if d.Verdict == policy.Rewrite {
		w.line("")
		w.line("codex gets:")
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, bytes.TrimSpace(d.Message), "", "  "); err != nil {
			return err
		}
		w.raw("%s", pretty.String())
	}
	return w.err
}

// placeSuffix returns the file and line that set a rule, in parentheses; "" for a default.
func placeSuffix(place string) string {
	if place == "" {
		return ""
	}
	return " (" + place + ")"
}

func valueOr(raw json.RawMessage, nothing string) string {
	if raw == nil {
		return nothing
	}
	return string(raw)
}

// changes prints the changed fields with rule and reason.
func (p *printer) changes(indent string, all []policy.Change) {
	for _, change := range all {
		p.line("")
		p.line("%s%s: %s -> %s", indent, change.Field, valueOr(change.From, "left out"), valueOr(change.To, "taken out"))
		p.line("%s    %s%s: %s", indent, change.Rule, placeSuffix(change.Origin), change.Reason)
	}
}
