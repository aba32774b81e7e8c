package telemetry

import (
	"context"
	"strconv"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/rpc"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Routes implements bridge.Feature.
func (t *Telemetry) Routes() []bridge.Route {
	route := func(method string, f func(params rpc.Value)) bridge.Route {
		return bridge.Route{From: bridge.Codex, Method: method, Why: "for OpenTelemetry", Required: func() bool { return true }, HandleServer: func(_ context.Context, said *bridge.ServerMessage) {
			f(said.Root().Get("params"))
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

func turnKey(thread, turn string) string        { return "turn " + thread + " " + turn }
func itemKey(thread string, i rpc.Value) string { return "item " + thread + " " + text(i.Get("id")) }

func (t *Telemetry) turnStarted(params rpc.Value) {
	thread, turn := text(params.Get("threadId")), text(params.Get("turn").Get("id"))
	t.begin(turnKey(thread, turn), "", "turn", true, attribute.String("codex.thread.id", thread), attribute.String("codex.turn.id", turn))
}

func (t *Telemetry) turnCompleted(params rpc.Value) {
	turn := params.Get("turn")
	status := text(turn.Get("status"))
	took, ok := t.end(turnKey(text(params.Get("threadId")), text(turn.Get("id"))), status)
	if !ok {
		return
	}
	with := metric.WithAttributes(attribute.String("status", status))
	t.turns.Add(context.Background(), 1, with)
	t.turnTook.Record(context.Background(), took.Seconds(), with)
}

// tools are the items that do something, and what they are called.
var tools = map[string]string{
	"commandExecution": "shell", "fileChange": "apply_patch", "mcpToolCall": "mcp", "dynamicToolCall": "dynamic", "webSearch": "web_search",
	"collabAgentToolCall": "agents", "imageView": "view_image", "imageGeneration": "image_generation",
}

func (t *Telemetry) itemStarted(params rpc.Value) {
	item := params.Get("item")
	kind := tools[text(item.Get("type"))]
	if kind == "" {
		return
	}
	thread := text(params.Get("threadId"))
	with := []attribute.KeyValue{attribute.String("tool", kind)}
	if name := text(item.Get("tool")); name != "" {
		with = append(with, attribute.String("tool.name", name))
	}
	t.begin(itemKey(thread, item), turnKey(thread, text(params.Get("turnId"))), "tool "+kind, false, with...)
}

func (t *Telemetry) itemCompleted(params rpc.Value) {
	item := params.Get("item")
	kind := tools[text(item.Get("type"))]
	if kind == "" {
		return
	}
	status := text(item.Get("status"))
	if took, ok := t.end(itemKey(text(params.Get("threadId")), item), status); ok {
		t.toolTook.Record(context.Background(), took.Seconds(), metric.WithAttributes(attribute.String("tool", kind), attribute.String("status", status)))
	}
}

// hookCompleted has all that there is to say of a run: Codex tells how long it took.
func (t *Telemetry) hookCompleted(params rpc.Value) {
	run := params.Get("run")
	event, status := text(run.Get("eventName")), text(run.Get("status"))
	ms, err := strconv.ParseInt(string(run.Get("durationMs").Raw()), 10, 64)
	if err != nil {
		return // it is being run
	}
	took := time.Duration(max(0, ms)) * time.Millisecond
	with := []attribute.KeyValue{attribute.String("event", event), attribute.String("status", status)}
	t.hookTook.Record(context.Background(), took.Seconds(), metric.WithAttributes(with...))
	ctx := context.Background()
	t.mu.Lock()
	if turn := t.open[turnKey(text(params.Get("threadId")), text(params.Get("turnId")))]; turn != nil {
		ctx = turn.ctx
	}
	t.mu.Unlock()
	now := t.now()
	_, span := t.tracer.Start(ctx, "hook "+event, trace.WithTimestamp(now.Add(-took)), trace.WithAttributes(with...))
	if failed(status) {
		span.SetStatus(codes.Error, status)
	}
	span.End(trace.WithTimestamp(now))
}
