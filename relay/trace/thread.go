package trace

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"codex-bridge/bridge/methods"
	"codex-bridge/rpc"
)

// mostOpen is how many calls and questions without an end are kept of a thread.
const mostOpen = 1024

// thread is what is known of one thread in this conversation.
type thread struct {
	id                         string
	file                       *file
	seq                        int64
	ended                      bool // the file takes no more
	unloaded                   bool // codex has it no more; what comes all the same is written, and it is forgotten again
	turn                       string
	session                    string // that the thread belongs to, as far as is known
	workspace, model, provider string
	open                       map[string]begun
	order                      []string // of open
}

// begun is a call or a question that has not ended.
type begun struct {
	turn, kind string
	approval   bool
}

func newThread(id string, f *file) *thread {
	return &thread{id: id, file: f, open: make(map[string]begun)}
}

func (t *thread) begin(key string, b begun) {
	if _, ok := t.open[key]; !ok && len(t.open) < mostOpen {
		t.open[key] = b
		t.order = append(t.order, key)
	}
}

func (t *thread) close(key string) {
	if _, ok := t.open[key]; ok {
		delete(t.open, key)
		t.order = slices.DeleteFunc(t.order, func(k string) bool { return k == key })
	}
}

// idle tells whether nothing of a thread has begun that has not ended.
func (t *thread) idle() bool { return t.turn == "" && len(t.open) == 0 }

// past are threads that were not spoken of for long, and those that codex has no more:
// something may be said of them all the same. One that has been there for very long is
// forgotten, and then as good as new.
type past struct {
	of    map[string]*thread
	order []string // the oldest first
}

func (p *past) add(t *thread) {
	if p.of == nil {
		p.of = make(map[string]*thread)
	}
	if p.of[t.id] != nil {
		return // what concerns no thread is written to the last one
	}
	p.of[t.id] = t
	if p.order = append(p.order, t.id); len(p.order) > mostPast {
		delete(p.of, p.order[0])
		p.order = p.order[1:]
	}
}

// take gives one back; nil: there is none.
func (p *past) take(id string) *thread {
	t := p.of[id]
	if t != nil {
		delete(p.of, id)
		p.order = slices.DeleteFunc(p.order, func(other string) bool { return other == id })
	}
	return t
}

// acts are the items that do something.
func acts(kind string) bool {
	switch kind {
	case "commandExecution", "fileChange", "mcpToolCall", "dynamicToolCall", "webSearch", "collabAgentToolCall", "imageView", "imageGeneration":
		return true
	}
	return false
}

// classify tells what a message is about.
func classify(m *message, to string, of asked, params, result rpc.Value) (t Type, outcome string) {
	switch {
	case m.method == "" && of.approval:
		return ApprovalAnswered, answerOf(result)
	case m.method == "" && (opens(of.method) || of.method == "thread/resume") && result.Exists():
		return SessionStarted, ""
	case m.method == "":
		return Message, ""
	case of.approval:
		return ApprovalAsked, ""
	case to == "codex" && (opens(m.method) || m.method == "thread/resume"):
		return ContextCompiled, ""
	}
	switch m.method {
	case "turn/start", "turn/steer":
		return PromptSubmitted, ""
	case "item/started":
		if acts(text(params.Get("item").Get("type"))) {
			return ToolCall, ""
		}
	case "item/completed":
		if item := params.Get("item"); acts(text(item.Get("type"))) {
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

// answerOf is what was answered to a question, in Codex's word.
func answerOf(result rpc.Value) string {
	if !result.Exists() {
		return "error"
	}
	for _, name := range []string{"decision", "action"} {
		v := result.Get(name)
		if word := text(v); word != "" {
			return word
		}
		for name := range v.Members() {
			return name
		}
	}
	return "answered"
}

// follow keeps account of what has begun and not ended.
func (s *session) follow(t *thread, e Event, m *message, params rpc.Value) {
	item := params.Get("item")
	switch {
	case e.Type == ToolCall:
		t.begin("item "+text(item.Get("id")), begun{turn: e.TurnID, kind: text(item.Get("type"))})
	case e.Type == ToolResult:
		t.close("item " + text(item.Get("id")))
	case e.Type == ApprovalAsked:
		t.begin("ask "+m.id, begun{turn: e.TurnID, kind: m.method, approval: true})
	case e.Type == ApprovalAnswered:
		t.close("ask " + m.id)
	case m.method == "turn/started":
		t.turn = e.TurnID
	case e.Type == ModelCompleted:
		s.finish(t, e.Time, e.TurnID, "the turn ended")
		t.turn = ""
	case slices.Contains(methods.Unloaded, m.method):
		s.finish(t, e.Time, "", "the thread was put away")
		t.unloaded = true
		s.append(Event{Type: SessionEnded, Time: e.Time, ThreadID: t.id, Data: json.RawMessage("{}")})
	}
}

// finish closes what has no end; turn empty: of all turns.
func (s *session) finish(t *thread, at time.Time, turn, reason string) {
	for _, key := range slices.Clone(t.order) {
		b := t.open[key]
		if turn != "" && b.turn != turn {
			continue
		}
		t.close(key)
		_, id, _ := strings.Cut(key, " ")
		e := Event{Type: ToolResult, Time: at, ThreadID: t.id, TurnID: b.turn}
		data := map[string]any{"unfinished": true, "outcome": "unfinished", "reason": reason, "kind": b.kind, "itemId": id}
		if b.approval {
			e.Type, data["outcome"] = ApprovalAnswered, "unanswered"
			delete(data, "itemId")
			data["requestId"] = id
		}
		e.Data = s.marshal(data)
		s.append(e)
	}
}
