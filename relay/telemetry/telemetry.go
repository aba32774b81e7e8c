package telemetry

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/rpc"
)

// maxOpen is how many turns and items may be open. Codex never reports the end of some.
const maxOpen = 4096

// Options configure a Telemetry.
type Options struct {
	Collector *Collector
	Service   string // the value of service.name
	Version   string
	// Instance is the value of service.instance.id. It must differ between running bridges, because a collector
	// takes metrics with equal attributes for those of one process.
	Instance string
	Bytes    *bridge.ByteCounts // bytes of both directions; nil: not exported
	// Logs makes decisions OTLP logs too, with their rules and reasons.
	Logs bool
	// Mode is the policy's mode; nil: not exported.
	Mode func() string
	// Codex returns the version of Codex, and whether it is one that the bridge was tested with. An empty
	// version is not known yet. nil: not exported.
	Codex func() (version string, tested bool)
	Now   func() time.Time // nil: time.Now
}

// Telemetry exports traces and metrics. It is a bridge.Feature that changes no message.
type Telemetry struct {
	now    func() time.Time
	traces *sdktrace.TracerProvider
	meters *sdkmetric.MeterProvider
	tracer trace.Tracer
	logs   *decisionLogs // nil: decisions are only counted

	turns, decisions metric.Int64Counter
	inFlight         metric.Int64UpDownCounter
	turnDuration     metric.Float64Histogram
	toolDuration     metric.Float64Histogram
	hookDuration     metric.Float64Histogram

	mu   sync.Mutex
	open map[string]*openSpan // by thread and id
}

// openSpan is a turn or an item that has not ended.
type openSpan struct {
	ctx    context.Context // the parent context of child spans
	span   trace.Span
	start  time.Time
	isTurn bool
}

// New returns a Telemetry. The caller must call Close.
func New(o Options) (*Telemetry, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	names := []attribute.KeyValue{
		attribute.String("service.name", o.Service), attribute.String("service.version", o.Version), attribute.String("service.instance.id", o.Instance),
	}
	who := resource.NewSchemaless(names...)
	t := &Telemetry{
		now:    o.Now,
		traces: sdktrace.NewTracerProvider(sdktrace.WithResource(who), sdktrace.WithBatcher(spanExporter{Collector: o.Collector})),
		meters: sdkmetric.NewMeterProvider(sdkmetric.WithResource(who), sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metricExporter{Collector: o.Collector}))),
		open:   make(map[string]*openSpan),
	}
	t.tracer = t.traces.Tracer("codex-bridge", trace.WithInstrumentationVersion(o.Version))
	m := t.meters.Meter("codex-bridge", metric.WithInstrumentationVersion(o.Version))
	if o.Logs {
		t.logs = newDecisionLogs(o, names)
	}
	var errs [7]error
	t.turns, errs[0] = m.Int64Counter("codex_bridge.turns", metric.WithDescription("turns that have ended, by status"), metric.WithUnit("{turn}"))
	t.decisions, errs[1] = m.Int64Counter("codex_bridge.decisions", metric.WithDescription("requests that the policy changed or refused, by verdict"), metric.WithUnit("{decision}"))
	t.inFlight, errs[2] = m.Int64UpDownCounter("codex_bridge.turns.in_flight", metric.WithDescription("running turns"), metric.WithUnit("{turn}"))
	// in seconds: from a hook's milliseconds to a turn's minutes
	bounds := metric.WithExplicitBucketBoundaries(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800)
	t.turnDuration, errs[3] = m.Float64Histogram("codex_bridge.turn.duration", metric.WithUnit("s"), bounds)
	t.toolDuration, errs[4] = m.Float64Histogram("codex_bridge.tool.duration", metric.WithUnit("s"), bounds)
	t.hookDuration, errs[5] = m.Float64Histogram("codex_bridge.hook.duration", metric.WithUnit("s"), bounds)
	if o.Bytes != nil {
		_, errs[6] = m.Int64ObservableCounter("codex_bridge.bytes", metric.WithDescription("bytes received from the client and from codex"), metric.WithUnit("By"),
			metric.WithInt64Callback(func(_ context.Context, to metric.Int64Observer) error {
				to.Observe(o.Bytes.FromClient.Load(), metric.WithAttributes(attribute.String("from", "client")))
				to.Observe(o.Bytes.FromCodex.Load(), metric.WithAttributes(attribute.String("from", "codex")))
				return nil
			}))
	}
	return t, errors.Join(append(errs[:], t.observe(m, o)...)...)
}

