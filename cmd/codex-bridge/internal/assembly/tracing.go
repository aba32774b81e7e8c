package assembly

import (
	"context"
	"crypto/rand"
	"log/slog"
	"path/filepath"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/hello"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/relay/tools"
	"codex-bridge.example/relay/trace"
)

// TraceFolder returns the folder of the traces.
func TraceFolder() (string, error) {
	state, err := statefolder.Path()
	if err != nil {
		return "", err
	}
	return filepath.Join(state, trace.FolderName), nil
}

// newTrace starts the recorder of traces; nil if [trace] is off.
func newTrace(cfg *config.Config, sessionKey func(thread string) string, log *slog.Logger) (*trace.Recorder, error) {
	if !cfg.Trace.Enabled {
		return nil, nil
	}
	folder, err := TraceFolder()
	if err != nil {
		return nil, err
	}
	return trace.NewRecorder(trace.Options{
		Folder: folder, TraceID: rand.Text(), Secrets: configured.Setup.Secrets(cfg), Log: log,
		Limits: trace.Limits{Event: int(cfg.Trace.MaxEvent), File: int64(cfg.Trace.MaxFile)}, Keep: time.Duration(cfg.Trace.Keep),
		SessionKey: sessionKey,
	}), nil
}

// tracingRecorder also writes the recorded decisions to the trace.
type tracingRecorder struct {
	guard.Recorder
	trace *trace.Recorder
}

// Append implements guard.Recorder.
func (t tracingRecorder) Append(ctx context.Context, d decision.Record) error {
	err := t.Recorder.Append(ctx, d)
	if err == nil {
		t.trace.Decided(d)
	}
	return err
}

// timeouts returns a function that records timeouts of the host's tools in the trace.
func timeouts(r *trace.Recorder) tools.After {
	return func(_ context.Context, call tools.Call, answer tools.Answer) {
		if answer.Timeout > 0 {
			r.TimedOut(trace.Timeout{Thread: call.Thread, Turn: call.Turn, Call: call.ID, Tool: hookName(call), After: answer.Timeout})
		}
	}
}

// showTrace adds the trace to bridge/status.
func showTrace(hi *hello.Hello, cfg *config.Config, r *trace.Recorder) {
	hi.AddStatus("trace", func() any {
		status := map[string]any{"enabled": cfg.Trace.Enabled}
		if r != nil {
			status["dropped"] = r.Dropped()
		}
		return status
	})
}
