package policycmd

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"codex-bridge.example/bridge/bundle"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/replay"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/assembly"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/cmd/codex-bridge/internal/records"
	"codex-bridge.example/cmd/codex-bridge/internal/simulate"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/relay/trace"
)

// SimulateCmd is the command "codex-bridge policy simulate".
type SimulateCmd struct {
	Candidate string  `placeholder:"FILE" type:"existingfile" help:"The candidate, in place of your configuration file; without it, the current policy is compared with the record."`
	Managed   bool    `xor:"place" help:"The candidate takes the place of the managed file instead."`
	Bundle    bool    `xor:"place" help:"The candidate takes the place of the bundle of policy instead."`
	Since     ageFlag `placeholder:"TIME" default:"7d" help:"Only decisions since a time (\"2026-03-01T09:00:00Z\") or for a duration (\"24h\", \"7d\")."`
	FailOn    string  `enum:",loosen" default:"" placeholder:"loosen" help:"Exit with status 1 if the candidate would allow anything that the current policy does not, or if no record shows it."`
	JSON      bool    `help:"Print JSON." name:"json"`
}

// Run compares the current policy with a candidate over the recorded decisions.
func (c SimulateCmd) Run(out io.Writer) error {
	files := configured.Setup.Files("") // the files of a workspace count only in their folder, which the record names as such
	cfg, current, err := policyOf(files)
	if err != nil {
		return err
	}
	other, candidate := cfg, current
	if c.Candidate != "" {
		if files, err = c.replace(files, cfg); err != nil {
			return err
		}
		if other, candidate, err = policyOf(files); err != nil {
			return err
		}
	} else if c.Managed || c.Bundle || c.FailOn != "" {
		return exit.RefuseArgs("--managed, --bundle and --fail-on need --candidate FILE")
	}
	debug.SetGCPercent(simulate.GCPercent)
	var report *simulate.Report
	err = readRecords(cfg, c.Since.Time, func(all func() iter.Seq2[simulate.Record, error]) (err error) {
		report, err = simulate.Compare(all(), current, candidate, time.Now())
		return err
	})
	if err != nil {
		return err
	}
	report.LooserKeys = append(report.LooserKeys, config.LooserKeys(cfg, other)...)
	if c.JSON {
		err = output.WriteJSON(out, report)
	} else {
		err = c.print(out, report)
	}
	switch {
	case err != nil || c.FailOn == "":
		return err
	case report.IsLooser():
		return exit.Status(exit.Failed)
	case report.Recomputed == 0:
		return errors.New("--fail-on: no record could be computed again, so none shows that the candidate is not looser; choose an earlier --since, or the state of bridges that decide under this policy")
	}
	return nil
}

// replace returns the files with the candidate in place of one of them.
func (c SimulateCmd) replace(files config.Options, current *config.Config) (config.Options, error) {
	switch {
	case c.Managed:
		files.Managed = c.Candidate
	case !c.Bundle:
		files.User, files.UserRequired, files.UserError = c.Candidate, true, nil
	case current.PolicySource.URL == "":
		return files, exit.RefuseArgs("--bundle needs a [policy_source] in the configuration")
	default:
		text, err := os.ReadFile(c.Candidate)
		if err != nil {
			return files, err
		}
		beside := filepath.Join(filepath.Dir(c.Candidate), bundle.TableTarget)
		table, err := os.ReadFile(beside)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return files, err
		}
		files.Bundle = func(config.PolicySource) config.Bundle {
			return config.Bundle{Name: c.Candidate, Text: string(text), File: c.Candidate, TableName: beside, Table: string(table)}
		}
	}
	return files, nil
}

func policyOf(files config.Options) (*config.Config, *policy.Policy, error) {
	cfg, err := config.Load(files)
	if err == nil {
		err = configured.RequireBundle(cfg) // without it, everything is refused
	}
	if err != nil {
		return nil, nil, err
	}
	p, err := settings.NewPolicy(cfg, slog.New(slog.DiscardHandler))
	return cfg, p, err
}

