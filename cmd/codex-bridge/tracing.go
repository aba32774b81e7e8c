package main

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/guard"
	"codex-bridge/bridge/hello"
	"codex-bridge/bridge/store"
	"codex-bridge/relay/redact"
	"codex-bridge/relay/telemetry"
	"codex-bridge/relay/tools"
	"codex-bridge/relay/trace"
)

// traceFolder is where the traces are.
func traceFolder() (string, error) {
	state, err := store.Folder()
	if err != nil {
		return "", err
	}
	return filepath.Join(state, trace.FolderName), nil
}

// newTrace starts what writes traces; nil where [trace] does not say so.
func newTrace(cfg *config.Config, sessionKey func(thread string) string, log *slog.Logger) (*trace.Recorder, error) {
	if !cfg.Trace.Enabled {
		return nil, nil
	}
	folder, err := traceFolder()
	if err != nil {
		return nil, err
	}
	return trace.NewRecorder(trace.Options{
		Folder: folder, TraceID: rand.Text(), Secrets: secrets(cfg), Log: log,
		Limits: trace.Limits{Event: int(cfg.Trace.MaxEvent), File: int64(cfg.Trace.MaxFile)}, Keep: time.Duration(cfg.Trace.Keep),
		SessionKey: sessionKey,
	}), nil
}

// secrets are the texts that are known to be ones: of the environment, by its names, of what
// the configuration adds to codex's, the tokens of tool servers, the database's password, and
// the keys for a collector, which are no words.
func secrets(cfg *config.Config) []string {
	environ := os.Environ()
	for name, value := range cfg.Codex.Env {
		environ = append(environ, name+"="+value)
	}
	for _, s := range cfg.ToolServers {
		if s.BearerTokenEnv != "" {
			environ = append(environ, "TOKEN="+os.Getenv(s.BearerTokenEnv))
		}
	}
	if address, err := url.Parse(cfg.Store.URL); err == nil && address.User != nil {
		password, _ := address.User.Password()
		environ = append(environ, "PASSWORD="+password)
	}
	for _, value := range telemetry.ParseHeaders(os.Getenv("OTEL_EXPORTER_OTLP_HEADERS")) {
		words := strings.Fields(value) // "Bearer", for one, is known
		if len(words) > 0 && strings.ContainsAny(value, "0123456789") {
			environ = append(environ, "TOKEN="+words[len(words)-1])
		}
	}
	return redact.EnvironSecrets(environ)
}

// traced has a trace told of what is on record.
type traced struct {
	guard.Recorder
	trace *trace.Recorder
}

// Append implements guard.Recorder.
func (t traced) Append(ctx context.Context, d store.Decision) error {
	err := t.Recorder.Append(ctx, d)
	if err == nil {
		t.trace.Decided(d)
	}
	return err
}

// timeouts has a trace record the tools of the host that had no result in time.
func timeouts(r *trace.Recorder) tools.After {
	return func(_ context.Context, call tools.Call, answer tools.Answer) {
		if answer.Timeout > 0 {
			r.TimedOut(trace.Timeout{Thread: call.Thread, Turn: call.Turn, Call: call.ID, Tool: hookName(call), After: answer.Timeout})
		}
	}
}

// showTrace has bridge/status show the trace.
func showTrace(hi *hello.Hello, cfg *config.Config, r *trace.Recorder) {
	hi.AddStatus("trace", func() any {
		status := map[string]any{"enabled": cfg.Trace.Enabled}
		if r != nil {
			status["dropped"] = r.Dropped()
		}
		return status
	})
}
