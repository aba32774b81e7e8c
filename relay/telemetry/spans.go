package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
)

// spanExporter is a trace.SpanExporter to a Collector.
type spanExporter struct{ *Collector }

type span struct {
	TraceID    string         `json:"traceId"`
	SpanID     string         `json:"spanId"`
	Parent     string         `json:"parentSpanId,omitempty"`
	Name       string         `json:"name"`
	Kind       int            `json:"kind"`
	Start      string         `json:"startTimeUnixNano"`
	End        string         `json:"endTimeUnixNano"`
	Attributes []keyValue     `json:"attributes"`
	Status     map[string]any `json:"status"`
}

// ExportSpans implements trace.SpanExporter. All spans are those of one provider and one
// scope.
func (s spanExporter) ExportSpans(ctx context.Context, list []trace.ReadOnlySpan) error {
	if len(list) == 0 {
		return nil
	}
	all := make([]span, len(list))
	for i, one := range list {
		all[i] = span{
			TraceID: one.SpanContext().TraceID().String(), SpanID: one.SpanContext().SpanID().String(), Name: one.Name(), Kind: int(one.SpanKind()),
			Start: nanos(one.StartTime()), End: nanos(one.EndTime()), Attributes: attributes(one.Attributes()), Status: map[string]any{},
		}
		if one.Parent().HasSpanID() {
			all[i].Parent = one.Parent().SpanID().String()
		}
		switch one.Status().Code {
		case codes.Ok:
			all[i].Status["code"] = 1
		case codes.Error:
			all[i].Status["code"], all[i].Status["message"] = 2, one.Status().Description
		}
	}
	return s.post(ctx, "traces", map[string]any{"resourceSpans": []any{map[string]any{
		"resource":   about(list[0].Resource()),
		"scopeSpans": []any{map[string]any{"scope": scope(list[0].InstrumentationScope()), "spans": all}},
	}}})
}

// Shutdown implements trace.SpanExporter.
func (s spanExporter) Shutdown(context.Context) error { return nil }
