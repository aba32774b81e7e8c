package policycmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"codex-bridge.example/bridge/bundle"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/doctor"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
)

// PolicyPullCmd is the command "codex-bridge policy pull".
type PolicyPullCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

// pulledBundle is the result of a pull. The JSON names are stable.
type pulledBundle struct {
	Version  int64     `json:"version"`
	Replaced int64     `json:"replaced,omitempty"` // the version before
	Expires  time.Time `json:"expires"`
	Changes  []string  `json:"changes"` // lines after "- " and "+ "; of the first bundle, all lines
}

// Run pulls the bundle now, and prints its changes.
func (c PolicyPullCmd) Run(out io.Writer) error {
	cfg, err := sourceConfig()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	p, err := configured.PullBundle(ctx, cfg.PolicySource, 0)
	if err != nil {
		return fmt.Errorf("the pull failed, and the last verified bundle stays as it is: %w", err)
	}
	if c.JSON {
		return output.WriteJSON(out, newPulledBundle(p))
	}
	w := output.NewPrinter(out)
	before, after := p.Before, p.After
	switch {
	case before == nil:
		w.Line("%s, the first one, is in force for threads that open now.", after.Name())
	case before.Text == after.Text && before.Table == after.Table:
		w.Line("%s has not changed; it was confirmed until %s.", after.Name(), output.Day(after.Expires))
	default:
		w.Line("%s replaces version %d:", after.Name(), before.Version)
		for _, line := range changesOf(before, after) {
			w.Line("  %s", display.Line(line))
		}
	}
	return w.Failure()
}

func newPulledBundle(p bundle.Pulled) pulledBundle {
	out := pulledBundle{Version: p.After.Version, Expires: p.After.Expires}
	before := new(bundle.Content)
	if p.Before != nil {
		out.Replaced, before = p.Before.Version, p.Before
	}
	out.Changes = append([]string{}, changesOf(before, p.After)...)
	return out
}

// changesOf returns the changed lines of the policy, and then those of the table.
func changesOf(before, after *bundle.Content) []string {
	return append(changedLines(before.Text, after.Text), changedLines(before.Table, after.Table)...)
}

// sourceConfig returns the configuration, which must have a policy source.
func sourceConfig() (*config.Config, error) {
	cfg, err := config.LoadLenient(configured.Files())
	if err != nil {
		return nil, err
	}
	if cfg.PolicySource.URL == "" {
		return nil, exit.UsageError("the configuration has no [policy_source]; see docs/guides/team.md")
	}
	return cfg, nil
}

// changedLines returns the lines that a text lost, after "- ", and those that it got, after "+ ".
func changedLines(before, after string) (changed []string) {
	count := make(map[string]int)
	for line := range strings.Lines(after) {
		count[strings.TrimSpace(line)]++
	}
	for line := range strings.Lines(before) {
		if line = strings.TrimSpace(line); count[line] > 0 {
			count[line]--
		} else if line != "" {
			changed = append(changed, "- "+line)
		}
	}
	for line := range strings.Lines(after) {
		if line = strings.TrimSpace(line); line != "" && count[line] > 0 {
			count[line]--
			changed = append(changed, "+ "+line)
		}
	}
	return changed
}

// PolicyStatusCmd is the command "codex-bridge policy status".
type PolicyStatusCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

// Run prints the bundle in force. The exit status is 1 if no thread opens, or if the bundle is stale.
func (c PolicyStatusCmd) Run(out io.Writer) error {
	cfg, err := sourceConfig()
	if err != nil {
		return err
	}
	s := configured.StatusOfSource(cfg)
	if c.JSON {
		err = output.WriteJSON(out, s)
	} else {
		w := output.NewPrinter(out)
		f := doctor.SourceFinding(s)
		w.Line("%s", f.Detail)
		if f.Hint != "" {
			w.Line("-> %s", f.Hint)
		}
		err = w.Failure()
	}
	if err == nil && (s.Missing != "" || s.Stale) {
		return exit.Status(exit.Failed)
	}
	return err
}
