package trace

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/rpc"
)

// maxOpen bounds the open items of a thread.
const maxOpen = 1024

// thread is the state of one thread in this conversation.
type thread struct {
	id                         string
	file                       *file
	seq                        int64
	ended                      bool // the file takes no more events
	unloaded                   bool // Codex has unloaded the thread
	turn                       string
	session                    string // the last known key
	workspace, model, provider string
	open                       map[string]openItem
	order                      []string // keys of open, the oldest first
}

// openItem is a tool call or an approval request that has not ended.
type openItem struct {
	turn, kind string
	approval   bool
}

func newThread(id string, f *file) *thread {
	return &thread{id: id, file: f, open: make(map[string]openItem)}
}

func (t *thread) begin(key string, item openItem) {
	if _, ok := t.open[key]; !ok && len(t.open) < maxOpen {
		t.open[key] = item
		t.order = append(t.order, key)
	}
}

func (t *thread) end(key string) {
	if _, ok := t.open[key]; ok {
		delete(t.open, key)
		t.order = slices.DeleteFunc(t.order, func(k string) bool { return k == key })
	}
}

// isIdle reports whether the thread has no turn and no open item.
func (t *thread) isIdle() bool { return t.turn == "" && len(t.open) == 0 }

// inactiveThreads are idle and unloaded threads, which may still get events. Beyond maxInactive the
// oldest is forgotten: a later event starts it anew.
type inactiveThreads struct {
	byID  map[string]*thread
	order []string // the oldest first
}

func (i *inactiveThreads) add(t *thread) {
	if i.byID == nil {
		i.byID = make(map[string]*thread)
	}
	if i.byID[t.id] != nil {
		return // an event without a thread was written to the last thread
	}
	i.byID[t.id] = t
	if i.order = append(i.order, t.id); len(i.order) > maxInactive {
		delete(i.byID, i.order[0])
		i.order = i.order[1:]
	}
}

// take removes and returns a thread, or nil.
func (i *inactiveThreads) take(id string) *thread {
	t := i.byID[id]
	if t != nil {
		delete(i.byID, id)
		i.order = slices.DeleteFunc(i.order, func(other string) bool { return other == id })
	}
	return t
}

// isAction reports whether items of a type are tool calls.
func isAction(kind string) bool {
	switch kind {
	case "commandExecution", "fileChange", "mcpToolCall", "dynamicToolCall", "webSearch", "collabAgentToolCall", "imageView", "imageGeneration":
		return true
	}
	return false
}

// classify returns the type of an event for a message, and its outcome if it has one.
func classify(m *message, to string, req request, params, result rpc.Value) (t Type, outcome string) {
	switch {
	case m.method == "" && req.approval:
		return ApprovalResolved, approvalOutcome(result)
	case m.method == "" && (opensThread(req.method) || req.method == "thread/resume") && result.Exists():
		return SessionStarted, ""
	case m.method == "":
		return Message, ""
	case req.approval:
		return ApprovalRequested, ""
	case to == "codex" && (opensThread(m.method) || m.method == "thread/resume"):
		return ContextCompiled, ""
	}
	switch m.method {
	case "turn/start", "turn/steer":
		return PromptSubmitted, ""
	case "item/started":
		if isAction(text(params.Get("item").Get("type"))) {
			return ToolCall, ""
		}
	case "item/completed":
		if item := params.Get("item"); isAction(text(item.Get("type"))) {
			return ToolResult, text(item.Get("status"))
		}
	case "hook/started":
		return HookStarted, ""
	case "hook/completed":
		return HookCompleted, text(params.Get("run").Get("status"))
	case "turn/completed":
		return ModelCompleted, text(params.Get("turn").Get("status"))
	}
	return Message, ""
}

// approvalOutcome returns the decision of a response in Codex's words, or "error".
func approvalOutcome(result rpc.Value) string {
	if !result.Exists() {
		return "error"
	}
	for _, name := range []string{"decision", "action"} {
		v := result.Get(name)
		if decision := text(v); decision != "" {
			return decision
		}
		for name := range v.Members() {
			return name
		}
	}
	return "answered"
}

// track updates the open items and the turn of a thread.
func (w *writer) track(t *thread, e Event, m *message, params rpc.Value) {
	item := params.Get("item")
	switch {
	case e.Type == ToolCall:
		t.begin("item "+text(item.Get("id")), openItem{turn: e.TurnID, kind: text(item.Get("type"))})
	case e.Type == ToolResult:
		t.end("item " + text(item.Get("id")))
	case e.Type == ApprovalRequested:
		t.begin("ask "+m.id, openItem{turn: e.TurnID, kind: m.method, approval: true})
	case e.Type == ApprovalResolved:
		t.end("ask " + m.id)
	case m.method == "turn/started":
		t.turn = e.TurnID
	case e.Type == ModelCompleted:
		w.endOpenItems(t, e.Time, e.TurnID, "the turn ended")
		t.turn = ""
	case slices.Contains(methods.UnloadNotifications, m.method):
		w.endOpenItems(t, e.Time, "", "the thread was unloaded")
		t.unloaded = true
		w.append(Event{Type: SessionEnded, Time: e.Time, ThreadID: t.id, Data: json.RawMessage("{}")})
	}
}

// endOpenItems writes an end for the open items of a turn, or of all turns if turn is "".
func (w *writer) endOpenItems(t *thread, at time.Time, turn, reason string) {
	for _, key := range slices.Clone(t.order) {
		item := t.open[key]
		if turn != "" && item.turn != turn {
			continue
		}
		t.end(key)
		_, id, _ := strings.Cut(key, " ")
		e := Event{Type: ToolResult, Time: at, ThreadID: t.id, TurnID: item.turn}
		data := map[string]any{"unfinished": true, "outcome": "unfinished", "reason": reason, "kind": item.kind, "itemId": id}
		if item.approval {
			e.Type, data["outcome"] = ApprovalResolved, "unanswered"
			delete(data, "itemId")
			data["requestId"] = id
		}
		e.Data = w.marshal(data)
		w.append(e)
	}
}
