// Package policycmd has the commands that explain, test, compare and distribute a policy.
package policycmd

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
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/doctor"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/rpc"
)

// ExplainCmd is the command "codex-bridge policy explain".
type ExplainCmd struct {
	File      string `arg:"" optional:"" help:"The message, one JSON object; by default standard input." type:"existingfile"`
	Workspace string `help:"The thread's folder, whose policy files count." default:"." type:"existingdir"`
	JSON      bool   `help:"Print JSON." name:"json"`
}

// Run prints the decision about a message.
func (c ExplainCmd) Run(in io.Reader, out io.Writer) error {
	folder, err := filepath.Abs(c.Workspace)
	if err != nil {
		return err
	}
	cfg, err := config.LoadLenient(configured.Setup.Files(folder))
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
	world, err := configured.Setup.CompleteWorld(cfg)
	if err != nil && p.Mode() == config.Enforce {
		return err
	}
	if world.StartFolder, err = world.Paths.Canonical(folder); err != nil {
		return err
	}
	g := guard.New(p, world, guard.NoRecord, slog.New(slog.DiscardHandler))
	e := g.Explain(m, nil)
	if e.Decision.Want == policy.WantModels {
		err := exit.UntilStopped(func(ctx context.Context) error {
			models, err := doctor.AskModels(ctx, cfg)
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

func (c ExplainCmd) message(in io.Reader) (*rpc.Message, error) {
	name := "standard input"
	if c.File != "" {
		f, err := os.Open(c.File)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in, name = f, c.File
	}
	if c.File == "" && output.IsTerminal(os.Stdin) {
		output.PrintError("codex-bridge: type one message, a JSON object, and then Ctrl-D; or name a file that has it")
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

func (c ExplainCmd) print(out io.Writer, e guard.Explanation) error {
	w, d := output.NewPrinter(out), e.Decision
	for _, line := range e.Invalid {
		w.Line("not valid: %s", line)
	}
	switch e.Mode {
	case config.Off:
		w.Line("verdict: pass (policy.mode is off: nothing is decided)")
		return w.Failure()
	case config.Audit:
		w.Line("verdict: %s (policy.mode is audit: this is logged, and codex gets the message as it came)", d.Verdict)
	default:
		w.Line("verdict: %s", d.Verdict)
	}
	for _, line := range e.Expired {
		w.Line("expired: %s", line)
	}
	if d.Err != nil {
		w.Line("error %d: %s", d.Err.Code, d.Err.Message)
	}
	if d.Answer != nil {
		w.Line("the bridge responds to codex, and the client does not get the request: %s", d.Answer)
	}
	if e.Assumed {
		w.Line("this holds for a thread that was opened through the bridge, with the folder of --workspace; on another one the request is refused")
	}
	if e.Starts {
		w.Line("this is decided before the line; rules for commands also decide where each program of it starts, on Linux")
	}
	if e.Own {
		w.Line("the bridge answers this itself, to a client that offers capabilities.bridge; codex does not get it")
	}
	printFieldChanges(w, "", d.Changes)
	for _, answer := range e.Answers {
		w.Line("")
		if len(answer.Changes) == 0 {
			w.Line("the answer %s passes", answer.Answer)
			continue
		}
		w.Line("the answer %s becomes %s", answer.Answer, answer.Becomes)
		printFieldChanges(w, "    ", answer.Changes)
	}
	if d.Verdict == policy.Rewrite {
		w.Line("")
		w.Line("codex gets:")
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, bytes.TrimSpace(d.Message), "", "  "); err != nil {
			return err
		}
		w.Raw("%s", pretty.String())
	}
	return w.Failure()
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

// printFieldChanges prints the changed fields with rule and reason.
func printFieldChanges(p *output.Printer, indent string, all []policy.Change) {
	for _, change := range all {
		p.Line("")
		p.Line("%s%s: %s -> %s", indent, change.Field, valueOr(change.From, "left out"), valueOr(change.To, "taken out"))
		p.Line("%s    %s%s: %s", indent, change.Rule, placeSuffix(change.Origin), change.Reason)
	}
}
