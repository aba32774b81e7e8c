package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
)

// HistoryCmd is the command "codex-bridge history".
type HistoryCmd struct {
	Search searchHistoryCmd `cmd:"" help:"Search the transcripts, the best match first; of 1,000 matches or more, the newest. Put the query in single quotes: words, \"a phrase\", -without." example:"codex-bridge history search 'migration -draft' --since 168h"`
}

type searchHistoryCmd struct {
	Query  []string `arg:"" help:"The query."`
	Thread string   `help:"Only records of a thread."`
	Since  TimeFlag `placeholder:"TIME" help:"Only records since a time (\"2026-03-01T09:00:00Z\") or for a duration (\"24h\")."`
	Kind   string   `help:"Only records of a kind: user, assistant, reasoning, plan, tool, compaction or gap."`
	Limit  int      `help:"The number of results, at most 1,000." default:"20"`
	JSON   bool     `help:"Print JSON." name:"json"`
}

const noHistory = "no transcripts; they are kept where the configuration has \"enabled = true\" under [transcript]"

func (c searchHistoryCmd) Run(out io.Writer) error {
	if c.Limit < 1 {
		return fmt.Errorf("--limit=%d: a number from 1", c.Limit)
	}
	if c.Kind != "" && !store.IsKind(c.Kind) {
		return fmt.Errorf("--kind=%s: one of %v", c.Kind, store.Kinds)
	}
	found := []store.Match{}
	empty := false
	err := decisionlog.ReadState(func(ctx context.Context, s *store.Store) error {
		all, err := s.Find(ctx, store.SearchOptions{Query: strings.Join(c.Query, " "), Thread: c.Thread, Kind: store.Kind(c.Kind), Since: c.Since.Time, Limit: c.Limit})
		found = append(found, all...)
		if err == nil && len(all) == 0 {
			n, countErr := s.CountRecords(ctx)
			empty, err = n == 0, countErr
		}
		return err
	})
	if empty = empty || errors.Is(err, store.ErrNotExist); err != nil && !empty {
		return err
	}
	switch {
	case c.JSON:
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(found)
	case empty:
		return output.PrintLine(out, noHistory)
	case len(found) == 0:
		return output.PrintLine(out, "no matches")
	}
	w := output.NewPrinter(out)
	for _, one := range found {
		kind := string(one.Kind)
		if one.Name != "" {
			kind += " " + one.Name
		}
		w.Line("%s  %s  %s\n    %s", one.Time.Local().Format(time.DateTime), display.Line(one.Thread), display.Line(kind), display.Line(one.Snippet))
	}
	return w.Failure()
}
