package telemetry

import (
	"context"
	"strconv"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// metricExporter is a metric.Exporter to a Collector.
type metricExporter struct{ *Collector }

// Temporality implements metric.Exporter: counts go on from the start of the process.
func (metricExporter) Temporality(metric.InstrumentKind) metricdata.Temporality {
	return metricdata.CumulativeTemporality
}

// Aggregation implements metric.Exporter.
func (metricExporter) Aggregation(kind metric.InstrumentKind) metric.Aggregation {
	return metric.DefaultAggregationSelector(kind)
}

// Export implements metric.Exporter. It knows sums of whole numbers, and histograms.
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
	return m.post(ctx, "metrics", map[string]any{"resourceMetrics": []any{map[string]any{"resource": about(data.Resource), "scopeMetrics": scopes}}})
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
