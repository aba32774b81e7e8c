package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/hello"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/relay/transcript"
)

// newTranscript starts the recorder of transcripts; nil if [transcript] is off.
func newTranscript(cfg *config.Config, record *ledger, log *slog.Logger) *transcript.Mirror {
	if !cfg.Transcript.Enabled {
		return nil
	}
	return transcript.New(transcript.Options{
		Store: record.store, Conversation: rand.Text(), MaxAge: time.Duration(cfg.Transcript.Keep), Secrets: setup.Secrets(cfg), Now: time.Now, Log: log,
	})
}

// showTranscript adds the transcript to bridge/status.
func showTranscript(hi *hello.Hello, cfg *config.Config, m *transcript.Mirror) {
	hi.AddStatus("transcript", func() any {
		status := map[string]any{"enabled": cfg.Transcript.Enabled}
		if m != nil {
			status["dropped"] = m.Dropped()
		}
		return status
	})
}

// examineTranscripts counts the records of transcripts, if these are on.
func examineTranscripts(cfg *config.Config) []finding {
	if !cfg.Transcript.Enabled {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := openState(ctx, cfg, true)
	if errors.Is(err, store.ErrNotExist) {
		return []finding{{"transcripts", fine, "none yet", ""}}
	}
	if err != nil {
		return nil // examineState reports it
	}
	defer func() { _ = s.Close() }()
	n, err := s.CountRecords(ctx)
	if err != nil {
		return []finding{{"transcripts", broken, problem.Text(err), "no transcript is kept or found until this is fixed"}}
	}
	return []finding{{"transcripts", fine, fmt.Sprintf("%d records; prompts and answers are in them", n), ""}}
}
