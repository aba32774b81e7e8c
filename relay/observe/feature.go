package observe

import (
	"context"
	"strings"

	"codex-bridge/bridge"
	"codex-bridge/rpc"
)

// Feature is a bridge.Feature. It stands behind those that act on what it tells.
type Feature struct {
	observers []Observer
	own       string // the source of the bridge's hooks
	compacted string // the turn of the last compaction that was told as an item
}

// New makes a Feature. ownSource is what Codex calls the file of the bridge's own hooks.
func New(ownSource string, observers ...Observer) *Feature {
	return &Feature{observers: observers, own: ownSource}
}

var isCompaction = bridge.MatchItemType("contextCompaction")

// Routes implements bridge.Feature.
func (f *Feature) Routes() []bridge.Route {
	route := func(method, why string, read func(rpc.Value) (Event, bool)) bridge.Route {
		return bridge.Route{
			From: bridge.Codex, Method: method, Why: why, When: f.wanted,
			HandleServer: func(_ context.Context, said *bridge.ServerMessage) { f.said(said, read) },
		}
	}
	item := func(method string) bridge.Route {
		r := route(method, "for those who watch compactions", f.item)
		r.Match = isCompaction
		return r
	}
	const hooks, compactions, reviews = "for those who watch hooks", "for those who watch compactions", "for those who watch reviews"
	return []bridge.Route{
		route("hook/started", hooks, f.hook),
		route("hook/completed", hooks, f.hook),
		item("item/started"),
		item("item/completed"),
		route("thread/compacted", compactions, f.older),
		route("item/autoApprovalReview/started", reviews, review),
		route("item/autoApprovalReview/completed", reviews, review),
	}
}

func (f *Feature) wanted() bool {
	for _, o := range f.observers {
		if o.Wants() {
			return true
		}
	}
	return false
}

// said tells those who want to hear. A message that somebody else wants comes here, too.
func (f *Feature) said(said *bridge.ServerMessage, read func(rpc.Value) (Event, bool)) {
	if !f.wanted() {
		return
	}
	params := said.Root().Get("params")
	e, ok := read(params)
	if !ok {
		return
	}
	e.ThreadID, e.TurnID = text(params.Get("threadId")), text(params.Get("turnId"))
	for _, o := range f.observers {
		if o.Wants() {
			o.Observe(e)
		}
	}
}

// hook reads a run.
func (f *Feature) hook(params rpc.Value) (Event, bool) {
	run := params.Get("run")
	e := Event{
		Kind: Hook, Name: text(run.Get("eventName")), Status: text(run.Get("status")), DurationMs: number(run.Get("durationMs")),
		Own: run.Get("sourcePath").Is(f.own),
	}
	var said []string
	for entry := range run.Get("entries").Elements() {
		if kind := entry.Get("kind"); kind.Is("error") || kind.Is("feedback") || kind.Is("stop") {
			said = append(said, text(entry.Get("text")))
		}
	}
	e.Reason = clip(strings.Join(said, "\n"))
	return e, e.Status != ""
}

// item reads a compaction; other items are none of ours.
func (f *Feature) item(params rpc.Value) (Event, bool) {
	item := params.Get("item")
	if !item.Get("type").Is("contextCompaction") {
		return Event{}, false
	}
	e := Event{Kind: Compaction, Status: Running}
	if ended := params.Get("completedAtMs"); ended.Exists() {
		e.Status = "completed"
		if began := number(item.Get("startedAtMs")); began > 0 {
			e.DurationMs = max(0, number(ended)-began)
		}
		f.compacted = text(params.Get("turnId"))
	}
	return e, true
}

// older reads what Codex told of a compaction before it was an item, and what some
// versions tell beside that.
func (f *Feature) older(params rpc.Value) (Event, bool) {
	turn := text(params.Get("turnId"))
	return Event{Kind: Compaction, Status: "completed"}, turn == "" || turn != f.compacted
}

// review reads what a reviewing model did.
func review(params rpc.Value) (Event, bool) {
	judged := params.Get("review")
	e := Event{
		Kind: Review, Name: text(params.Get("action").Get("type")), Status: text(judged.Get("status")),
		Risk: text(judged.Get("riskLevel")), Reason: clip(text(judged.Get("rationale"))),
	}
	if ended := number(params.Get("completedAtMs")); ended > 0 {
		e.DurationMs = max(0, ended-number(params.Get("startedAtMs")))
	} else {
		e.Status = Running
	}
	return e, true
}
