package main

import (
	"cmp"
	"context"
	"log/slog"
	"net/url"
	"os"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/guard"
	"codex-bridge/bridge/store"
	"codex-bridge/relay/telemetry"

	"go.opentelemetry.io/otel"
)

// lastReport is how long a collector may hold up the end.
const lastReport = 2 * time.Second

// collector is the address that is told; "" nobody is.
func collector(cfg *config.Config) string {
	if cfg.Otel.Endpoint != "" {
		return cfg.Otel.Endpoint
	}
	if os.Getenv("OTEL_SDK_DISABLED") == "true" || os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL") == "grpc" {
		return ""
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
}

// newTelemetry starts what tells a collector; nil where there is none.
func newTelemetry(cfg *config.Config, bytes *bridge.ByteCounts, log *slog.Logger) *telemetry.Telemetry {
	endpoint := collector(cfg)
	if endpoint == "" {
		return nil
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("OpenTelemetry", "error", err) }))
	client, err := telemetry.NewCollector(endpoint, telemetry.ParseHeaders(os.Getenv("OTEL_EXPORTER_OTLP_HEADERS")))
	if err != nil {
		log.Warn("nothing is exported to an OpenTelemetry collector", "error", err)
		return nil
	}
	t, err := telemetry.New(telemetry.Options{Collector: client, Bytes: bytes, Service: cmp.Or(os.Getenv("OTEL_SERVICE_NAME"), "codex-bridge"), Version: Version})
	if err != nil {
		log.Warn("nothing is exported to an OpenTelemetry collector", "error", err)
		return nil
	}
	return t
}

// measured has a collector told of what is on record.
type measured struct {
	guard.Recorder
	telemetry *telemetry.Telemetry
}

// Append implements guard.Recorder.
func (m measured) Append(ctx context.Context, d store.Decision) error {
	err := m.Recorder.Append(ctx, d)
	if err == nil {
		m.telemetry.RecordDecision(d)
	}
	return err
}

// examineTelemetry tells who is told. It sends nothing.
func examineTelemetry(cfg *config.Config) []finding {
	endpoint := collector(cfg)
	if endpoint == "" {
		return nil
	}
	address, err := url.Parse(endpoint)
	if err == nil {
		_, err = telemetry.NewCollector(endpoint, nil)
	}
	if err != nil {
		return []finding{{"telemetry", warn, "nothing is told: the address of the collector is not one of HTTP", "write one such as http://localhost:4318 as otel.endpoint or OTEL_EXPORTER_OTLP_ENDPOINT"}}
	}
	return []finding{{"telemetry", fine, "turns, tools, hooks and decisions are told to " + address.Host + ", not what is said in them", ""}}
}

// closeTelemetry sends what is left.
func closeTelemetry(t *telemetry.Telemetry, log *slog.Logger) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastReport)
	defer cancel()
	if err := t.Close(ctx); err != nil {
		log.Warn("some telemetry was not exported to the collector", "error", err)
	}
}
