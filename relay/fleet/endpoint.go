package fleet

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/relay/telemetry"
)

// Endpoint is a fleet log that takes OTLP logs over HTTP.
type Endpoint struct {
	collector *telemetry.Collector
	location  string
	version   string
}

// NewEndpoint returns the fleet log at an address that ends in telemetry.LogsPath. version is that of
// the bridge. It does not connect.
func NewEndpoint(address string, headers map[string]string, version string) (*Endpoint, error) {
	base, ok := strings.CutSuffix(address, telemetry.LogsPath)
	u, err := url.Parse(base)
	if err != nil || !ok {
		return nil, fmt.Errorf("fleet.url is not the address of an endpoint for logs; write https://host%s", telemetry.LogsPath)
	}
	collector, err := telemetry.NewCollector(base, headers)
	if err != nil {
		return nil, err
	}
	u.User = nil
	return &Endpoint{collector, u.String() + telemetry.LogsPath, version}, nil
}

// Location implements Sink.
func (e *Endpoint) Location() string { return e.location }

// Close implements Sink.
func (e *Endpoint) Close() {}

// Send implements Sink. The body of a record is the line of an export, and its
// attributes are the fields of OCSF.
func (e *Endpoint) Send(ctx context.Context, b Batch) (decision.Head, error) {
	if len(b.Entries) == 0 {
		return b.After, nil
	}
	records := make([]telemetry.LogRecord, len(b.Entries))
	for i, sealed := range b.Entries {
		entry, err := sealed.Entry()
		if err != nil {
			return b.After, err
		}
		records[i] = telemetry.DecisionRecord(entry, telemetry.LogSource{Version: e.version, Chain: b.Chain})
		records[i].Body = string(Entry{b.Chain, sealed}.Line())
	}
	resource := []attribute.KeyValue{
		attribute.String("service.name", "codex-bridge"), attribute.String("service.version", e.version),
		attribute.String("host.name", b.Sender.Host), attribute.String("user.name", b.Sender.User),
	}
	if err := e.collector.SendLogs(ctx, resource, e.version, records); err != nil {
		return b.After, fmt.Errorf("%s: %w", e.location, err)
	}
	return b.Entries[len(b.Entries)-1].Head, nil
}
