package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/relay/trace"
)

type purgeCmd struct{}

// Run applies the keep settings of [trace] and [transcript], also if these are off now. It
// never purges the decision log.
func (purgeCmd) Run(out io.Writer) error {
	cfg, err := loadConfig()
	if err != nil {
		return err
	}
	now := time.Now()
	return errors.Join(purgeTraces(out, cfg, now), purgeAgents(out, cfg, now), purgeTranscripts(out, cfg, now))
}

func purgeTraces(out io.Writer, cfg *config.Config, now time.Time) error {
	keep := time.Duration(cfg.Trace.Keep)
	if keep == 0 {
		fmt.Fprintln(out, "traces       kept for good; see trace.keep")
		return nil
	}
	folder, err := traceFolder()
	if err != nil {
		return err
	}
	if _, err := os.Lstat(folder); err == nil {
		if err := store.EnsurePrivateFolder(folder); err != nil {
			return err // a link could lead to another user's files
		}
	}
	gone, err := trace.Purge(folder, now.Add(-keep))
	var bytes int64
	for _, f := range gone {
		bytes += f.Bytes
	}
	fmt.Fprintf(out, "traces       %d files of %d bytes are gone; what is written to in the last %s stays\n", len(gone), bytes, cfg.Trace.Keep)
	return err
}

// purgeAgents removes old logs of agents, with the retention of traces.
func purgeAgents(out io.Writer, cfg *config.Config, now time.Time) error {
	keep := time.Duration(cfg.Trace.Keep)
	if keep == 0 {
		return nil // purgeTraces has printed the reason
	}
	folder, err := store.Folder()
	if err != nil {
		return err
	}
	n, err := store.PurgeJournals(folder, agentLogs, now.Add(-keep))
	fmt.Fprintf(out, "agents       %d logs are gone; what is written to in the last %s stays\n", n, cfg.Trace.Keep)
	return err
}

func purgeTranscripts(out io.Writer, cfg *config.Config, now time.Time) error {
	keep := time.Duration(cfg.Transcript.Keep)
	if keep == 0 {
		fmt.Fprintln(out, "transcripts  kept for good; see transcript.keep")
		return nil
	}
	ctx := context.Background()
	read, err := openState(ctx, cfg, true) // creates no state
	if errors.Is(err, store.ErrNotExist) {
		fmt.Fprintln(out, "transcripts  none")
		return nil
	}
	if err != nil {
		return err
	}
	_ = read.Close()
	s, err := openState(ctx, cfg, false)
	if err != nil {
		return err
	}
	n, err := s.PurgeRecords(ctx, now.Add(-keep))
	fmt.Fprintf(out, "transcripts  %d records are gone; those of the last %s stay\n", n, cfg.Transcript.Keep)
	return errors.Join(err, s.Close())
}