// observe adds the metrics of states.
func (t *Telemetry) observe(m metric.Meter, o Options) (errs []error) {
	gauge := func(name, description string, observe func(add func(...attribute.KeyValue))) {
		_, err := m.Int64ObservableUpDownCounter(name, metric.WithDescription(description), metric.WithInt64Callback(func(_ context.Context, to metric.Int64Observer) error {
			observe(func(with ...attribute.KeyValue) { to.Observe(1, metric.WithAttributes(with...)) })
			return nil
		}))
		errs = append(errs, err)
	}
	if o.Mode != nil {
		gauge("codex_bridge.policy", "1 for each bridge, by the mode of its policy", func(add func(...attribute.KeyValue)) {
			add(attribute.String("mode", o.Mode()))
		})
	}
	if o.Codex != nil {
		gauge("codex_bridge.codex", "1 for each bridge, by the version of codex; tested is false for one that the bridge was not tested with", func(add func(...attribute.KeyValue)) {
			if version, tested := o.Codex(); version != "" {
				add(attribute.String("version", version), attribute.Bool("tested", tested))
			}
		})
	}
	if t.logs != nil {
		_, err := m.Int64ObservableCounter("codex_bridge.decision_logs", metric.WithDescription("decisions for the collector as logs, by outcome"), metric.WithUnit("{decision}"),
			metric.WithInt64Callback(func(_ context.Context, to metric.Int64Observer) error {
				exported, lost := t.logs.counts()
				to.Observe(exported, metric.WithAttributes(attribute.String("outcome", "exported")))
				to.Observe(lost, metric.WithAttributes(attribute.String("outcome", "lost")))
				return nil
			}))
		errs = append(errs, err)
	}
	return errs
}

// Close ends open spans and exports all pending data until ctx ends.
func (t *Telemetry) Close(ctx context.Context) error {
	t.mu.Lock()
	for key := range t.open {
		t.abandon(key, "the conversation ended")
	}
	t.mu.Unlock()
	var err error
	if t.logs != nil {
		err = t.logs.close(ctx)
	}
	return errors.Join(err, t.traces.Shutdown(ctx), t.meters.Shutdown(ctx))
}

// RecordDecision counts a logged decision, and queues it as a log.
func (t *Telemetry) RecordDecision(d decision.Record) {
	if t.logs != nil {
		t.logs.add(d)
	}
	t.decisions.Add(context.Background(), 1, metric.WithAttributes(
		attribute.String("verdict", d.Verdict), attribute.String("mode", d.Mode), attribute.String("method", d.Method)))
}

// startSpan starts a span with the given parent, if that is open.
func (t *Telemetry) startSpan(key, below, name string, turn bool, attributes ...attribute.KeyValue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[key] != nil {
		return
	}
	if len(t.open) >= maxOpen {
		t.abandon(t.oldest(), "codex did not report its end")
	}
	ctx := context.Background()
	if parent := t.open[below]; parent != nil {
		ctx = parent.ctx
	}
	o := &openSpan{start: t.now(), isTurn: turn}
	o.ctx, o.span = t.tracer.Start(ctx, name, trace.WithTimestamp(o.start), trace.WithAttributes(attributes...))
	t.open[key] = o
	if turn {
		t.inFlight.Add(ctx, 1)
	}
}

// oldest returns the key of the oldest open span. t.mu is held.
func (t *Telemetry) oldest() (key string) {
	for other, o := range t.open {
		if key == "" || o.start.Before(t.open[key].start) {
			key = other
		}
	}
	return key
}

// abandon ends a span that Codex did not end. t.mu is held.
func (t *Telemetry) abandon(key, why string) {
	o := t.open[key]
	delete(t.open, key)
	o.span.SetStatus(codes.Error, why)
	o.span.End(trace.WithTimestamp(t.now()))
	if o.isTurn {
		t.inFlight.Add(o.ctx, -1)
	}
}

// endSpan ends a span and returns its duration; ok is false if it was not started.
func (t *Telemetry) endSpan(key, status string) (time.Duration, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.open[key]
	if o == nil {
		return 0, false
	}
	delete(t.open, key)
	now := t.now()
	o.span.SetAttributes(attribute.String("status", status))
	if isFailure(status) {
		o.span.SetStatus(codes.Error, status)
	}
	o.span.End(trace.WithTimestamp(now))
	if o.isTurn {
		t.inFlight.Add(o.ctx, -1)
	}
	return now.Sub(o.start), true
}

