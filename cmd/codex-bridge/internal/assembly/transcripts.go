package assembly

import (
	"crypto/rand"
	"log/slog"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/hello"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
	"codex-bridge.example/relay/transcript"
)

// newTranscript starts the recorder of transcripts; nil if [transcript] is off.
func newTranscript(cfg *config.Config, record *decisionlog.Log, log *slog.Logger) *transcript.Mirror {
	if !cfg.Transcript.Enabled {
		return nil
	}
	return transcript.New(transcript.Options{
		Store: record.Store, Conversation: rand.Text(), MaxAge: time.Duration(cfg.Transcript.Keep), Secrets: configured.Setup.Secrets(cfg), Now: time.Now, Log: log,
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
