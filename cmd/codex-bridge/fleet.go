package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/hello"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/relay/fleet"
	"codex-bridge.example/relay/telemetry"
)

// fleetGrace is how long the fleet log may delay the end of the bridge.
const fleetGrace = 2 * time.Second

// envLogsHeaders is the variable of OpenTelemetry with the headers for an endpoint of logs.
const envLogsHeaders = "OTEL_EXPORTER_OTLP_LOGS_HEADERS"

var errNoFleet = errors.New("fleet.url is not set; name the address of the fleet log there")

// newSink returns the configured fleet log.
func newSink(cfg *config.Config) (fleet.Sink, error) {
	switch address := cfg.Fleet.URL; {
	case address == "":
		return nil, errNoFleet
	case strings.HasPrefix(address, "http"):
		return fleet.NewEndpoint(address, telemetry.ParseHeaders(os.Getenv(envLogsHeaders)), Version)
	default:
		return fleet.NewDatabase(address, "fleet.url")
	}
}

// ship starts to send the decisions of this process, and those that earlier ones have left, to the fleet
// log, if there is one. Close ends it.
func (l *ledger) ship(cfg *config.Config, log *slog.Logger) {
	if cfg.Fleet.URL == "" {
		return
	}
	sink, err := newSink(cfg)
	if err != nil {
		log.Warn("decisions can't be sent to the fleet log; they stay in the local log until they can", "error", err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	open := func(ctx context.Context) (fleet.Log, error) { return l.existing(ctx) }
	l.shipper = fleet.Start(fleet.Options{Open: open, Sink: sink, Sender: fleet.ThisSender(), Log: log})
}

// existing returns the state, or store.ErrNotExist. It creates none.
func (l *ledger) existing(ctx context.Context) (*store.Store, error) {
	folder, err := statefolder.Path()
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Join(folder, store.DatabaseFile)); err != nil {
		return nil, store.ErrNotExist
	}
	return l.store(ctx)
}

// fleetState is what doctor and bridge/status say of the fleet log.
type fleetState struct {
	Location     string     `json:"location"`
	Acknowledged int64      `json:"acknowledged"`
	Waiting      int64      `json:"waiting"`
	Since        *time.Time `json:"since,omitempty"` // of the first that waits
	Error        string     `json:"error,omitempty"`
	Failed       *time.Time `json:"failed,omitempty"`
}

func readFleetState(ctx context.Context, s *store.Store, location string) (fleetState, error) {
	state := fleetState{Location: location}
	shipping, err := s.Shipping(ctx, location)
	if err != nil {
		return state, err
	}
	state.Acknowledged, state.Error = shipping.Seq, shipping.Error
	if !shipping.Failed.IsZero() {
		state.Failed = &shipping.Failed
	}
	var since time.Time
	if state.Waiting, since, err = s.Waiting(ctx, shipping.Head); state.Waiting > 0 {
		state.Since = &since
	}
	return state, err
}

// showFleet adds the fleet log to bridge/status, if there is one.
func showFleet(hi *hello.Hello, cfg *config.Config, record *ledger) {
	sink, err := newSink(cfg)
	if err != nil {
		return
	}
	hi.AddStatus("fleet", func() any {
		ctx, cancel := context.WithTimeout(context.Background(), fleetGrace)
		defer cancel()
		state := fleetState{Location: sink.Location()}
		s, err := record.existing(ctx)
		if err == nil {
			state, err = readFleetState(ctx, s, sink.Location())
		}
		if err != nil && !errors.Is(err, store.ErrNotExist) {
			state.Error = problem.Text(err)
		}
		return state
	})
}

// examineFleet says how many decisions wait for the fleet log. It does not connect.
func examineFleet(cfg *config.Config) []finding {
	if cfg.Fleet.URL == "" {
		return nil
	}
	sink, err := newSink(cfg)
	if err != nil {
		return []finding{{"fleet log", broken, problem.Text(err), "correct fleet.url; until then decisions stay in the local log"}}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	state := fleetState{Location: sink.Location()}
	s, err := openState(ctx, cfg, true)
	if err == nil {
		state, err = readFleetState(ctx, s, sink.Location())
		_ = s.Close()
	}
	if err != nil && !errors.Is(err, store.ErrNotExist) {
		return nil // examineState reports it
	}
	f := finding{"fleet log", fine, fmt.Sprintf("%s has acknowledged %d decisions", state.Location, state.Acknowledged), ""}
	if state.Waiting > 0 {
		f.Detail += fmt.Sprintf("; %d wait, the first since %s", state.Waiting, state.Since.Format(time.RFC3339))
		f.Hint = `the next bridge sends them, or "codex-bridge decisions ship"`
	}
	if state.Error != "" {
		f.State = warn
		f.Detail += fmt.Sprintf("; last error, at %s: %s", state.Failed.Format(time.RFC3339), state.Error)
	}
	return []finding{f}
}

type shipDecisionsCmd struct {
	Create   bool `help:"First create the tables of the fleet log, or migrate them. The role of fleet.url must have the right."`
	NewChain bool `help:"Send the whole local log as a new chain, after its state was copied or restored."`
	JSON     bool `help:"Print JSON." name:"json"`
}

// Run ships what earlier bridges have left. It asks the fleet log also if it should have everything.
func (c shipDecisionsCmd) Run(out io.Writer) error {
	cfg, err := loadConfig()
	if err != nil {
		return err
	}
	sink, err := newSink(cfg)
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
	record := newLedger(cfg)
	defer func() { _ = record.Close() }() // what was acknowledged is on disk
	var r fleet.Result
	s, err := record.existing(ctx)
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
		return writeJSON(out, map[string]any{"location": sink.Location(), "sent": r.Acknowledged, "lost": r.Lost, "acknowledged": r.Head.Seq})
	}
	w := &printer{w: out}
	if r.Lost > 0 {
		w.line("%s had lost %d decisions that it had acknowledged", sink.Location(), r.Lost)
	}
	w.line("%d decisions sent; %s has acknowledged %d", r.Acknowledged, sink.Location(), r.Head.Seq)
	return w.err
}

// fleetSource is an argument with a fleet log: the address of a database, or a file with an export.
type fleetSource string

// database returns the fleet log in a database; nil if it is a file.
func (f fleetSource) database() (*fleet.Database, error) {
	address, key := string(f), "the address"
	if f == "" {
		cfg, err := loadConfig()
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
	return writeJSON(out, checkpoint)
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
		return writeJSON(out, map[string]any{"chains": now.Chains, "decisions": now.Decisions, "root": now.Root})
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
				if line, err = c.line(entry, telemetry.LogSource{Version: Version, Chain: e.Chain}); err != nil {
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