func isFailure(status string) bool { return status == "failed" || status == "error" }

// Routes implements bridge.Feature.
func (t *Telemetry) Routes() []bridge.Route {
	route := func(method string, f func(params rpc.Value)) bridge.Route {
		return bridge.Route{From: bridge.Codex, Method: method, Why: "exported to OpenTelemetry", Required: func() bool { return true }, HandleServer: func(_ context.Context, msg *bridge.ServerMessage) {
			f(msg.Root().Get("params"))
		}}
	}
	return []bridge.Route{
		route("turn/started", t.turnStarted),
		route("turn/completed", t.turnCompleted),
		route("item/started", t.itemStarted),
		route("item/completed", t.itemCompleted),
		route("hook/completed", t.hookCompleted),
	}
}

// Stage implements bridge.Feature.
func (*Telemetry) Stage() bridge.Stage { return bridge.Last }

func turnKey(thread, turn string) string        { return "turn " + thread + " " + turn }
func itemKey(thread string, i rpc.Value) string { return "item " + thread + " " + text(i.Get("id")) }

func (t *Telemetry) turnStarted(params rpc.Value) {
	thread, turn := text(params.Get("threadId")), text(params.Get("turn").Get("id"))
	t.startSpan(turnKey(thread, turn), "", "turn", true, attribute.String("codex.thread.id", thread), attribute.String("codex.turn.id", turn))
}

func (t *Telemetry) turnCompleted(params rpc.Value) {
	turn := params.Get("turn")
	status := text(turn.Get("status"))
	took, ok := t.endSpan(turnKey(text(params.Get("threadId")), text(turn.Get("id"))), status)
	if !ok {
		return
	}
	with := metric.WithAttributes(attribute.String("status", status))
	t.turns.Add(context.Background(), 1, with)
	t.turnDuration.Record(context.Background(), took.Seconds(), with)
}

// toolNames are the names of the item types that run tools.
var toolNames = map[string]string{
	"commandExecution": "shell", "fileChange": "apply_patch", "mcpToolCall": "mcp", "dynamicToolCall": "dynamic", "webSearch": "web_search",
	"collabAgentToolCall": "agents", "imageView": "view_image", "imageGeneration": "image_generation",
}

func (t *Telemetry) itemStarted(params rpc.Value) {
	item := params.Get("item")
	kind := toolNames[text(item.Get("type"))]
	if kind == "" {
		return
	}
	thread := text(params.Get("threadId"))
	with := []attribute.KeyValue{attribute.String("tool", kind)}
	if name := text(item.Get("tool")); name != "" {
		with = append(with, attribute.String("tool.name", name))
	}
	t.startSpan(itemKey(thread, item), turnKey(thread, text(params.Get("turnId"))), "tool "+kind, false, with...)
}

func (t *Telemetry) itemCompleted(params rpc.Value) {
	item := params.Get("item")
	kind := toolNames[text(item.Get("type"))]
	if kind == "" {
		return
	}
	status := text(item.Get("status"))
	if took, ok := t.endSpan(itemKey(text(params.Get("threadId")), item), status); ok {
		t.toolDuration.Record(context.Background(), took.Seconds(), metric.WithAttributes(attribute.String("tool", kind), attribute.String("status", status)))
	}
}

// hookCompleted records a run from its end alone, because Codex reports the duration.
func (t *Telemetry) hookCompleted(params rpc.Value) {
	run := params.Get("run")
	event, status := text(run.Get("eventName")), text(run.Get("status"))
	ms, err := strconv.ParseInt(string(run.Get("durationMs").Raw()), 10, 64)
	if err != nil {
		return // still running
	}
	took := time.Duration(max(0, ms)) * time.Millisecond
	with := []attribute.KeyValue{attribute.String("event", event), attribute.String("status", status)}
	t.hookDuration.Record(context.Background(), took.Seconds(), metric.WithAttributes(with...))
	ctx := context.Background()
	t.mu.Lock()
	if turn := t.open[turnKey(text(params.Get("threadId")), text(params.Get("turnId")))]; turn != nil {
		ctx = turn.ctx
	}
	t.mu.Unlock()
	now := t.now()
	_, span := t.tracer.Start(ctx, "hook "+event, trace.WithTimestamp(now.Add(-took)), trace.WithAttributes(with...))
	if isFailure(status) {
		span.SetStatus(codes.Error, status)
	}
	span.End(trace.WithTimestamp(now))
}
