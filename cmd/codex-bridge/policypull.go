package main

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
)

type policyPullCmd struct {
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
func (c policyPullCmd) Run(out io.Writer) error {
	cfg, err := sourceConfig()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	p, err := pullBundle(ctx, cfg.PolicySource, 0)
	if err != nil {
		return fmt.Errorf("the pull failed, and the last verified bundle stays as it is: %w", err)
	}
	if c.JSON {
		return writeJSON(out, newPulledBundle(p))
	}
	w := &printer{w: out}
	before, after := p.Before, p.After
	switch {
	case before == nil:
		w.line("%s, the first one, is in force for threads that open now.", after.Name())
	case before.Text == after.Text && before.Table == after.Table:
		w.line("%s has not changed; it was confirmed until %s.", after.Name(), day(after.Expires))
	default:
		w.line("%s replaces version %d:", after.Name(), before.Version)
		for _, line := range changesOf(before, after) {
			w.line("  %s", display.Line(line))
		}
	}
	return w.err
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
	cfg, err := config.LoadLenient(configFiles())
	if err != nil {
		return nil, err
	}
	if cfg.PolicySource.URL == "" {
		return nil, usageError("the configuration has no [policy_source]; see docs/guides/team.md")
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

type policyStatusCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

// Run prints the bundle in force. The exit status is 1 if no thread opens, or if the bundle is stale.
func (c policyStatusCmd) Run(out io.Writer) error {
	cfg, err := sourceConfig()
	if err != nil {
		return err
	}
	s := statusOfSource(cfg)
	if c.JSON {
		err = writeJSON(out, s)
	} else {
		w := &printer{w: out}
		f := sourceFinding(s)
		w.line("%s", f.Detail)
		if f.Hint != "" {
			w.line("-> %s", f.Hint)
		}
		err = w.err
	}
	if err == nil && (s.Missing != "" || s.Stale) {
		return exitError(exitFailed)
	}
	return err
}

// examineSource returns a finding about the policy source, if there is one.
func examineSource(cfg *config.Config) []finding {
	if s := statusOfSource(cfg); s != nil {
		return []finding{sourceFinding(s)}
	}
	return nil
}

// expiresSoon is how long before the end of its metadata doctor warns about a bundle.
const expiresSoon = 48 * time.Hour

func sourceFinding(s *sourceStatus) finding {
	const publish = `whoever publishes it runs "codex-bridge policy publish" again`
	f := finding{Name: "policy source", State: fine}
	if s.Version > 0 {
		var keys []string
		for _, id := range s.Signers {
			keys = append(keys, bundle.ShortID(id))
		}
		f.Detail = fmt.Sprintf("bundle v%d of %s, signed by %s, confirmed %s ago, expires %s", s.Version, s.URL, strings.Join(keys, ", "),
			time.Duration(s.AgeMs*int64(time.Millisecond)).Round(time.Second), s.Expires)
	}
	failed := ""
	if s.Error != "" {
		failed = fmt.Sprintf("; the last pull (%s) failed: %s", s.Attempt, s.Error)
	}
	expires, err := time.Parse(time.RFC3339, s.Expires)
	switch {
	case s.Missing != "":
		f.State, f.Detail, f.Hint = broken, s.Missing+failed+"; no thread opens", `correct that, and run "codex-bridge policy pull"`
	case s.Stale:
		f.State, f.Detail, f.Hint = warn, f.Detail+"; it is stale, and stays in force"+failed, `correct that, and run "codex-bridge policy pull"`
	case failed != "":
		f.State, f.Detail, f.Hint = warn, f.Detail+failed, `correct that, and run "codex-bridge policy pull"`
	case err == nil && time.Until(expires) < expiresSoon:
		f.State, f.Hint = warn, publish
	}
	return f
}

// day returns a time for people.
func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
