package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net/url"
	"os"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/relay/telemetry"

	"go.opentelemetry.io/otel"
)

// envHeaders is the variable of OpenTelemetry with the headers for a collector.
const envHeaders = "OTEL_EXPORTER_OTLP_HEADERS"

// collectorURL returns the address of the OpenTelemetry collector; "" if there is none.
func collectorURL(cfg *config.Config) string {
	if cfg.Otel.Endpoint != "" {
		return cfg.Otel.Endpoint
	}
	if os.Getenv("OTEL_SDK_DISABLED") == "true" || os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL") == "grpc" {
		return ""
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
}

// newTelemetry starts the export to a collector; nil if there is none.
func (a *assembly) newTelemetry(bytes *bridge.ByteCounts) *telemetry.Telemetry {
	cfg, log := a.cfg, a.log
	endpoint := collectorURL(cfg)
	if endpoint == "" {
		return nil
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("OpenTelemetry", "error", err) }))
	client, err := telemetry.NewCollector(endpoint, telemetry.ParseHeaders(os.Getenv(envHeaders)))
	if err != nil {
		log.Warn("nothing is exported to an OpenTelemetry collector", "error", err)
		return nil
	}
	t, err := telemetry.New(telemetry.Options{
		Collector: client, Bytes: bytes, Service: cmp.Or(os.Getenv("OTEL_SERVICE_NAME"), "codex-bridge"), Version: Version, Instance: instanceID(), Logs: cfg.Otel.Logs,
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

// instanceID returns a name that differs between the bridges of a machine, and between machines with equal
// names.
func instanceID() string {
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

// examineTelemetry checks the address of the collector. It sends nothing.
func examineTelemetry(cfg *config.Config) []finding {
	endpoint := collectorURL(cfg)
	if endpoint == "" {
		return nil
	}
	address, err := url.Parse(endpoint)
	if err == nil {
		_, err = telemetry.NewCollector(endpoint, nil)
	}
	if err != nil {
		return []finding{{"telemetry", warn, "nothing is exported: the address of the collector is no HTTP URL", "set an address such as http://localhost:4318 as otel.endpoint or OTEL_EXPORTER_OTLP_ENDPOINT"}}
	}
	logs := ""
	if cfg.Otel.Logs {
		logs = "; decisions also as logs, with rules and reasons"
	}
	return []finding{{"telemetry", fine, "turns, tools, hooks and decisions are exported to " + address.Host + ", without their contents" + logs, ""}}
}

// closeTelemetry exports the rest until ctx ends.
func closeTelemetry(ctx context.Context, t *telemetry.Telemetry, log *slog.Logger) {
	if err := t.Close(ctx); err != nil {
		log.Warn("some telemetry was not exported to the collector", "error", err)
	}
}