// readRecords calls read with a function that returns the records of the decision log, and then those
// of the traces.
func readRecords(cfg *config.Config, since time.Time, read func(func() iter.Seq2[simulate.Record, error]) error) error {
	ctx := context.Background()
	s, err := decisionlog.OpenState(ctx, cfg, true)
	if err != nil && !errors.Is(err, store.ErrNotExist) {
		return err
	}
	if s != nil {
		defer func() { _ = s.Close() }()
	}
	folder, err := assembly.TraceFolder()
	if err != nil {
		return err
	}
	traces, err := trace.List(folder)
	if err != nil {
		return err
	}
	return read(func() iter.Seq2[simulate.Record, error] {
		return func(yield func(simulate.Record, error) bool) {
			if s != nil {
				for r, err := range simulate.Entries(s.Decisions(ctx, store.Filter{Since: since})) {
					if !yield(r, err) {
						return
					}
				}
			}
			for _, file := range traces {
				if file.Modified.Before(since) {
					continue
				}
				for r, err := range simulate.Passed(file, func(e trace.Event) bool { return !e.Time.Before(since) }) {
					if !yield(r, err) {
						return
					}
				}
			}
		}
	})
}

func (c SimulateCmd) print(out io.Writer, r *simulate.Report) error {
	w := output.NewPrinter(out)
	w.Line("%s: %d recomputed, %d not, %d repeat another", output.Count(int(r.Records), "record"), r.Recomputed, r.Records-r.Recomputed-r.Repeated, r.Repeated)
	if c.Candidate != "" {
		w.Line("%d looser, %d tighter, %d unchanged under %s", r.Looser, r.Tighter, r.Unchanged, c.Candidate)
		for _, key := range r.LooserKeys {
			w.Line("looser by its value, whatever the record shows: %s", key)
		}
		printSimulated(w, r.Changes)
		for i, u := range r.Users {
			if i == 0 {
				w.Line("\nby user:")
			}
			w.Line("  %s: %d looser, %d tighter", u.Name, u.Looser, u.Tighter)
		}
	}
	for i, n := range r.NotRecomputed {
		if i == 0 {
			w.Line("\nnot recomputed:")
		}
		w.Line("  %d: %s", n.Count, n.Reason)
	}
	if len(r.Otherwise) > 0 {
		w.Line("\nrecorded otherwise than the current policy decides (recorded → current):")
		printSimulated(w, r.Otherwise)
	}
	return w.Failure()
}

func printSimulated(w *output.Printer, all []*simulate.Change) {
	for _, c := range all {
		by := c.Rule
		if by == "" {
			by = "no rule"
		}
		starts := ""
		if !c.Starts.IsZero() {
			starts = " from " + c.Starts.Format(time.RFC3339) + " on"
		}
		w.Line("\n%s → %s%s: %d by %s%s", effectText(c.From, c.FromApprovers), effectText(c.To, c.ToApprovers), starts, c.Count, by, placeSuffix(c.Origin))
		for _, e := range c.Examples {
			where := "decision"
			if e.Trace != "" {
				where = "trace " + e.Trace + ", event"
			}
			w.Line("  %s %d, %s, %s: %s", where, e.Seq, e.Time.Format(time.RFC3339), e.User, oneLine(e.What))
			if e.Reason != "" {
				w.Line("      %s", oneLine(e.Reason))
			}
		}
	}
}

func effectText(e replay.Effect, approvers string) string {
	return strings.TrimSpace(e.String() + " " + approvers)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// ageFlag is a TimeFlag that also reads days.
type ageFlag struct{ time.Time }

// UnmarshalText reads a number of days, or what a TimeFlag reads.
func (a *ageFlag) UnmarshalText(text []byte) error {
	if days, ok := strings.CutSuffix(string(text), "d"); ok {
		var n int
		if err := json.Unmarshal([]byte(days), &n); err == nil && n >= 0 && n <= 36500 {
			a.Time = time.Now().AddDate(0, 0, -n)
			return nil
		}
	}
	var t records.TimeFlag
	err := t.UnmarshalText(text)
	a.Time = t.Time
	return err
}
