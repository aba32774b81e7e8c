package telemetry

import (
	"context"
	"errors"
	"sync"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/store"
	"codex-bridge/rpc"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// mostOpen bounds the turns and items that are under way. Of some the end is never told.
const mostOpen = 4096

// Options are what a Telemetry is made of.
type Options struct {
	Client  *Collector
	Service string // the name that the collector knows us by
	Version string
	Bytes   *bridge.ByteCounts // what the two sides have said; nil: it is not counted
	Now     func() time.Time   // nil: time.Now
}

// Telemetry is a bridge.Feature that changes no message.
type Telemetry struct {
	now    func() time.Time
	traces *sdktrace.TracerProvider
	meters *sdkmetric.MeterProvider
	tracer trace.Tracer

	turns, decisions metric.Int64Counter
	inFlight         metric.Int64UpDownCounter
	turnTook         metric.Float64Histogram
	toolTook         metric.Float64Histogram
	hookTook         metric.Float64Histogram

	mu   sync.Mutex
	open map[string]*open // turns and items, by thread and id
}

// open is a turn or an item that has not ended.
type open struct {
	ctx   context.Context // of its children
	span  trace.Span
	began time.Time
	turn  bool
}

// New makes a Telemetry.
func New(o Options) (*Telemetry, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	who := resource.NewSchemaless(attribute.String("service.name", o.Service), attribute.String("service.version", o.Version))
	t := &Telemetry{
		now:    o.Now,
		traces: sdktrace.NewTracerProvider(sdktrace.WithResource(who), sdktrace.WithBatcher(spanExporter{Collector: o.Client})),
		meters: sdkmetric.NewMeterProvider(sdkmetric.WithResource(who), sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metricExporter{Collector: o.Client}))),
		open:   make(map[string]*open),
	}
	t.tracer = t.traces.Tracer("codex-bridge", trace.WithInstrumentationVersion(o.Version))
	m := t.meters.Meter("codex-bridge", metric.WithInstrumentationVersion(o.Version))
	var errs [7]error
	t.turns, errs[0] = m.Int64Counter("codex_bridge.turns", metric.WithDescription("turns that have ended, by status"), metric.WithUnit("{turn}"))
	t.decisions, errs[1] = m.Int64Counter("codex_bridge.decisions", metric.WithDescription("what the policy changed or refused, by verdict"), metric.WithUnit("{decision}"))
	t.inFlight, errs[2] = m.Int64UpDownCounter("codex_bridge.turns.in_flight", metric.WithDescription("turns under way"), metric.WithUnit("{turn}"))
	// Seconds, with bounds from a hook's milliseconds to a turn's minutes.
	bounds := metric.WithExplicitBucketBoundaries(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800)
	t.turnTook, errs[3] = m.Float64Histogram("codex_bridge.turn.duration", metric.WithUnit("s"), bounds)
	t.toolTook, errs[4] = m.Float64Histogram("codex_bridge.tool.duration", metric.WithUnit("s"), bounds)
	t.hookTook, errs[5] = m.Float64Histogram("codex_bridge.hook.duration", metric.WithUnit("s"), bounds)
	if o.Bytes != nil {
		_, errs[6] = m.Int64ObservableCounter("codex_bridge.bytes", metric.WithDescription("what client and codex have said"), metric.WithUnit("By"),
			metric.WithInt64Callback(func(_ context.Context, to metric.Int64Observer) error {
				to.Observe(o.Bytes.FromClient.Load(), metric.WithAttributes(attribute.String("from", "client")))
				to.Observe(o.Bytes.FromCodex.Load(), metric.WithAttributes(attribute.String("from", "codex")))
				return nil
			}))
	}
	return t, errors.Join(errs[:]...)
}

// Close sends what is left, as long as ctx lasts.
func (t *Telemetry) Close(ctx context.Context) error {
	t.mu.Lock()
	for key := range t.open {
		t.giveUp(key, "the conversation ended")
	}
	t.mu.Unlock()
	return errors.Join(t.traces.Shutdown(ctx), t.meters.Shutdown(ctx))
}

// Decided is told what is on record.
func (t *Telemetry) Decided(d store.Decision) {
	t.decisions.Add(context.Background(), 1, metric.WithAttributes(
		attribute.String("verdict", d.Verdict), attribute.String("mode", d.Mode), attribute.String("method", d.Method)))
}

// begin opens a span below another one, if that is known.
func (t *Telemetry) begin(key, below, name string, turn bool, attributes ...attribute.KeyValue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[key] != nil {
		return
	}
	if len(t.open) >= mostOpen {
		t.giveUp(t.oldest(), "its end was not told")
	}
	ctx := context.Background()
	if parent := t.open[below]; parent != nil {
		ctx = parent.ctx
	}
	o := &open{began: t.now(), turn: turn}
	o.ctx, o.span = t.tracer.Start(ctx, name, trace.WithTimestamp(o.began), trace.WithAttributes(attributes...))
	t.open[key] = o
	if turn {
		t.inFlight.Add(ctx, 1)
	}
}

// oldest is what has been open for longest. t.mu is held.
func (t *Telemetry) oldest() (key string) {
	for other, o := range t.open {
		if key == "" || o.began.Before(t.open[key].began) {
			key = other
		}
	}
	return key
}

// giveUp ends a span of which nothing more will be heard. t.mu is held.
func (t *Telemetry) giveUp(key, why string) {
	o := t.open[key]
	delete(t.open, key)
	o.span.SetStatus(codes.Error, why)
	o.span.End(trace.WithTimestamp(t.now()))
	if o.turn {
		t.inFlight.Add(o.ctx, -1)
	}
}

// end ends a span, and tells how long it took; false: nobody saw it begin.
func (t *Telemetry) end(key, status string) (time.Duration, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.open[key]
	if o == nil {
		return 0, false
	}
	delete(t.open, key)
	now := t.now()
	o.span.SetAttributes(attribute.String("status", status))
	if failed(status) {
		o.span.SetStatus(codes.Error, status)
	}
	o.span.End(trace.WithTimestamp(now))
	if o.turn {
		t.inFlight.Add(o.ctx, -1)
	}
	return now.Sub(o.began), true
}

func failed(status string) bool { return status == "failed" || status == "error" }

func text(v rpc.Value) string {
	s, _ := v.Text()
	return s
}
