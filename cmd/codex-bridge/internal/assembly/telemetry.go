package assembly

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"os"

	"go.opentelemetry.io/otel"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/cmd/codex-bridge/internal/buildinfo"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/relay/telemetry"
)

// newTelemetry starts the export to a collector; nil if there is none.
func (a *Conversation) newTelemetry(bytes *bridge.ByteCounts) *telemetry.Telemetry {
	cfg, log := a.Cfg, a.log
	endpoint := configured.CollectorURL(cfg)
	if endpoint == "" {
		return nil
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("OpenTelemetry", "error", err) }))
	client, err := telemetry.NewCollector(endpoint, telemetry.ParseHeaders(os.Getenv(configured.EnvHeaders)))
	if err != nil {
		log.Warn("nothing is exported to an OpenTelemetry collector", "error", err)
		return nil
	}
	t, err := telemetry.New(telemetry.Options{
		Collector: client, Bytes: bytes, Service: cmp.Or(os.Getenv("OTEL_SERVICE_NAME"), "codex-bridge"), Version: buildinfo.Version, Instance: InstanceID(), Logs: cfg.Otel.Logs,
		Mode: func() string { return string(a.Guard.Policy().Mode()) },
		Codex: func() (string, bool) {
			version, err := a.Program.Version(context.Background())
			if err != nil {
				return "unknown", false
			}
			return version, codex.CompareVersions(version, methods.Measured) <= 0
		},
	})
	if err != nil {
		log.Warn("nothing is exported to an OpenTelemetry collector", "error", err)
		return nil
	}
	return t
}

// InstanceID returns a name that differs between the bridges of a machine, and between machines with equal
// names.
func InstanceID() string {
	host, _ := os.Hostname() // the rest suffices
	return host + "/" + rand.Text()[:8]
}

// exportingRecorder also exports the recorded decisions to a collector, without secrets.
type exportingRecorder struct {
	guard.Recorder
	telemetry *telemetry.Telemetry
	redacted  func(decision.Record) decision.Record
}

// Append implements guard.Recorder.
func (m exportingRecorder) Append(ctx context.Context, d decision.Record) error {
	err := m.Recorder.Append(ctx, d)
	if err == nil {
		m.telemetry.RecordDecision(m.redacted(d))
	}
	return err
}

// closeTelemetry exports the rest until ctx ends.
func closeTelemetry(ctx context.Context, t *telemetry.Telemetry, log *slog.Logger) {
	if err := t.Close(ctx); err != nil {
		log.Warn("some telemetry was not exported to the collector", "error", err)
	}
}
