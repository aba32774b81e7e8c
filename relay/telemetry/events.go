package telemetry

import (
	"context"
	"encoding/json"
	"strings"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/rpc"
)

// EventFeature reports hook runs, compactions and reviews. It is a bridge.Feature and comes
// after the features that act on those messages. It parses nothing while the events are not
// wanted, and changes no message. A notification that the client has opted out of does not
// arrive.
type EventFeature struct {
	ownSource     string // the source of the bridge's hooks
	wanted        func() bool
	report        func(Event)
	compactedTurn string // the turn of the last compaction that was reported as an item
}

// NewEventFeature returns an EventFeature. ownSource is Codex's name of the file with the
// bridge's hooks. wanted is called for every message. report is called in Codex's order,
// from one goroutine; Codex's messages wait until it returns.
func NewEventFeature(ownSource string, wanted func() bool, report func(Event)) *EventFeature {
	return &EventFeature{ownSource: ownSource, wanted: wanted, report: report}
}

var isCompaction = bridge.MatchItemType("contextCompaction")

// Routes implements bridge.Feature.
func (f *EventFeature) Routes() []bridge.Route {
	route := func(method, why string, read func(rpc.Value) (Event, bool)) bridge.Route {
		return bridge.Route{
			From: bridge.Codex, Method: method, Why: why, When: f.wanted,
			HandleServer: func(_ context.Context, msg *bridge.ServerMessage) { f.observe(msg, read) },
		}
	}
	item := func(method string) bridge.Route {
		r := route(method, "counted for bridge/status", f.parseCompaction)
		r.Match = isCompaction
		return r
	}
	const why = "counted for bridge/status"
	return []bridge.Route{
		route("hook/started", why, f.parseHook),
		route("hook/completed", why, f.parseHook),
		item("item/started"),
		item("item/completed"),
		route("thread/compacted", why, f.parseThreadCompacted),
		route("item/autoApprovalReview/started", why, parseReview),
		route("item/autoApprovalReview/completed", why, parseReview),
	}
}

// Stage implements bridge.Feature.
func (*EventFeature) Stage() bridge.Stage { return bridge.AfterGuard }

// observe reports the event of a message. It is also called for messages that only another
// feature wants.
func (f *EventFeature) observe(msg *bridge.ServerMessage, read func(rpc.Value) (Event, bool)) {
	if !f.wanted() {
		return
	}
	params := msg.Root().Get("params")
	e, ok := read(params)
	if !ok {
		return
	}
	e.ThreadID, e.TurnID = text(params.Get("threadId")), text(params.Get("turnId"))
	f.report(e)
}

// parseHook parses hook/started and hook/completed.
func (f *EventFeature) parseHook(params rpc.Value) (Event, bool) {
	run := params.Get("run")
	e := Event{
		Kind: KindHook, Name: text(run.Get("eventName")), Status: text(run.Get("status")), DurationMs: milliseconds(run.Get("durationMs")),
		Own: run.Get("sourcePath").Is(f.ownSource),
	}
	var texts []string
	for entry := range run.Get("entries").Elements() {
		if kind := entry.Get("kind"); kind.Is("error") || kind.Is("feedback") || kind.Is("stop") {
			texts = append(texts, text(entry.Get("text")))
		}
	}
	e.Reason = display.ClipTo(strings.Join(texts, "\n"), maxText)
	return e, e.Status != ""
}

// parseCompaction parses an item; ok is false unless it is a compaction.
func (f *EventFeature) parseCompaction(params rpc.Value) (Event, bool) {
	item := params.Get("item")
	if !item.Get("type").Is("contextCompaction") {
		return Event{}, false
	}
	e := Event{Kind: KindCompaction, Status: StatusRunning}
	if ended := params.Get("completedAtMs"); ended.Exists() {
		e.Status = "completed"
		if began := milliseconds(item.Get("startedAtMs")); began > 0 {
			e.DurationMs = max(0, milliseconds(ended)-began)
		}
		f.compactedTurn = text(params.Get("turnId"))
	}
	return e, true
}

// parseThreadCompacted parses the notification of older versions. Some versions send it
// beside the item.
func (f *EventFeature) parseThreadCompacted(params rpc.Value) (Event, bool) {
	turn := text(params.Get("turnId"))
	return Event{Kind: KindCompaction, Status: "completed"}, turn == "" || turn != f.compactedTurn
}

// parseReview parses an automatic review.
func parseReview(params rpc.Value) (Event, bool) {
	judged := params.Get("review")
	e := Event{
		Kind: KindReview, Name: text(params.Get("action").Get("type")), Status: text(judged.Get("status")),
		Risk: text(judged.Get("riskLevel")), Reason: display.ClipTo(text(judged.Get("rationale")), maxText),
	}
	if ended := milliseconds(params.Get("completedAtMs")); ended > 0 {
		e.DurationMs = max(0, ended-milliseconds(params.Get("startedAtMs")))
	} else {
		e.Status = StatusRunning
	}
	return e, true
}

// Kind is the kind of an Event.
type Kind string

// The kinds.
const (
	KindHook       Kind = "hook"       // a run of a hook; Name is its event, such as preToolUse
	KindCompaction Kind = "compaction" // a compaction of a thread
	KindReview     Kind = "review"     // a model's review of an action; Name is the action's type, such as command
)

// StatusRunning is the status until the end. The others are Codex's: completed, blocked,
// stopped or failed for a hook; completed for a compaction; approved, denied, timedOut or
// aborted for a review.
const StatusRunning = "running"

// Event is an event that Codex has reported. Long texts are cut.
type Event struct {
	Kind       Kind
	ThreadID   string
	TurnID     string
	Name       string
	Status     string
	DurationMs int64  // 0 while it runs
	Own        bool   // a hook of the bridge
	Risk       string // of a review: low, medium, high, critical
	Reason     string // a hook's messages, or a review's rationale
}

// text returns a string, or "".
func text(v rpc.Value) string {
	s, _ := v.Text()
	return s
}

// maxText bounds a text of others in an event, in bytes.
const maxText = 500

// milliseconds returns a number, or 0.
func milliseconds(v rpc.Value) int64 {
	var n int64
	if !v.Exists() || json.Unmarshal(v.Raw(), &n) != nil {
		return 0
	}
	return n
}
