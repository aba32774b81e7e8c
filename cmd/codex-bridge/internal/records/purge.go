package records

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/assembly"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/relay/trace"
)

// PurgeCmd is the command "codex-bridge purge".
type PurgeCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

// purged is the result for one kind of data: traces, logs of agents or transcripts. The JSON names are stable.
type purged struct {
	kind    string // of files or records
	Removed int64  `json:"removed"`
	Bytes   int64  `json:"bytes,omitempty"`
	Keep    string `json:"keep,omitempty"` // empty: kept for good
	setting string // which sets Keep
}

// Run applies the keep settings of [trace] and [transcript], also if these are off now. It
// never purges the decision log.
func (c PurgeCmd) Run(out io.Writer) error {
	cfg, err := configured.Load()
	if err != nil {
		return err
	}
	w, now, all := output.NewPrinter(out), time.Now(), make(map[string]purged)
	for _, one := range []struct {
		name  string
		keep  config.Duration
		purge func(*config.Config, *purged, time.Time) error
		purged
	}{
		{"traces", cfg.Trace.Keep, purgeTraces, purged{kind: "files", setting: "trace.keep"}},
		{"agents", cfg.Trace.Keep, purgeAgents, purged{kind: "logs", setting: "trace.keep"}},
		{"transcripts", cfg.Transcript.Keep, purgeTranscripts, purged{kind: "records", setting: "transcript.keep"}},
	} {
		if one.keep != 0 {
			one.Keep = one.keep.String()
			err = errors.Join(err, one.purge(cfg, &one.purged, now.Add(-time.Duration(one.keep))))
		}
		all[one.name] = one.purged
		switch {
		case c.JSON:
		case one.Keep == "":
			w.Line("%-11s  kept for good; see %s", one.name, one.setting)
		default:
			size := ""
			if one.Bytes > 0 {
				size = fmt.Sprintf(", %d bytes", one.Bytes)
			}
			w.Line("%-11s  %d %s removed%s; those of the last %s stay", one.name, one.Removed, one.kind, size, one.Keep)
		}
	}
	if c.JSON {
		err = errors.Join(err, output.WriteJSON(out, all))
	}
	return errors.Join(err, w.Failure())
}

func purgeTraces(_ *config.Config, p *purged, before time.Time) error {
	folder, err := assembly.TraceFolder()
	if err != nil {
		return err
	}
	if _, err := os.Lstat(folder); err == nil {
		if err := statefolder.Ensure(folder); err != nil {
			return err // a link could lead to another user's files
		}
	}
	gone, err := trace.Purge(folder, before)
	for _, f := range gone {
		p.Bytes += f.Bytes
	}
	p.Removed = int64(len(gone))
	return err
}

// purgeAgents removes old logs of agents, with the retention of traces.
func purgeAgents(_ *config.Config, p *purged, before time.Time) error {
	folder, err := statefolder.Path()
	if err != nil {
		return err
	}
	n, err := store.PurgeJournals(folder, assembly.AgentLogs, before)
	p.Removed = int64(n)
	return err
}

func purgeTranscripts(cfg *config.Config, p *purged, before time.Time) error {
	ctx := context.Background()
	read, err := decisionlog.OpenState(ctx, cfg, true) // creates no state
	if errors.Is(err, store.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_ = read.Close()
	s, err := decisionlog.OpenState(ctx, cfg, false)
	if err != nil {
		return err
	}
	n, err := s.PurgeRecords(ctx, before)
	p.Removed = n
	return errors.Join(err, s.Close())
}
