package telemetry

import (
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
)

// The JSON form of OTLP: numbers of 64 bits are texts, ids are hexadecimal.

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
		default:
			value = map[string]any{"stringValue": one.Value.String()}
		}
		all = append(all, keyValue{string(one.Key), value})
	}
	return all
}

func about(r *resource.Resource) map[string]any {
	return map[string]any{"attributes": attributes(r.Attributes())}
}

func scope(s instrumentation.Scope) map[string]any {
	return map[string]any{"name": s.Name, "version": s.Version}
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
