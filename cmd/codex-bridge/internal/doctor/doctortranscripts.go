package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
)

// examineTranscripts counts the records of transcripts, if these are on.
func examineTranscripts(cfg *config.Config) []finding {
	if !cfg.Transcript.Enabled {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := decisionlog.OpenState(ctx, cfg, true)
	if errors.Is(err, store.ErrNotExist) {
		return []finding{{"transcripts", Fine, "none yet", ""}}
	}
	if err != nil {
		return nil // examineState reports it
	}
	defer func() { _ = s.Close() }()
	n, err := s.CountRecords(ctx)
	if err != nil {
		return []finding{{"transcripts", Broken, problem.Text(err), "no transcript is kept or found until this is fixed"}}
	}
	return []finding{{"transcripts", Fine, fmt.Sprintf("%d records; prompts and answers are in them", n), ""}}
}
