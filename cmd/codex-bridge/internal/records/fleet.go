package records

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"time"

	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/buildinfo"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/relay/fleet"
	"codex-bridge.example/relay/telemetry"
)

type shipDecisionsCmd struct {
	Create   bool `help:"First create the tables of the fleet log, or migrate them. The role of fleet.url must have the right."`
	NewChain bool `help:"Send the whole local log as a new chain, after its state was copied or restored."`
	JSON     bool `help:"Print JSON." name:"json"`
}

// Run ships what earlier bridges have left. It asks the fleet log also if it should have everything.
func (c shipDecisionsCmd) Run(out io.Writer) error {
	cfg, err := configured.Load()
	if err != nil {
		return err
	}
	sink, err := decisionlog.NewSink(cfg)
	if err != nil {
		return err
	}
	defer sink.Close()
	ctx := context.Background()
	if c.Create {
		database, ok := sink.(*fleet.Database)
		if !ok {
			return errors.New("--create: the fleet log is not in PostgreSQL; leave the option out")
		}
		if err := database.Create(ctx); err != nil {
			return err
		}
	}
	record := decisionlog.New(cfg)
	defer func() { _ = record.Close() }() // what was acknowledged is on disk
	var r fleet.Result
	s, err := record.Existing(ctx)
	if err == nil && c.NewChain {
		err = s.NewChain(ctx)
	}
	if err == nil {
		r, err = fleet.Ship(ctx, s, sink, fleet.ThisSender(), true)
	}
	if err != nil && !errors.Is(err, store.ErrNotExist) {
		return err
	}
	if c.JSON {
		return output.WriteJSON(out, map[string]any{"location": sink.Location(), "sent": r.Acknowledged, "lost": r.Lost, "acknowledged": r.Head.Seq})
	}
	w := output.NewPrinter(out)
	if r.Lost > 0 {
		w.Line("%s had lost %d decisions that it had acknowledged", sink.Location(), r.Lost)
	}
	w.Line("%d decisions sent; %s has acknowledged %d", r.Acknowledged, sink.Location(), r.Head.Seq)
	return w.Failure()
}

// fleetSource is an argument with a fleet log: the address of a database, or a file with an export.
type fleetSource string

// database returns the fleet log in a database; nil if it is a file.
func (f fleetSource) database() (*fleet.Database, error) {
	address, key := string(f), "the address"
	if f == "" {
		cfg, err := configured.Load()
		if err != nil {
			return nil, err
		}
		address, key = cfg.Fleet.URL, "fleet.url"
	}
	switch {
	case address == "":
		return nil, errors.New("fleet.url is not set; name a file with an export, or the address of a database")
	case strings.HasPrefix(address, "http"):
		return nil, errors.New("the fleet log is an endpoint for OTLP logs, which can't be read; name a file with its records' bodies")
	case strings.HasPrefix(address, "postgres://"), strings.HasPrefix(address, "postgresql://"):
		return fleet.NewDatabase(address, key)
	}
	return nil, nil
}

// open returns the entries and the heads of a fleet log. The caller calls end.
func (f fleetSource) open(ctx context.Context) (entries, heads iter.Seq2[fleet.Entry, error], end func(), err error) {
	switch d, err := f.database(); {
	case err != nil:
		return nil, nil, nil, err
	case d != nil:
		return d.Entries(ctx), d.Heads(ctx), d.Close, nil
	}
	file, err := os.Open(string(f))
	if err != nil {
		return nil, nil, nil, err
	}
	entries = fleet.ReadEntries(file, string(f))
	return entries, entries, func() { _ = file.Close() }, nil
}

type checkpointDecisionsCmd struct {
	Source fleetSource `arg:"" optional:"" help:"A database (postgres://…) or a file with an export, in place of fleet.url."`
}

// Run prints a checkpoint.
func (c checkpointDecisionsCmd) Run(out io.Writer) error {
	_, heads, end, err := c.Source.open(context.Background())
	if err != nil {
		return err
	}
	defer end()
	checkpoint, err := fleet.NewCheckpoint(heads)
	if err != nil {
		return err
	}
	return output.WriteJSON(out, checkpoint)
}

// verifyFleet verifies a fleet log, also against a checkpoint if file is not empty.
func verifyFleet(out io.Writer, source fleetSource, file string, asJSON bool) error {
	var noted *fleet.Checkpoint
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if noted, err = fleet.ParseCheckpoint(text); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	entries, _, end, err := source.open(context.Background())
	if err != nil {
		return err
	}
	defer end()
	now, err := fleet.Verify(entries, noted)
	if err != nil {
		return err
	}
	if asJSON {
		return output.WriteJSON(out, map[string]any{"chains": now.Chains, "decisions": now.Decisions, "root": now.Root})
	}
	fmt.Fprintf(out, "%d decisions in %d chains, none changed\nroot %s\n", now.Decisions, now.Chains, now.Root)
	if noted != nil {
		fmt.Fprintf(out, "all %d chains of the checkpoint of %s are there\n", noted.Chains, noted.Time.Format(time.RFC3339))
	}
	return nil
}

// listFleet lists the entries of a fleet log that a filter selects.
func (c listDecisionsCmd) listFleet(out io.Writer, filter store.Filter) error {
	found, end, err := c.Source.find(context.Background(), filter)
	if err != nil {
		return err
	}
	defer end()
	all := []listedDecision{}
	for one, err := range found {
		if err != nil {
			return err
		}
		entry, err := one.Entry.Entry()
		if err != nil {
			return fmt.Errorf("chain %s: %w", one.Chain, err)
		}
		all = append(all, listedDecision{entry, &one})
	}
	if len(all) == 0 {
		c.warnMethod()
	}
	if c.JSON {
		return writeArray(out, all)
	}
	return writeTable(out, all)
}

// find returns the entries of a fleet log that a filter selects. The caller calls end.
func (f fleetSource) find(ctx context.Context, filter store.Filter) (found iter.Seq2[fleet.Found, error], end func(), err error) {
	switch d, err := f.database(); {
	case err != nil:
		return nil, nil, err
	case d != nil:
		return d.Find(ctx, filter), d.Close, nil
	}
	entries, _, end, err := f.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	return fleet.Find(entries, filter), end, nil
}

// exportFleet prints the entries of a fleet log.
func (c exportDecisionsCmd) exportFleet(out io.Writer) error {
	entries, _, end, err := c.Source.open(context.Background())
	if err != nil {
		return err
	}
	defer end()
	for e, err := range entries {
		if err != nil {
			return err
		}
		line := e.Line()
		if c.Format != "json" || !c.Since.IsZero() {
			entry, err := e.Entry()
			if err != nil {
				return err
			}
			if entry.Time.Before(c.Since.Time) {
				continue
			}
			if c.Format != "json" {
				if line, err = c.line(entry, telemetry.LogSource{Version: buildinfo.Version, Chain: e.Chain}); err != nil {
					return err
				}
			}
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}
