package telemetry

import (
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

// spanExporter is a trace.SpanExporter that sends to a Collector.
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

// ExportSpans implements trace.SpanExporter. All spans have one resource and one scope.
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
	_, err := s.post(ctx, "traces", map[string]any{"resourceSpans": []any{map[string]any{
		"resource":   resourceAttributes(list[0].Resource()),
		"scopeSpans": []any{map[string]any{"scope": scope(list[0].InstrumentationScope()), "spans": all}},
	}}})
	return err
}

// Shutdown implements trace.SpanExporter.
func (s spanExporter) Shutdown(context.Context) error { return nil }

// metricExporter is a metric.Exporter that sends to a Collector.
type metricExporter struct{ *Collector }

// Temporality implements metric.Exporter: values are totals since the start of the process.
func (metricExporter) Temporality(metric.InstrumentKind) metricdata.Temporality {
	return metricdata.CumulativeTemporality
}

// Aggregation implements metric.Exporter.
func (metricExporter) Aggregation(kind metric.InstrumentKind) metric.Aggregation {
	return metric.DefaultAggregationSelector(kind)
}

// Export implements metric.Exporter. It exports integer sums and histograms.
func (m metricExporter) Export(ctx context.Context, data *metricdata.ResourceMetrics) error {
	var scopes []any
	for _, s := range data.ScopeMetrics {
		var all []any
		for _, one := range s.Metrics {
			metric := map[string]any{"name": one.Name, "description": one.Description, "unit": one.Unit}
			switch v := one.Data.(type) {
			case metricdata.Sum[int64]:
				metric["sum"] = map[string]any{"dataPoints": sums(v), "aggregationTemporality": 2, "isMonotonic": v.IsMonotonic}
			case metricdata.Histogram[float64]:
				metric["histogram"] = map[string]any{"dataPoints": histograms(v), "aggregationTemporality": 2}
			default:
				continue
			}
			all = append(all, metric)
		}
		scopes = append(scopes, map[string]any{"scope": scope(s.Scope), "metrics": all})
	}
	if len(scopes) == 0 {
		return nil
	}
	_, err := m.post(ctx, "metrics", map[string]any{"resourceMetrics": []any{map[string]any{"resource": resourceAttributes(data.Resource), "scopeMetrics": scopes}}})
	return err
}

func sums(v metricdata.Sum[int64]) []any {
	points := []any{}
	for _, p := range v.DataPoints {
		points = append(points, map[string]any{
			"attributes": attributes(p.Attributes.ToSlice()), "startTimeUnixNano": nanos(p.StartTime), "timeUnixNano": nanos(p.Time),
			"asInt": strconv.FormatInt(p.Value, 10),
		})
	}
	return points
}

func histograms(v metricdata.Histogram[float64]) []any {
	points := []any{}
	for _, p := range v.DataPoints {
		counts := make([]string, len(p.BucketCounts))
		for i, n := range p.BucketCounts {
			counts[i] = strconv.FormatUint(n, 10)
		}
		points = append(points, map[string]any{
			"attributes": attributes(p.Attributes.ToSlice()), "startTimeUnixNano": nanos(p.StartTime), "timeUnixNano": nanos(p.Time),
			"count": strconv.FormatUint(p.Count, 10), "sum": p.Sum, "bucketCounts": counts, "explicitBounds": p.Bounds,
		})
	}
	return points
}

// ForceFlush implements metric.Exporter.
func (metricExporter) ForceFlush(context.Context) error { return nil }

// Shutdown implements metric.Exporter.
func (metricExporter) Shutdown(context.Context) error { return nil }

// Types of OTLP's JSON encoding: 64-bit integers are strings, ids are hexadecimal.

type keyValue struct {
	Key   string         `json:"key"`
	Value map[string]any `json:"value"`
}

func attributes(list []attribute.KeyValue) []keyValue {
	all := make([]keyValue, 0, len(list))
	for _, one := range list {
		var value map[string]any
		switch one.Value.Type() {
		case attribute.BOOL:
			value = map[string]any{"boolValue": one.Value.AsBool()}
		case attribute.INT64:
			value = map[string]any{"intValue": strconv.FormatInt(one.Value.AsInt64(), 10)}
		case attribute.FLOAT64:
			value = map[string]any{"doubleValue": one.Value.AsFloat64()}
		case attribute.STRINGSLICE:
			values := []any{}
			for _, text := range one.Value.AsStringSlice() {
				values = append(values, map[string]any{"stringValue": text})
			}
			value = map[string]any{"arrayValue": map[string]any{"values": values}}
		default:
			value = map[string]any{"stringValue": one.Value.String()}
		}
		all = append(all, keyValue{string(one.Key), value})
	}
	return all
}

func resourceAttributes(r *resource.Resource) map[string]any {
	return map[string]any{"attributes": attributes(r.Attributes())}
}

func scope(s instrumentation.Scope) map[string]any {
	return map[string]any{"name": s.Name, "version": s.Version}
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
