package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"codex-bridge.example/bridge/display"
)

// LogsPath ends the address of an endpoint for logs.
const LogsPath = "/v1/logs"

// LogRecord is one record of OTLP logs.
type LogRecord struct {
	Time       time.Time
	Warning    bool // the severity is WARN and not INFO
	Event      string
	Body       string
	Attributes []attribute.KeyValue
}

// SendLogs sends records and returns nil if the endpoint has accepted all of them. After an error it
// may have accepted some.
func (c *Collector) SendLogs(ctx context.Context, resource []attribute.KeyValue, version string, records []LogRecord) error {
	all := make([]any, len(records))
	for i, r := range records {
		severity, text := 9, "INFO"
		if r.Warning {
			severity, text = 13, "WARN"
		}
		all[i] = map[string]any{
			"timeUnixNano": nanos(r.Time), "observedTimeUnixNano": nanos(time.Now()), "severityNumber": severity, "severityText": text,
			"eventName": r.Event, "body": map[string]any{"stringValue": r.Body}, "attributes": attributes(r.Attributes),
		}
	}
	response, err := c.post(ctx, "logs", map[string]any{"resourceLogs": []any{map[string]any{
		"resource":  map[string]any{"attributes": attributes(resource)},
		"scopeLogs": []any{map[string]any{"scope": map[string]any{"name": "codex-bridge", "version": version}, "logRecords": all}},
	}}})
	if err != nil {
		return err
	}
	var result struct {
		PartialSuccess struct {
			Rejected any    `json:"rejectedLogRecords"` // a string, as OTLP says, or a number
			Message  string `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if len(response) > 0 && json.Unmarshal(response, &result) != nil { // such as a page for signing in
		return errors.New("the collector's response to logs is not JSON; the address may be another service's")
	}
	if rejected := fmt.Sprint(result.PartialSuccess.Rejected); rejected != "<nil>" && rejected != "0" {
		return fmt.Errorf("the collector rejected %s of %d logs: %s", rejected, len(records), strings.Join(strings.Fields(display.ClipTo(result.PartialSuccess.Message, maxText)), " "))
	}
	return nil
}
