package transcript

import (
	"context"
	"sync"

	"codex-bridge/bridge"
	"codex-bridge/rpc"
)

// The notifications that have something to keep.
const (
	itemStarted   = "item/started"
	itemCompleted = "item/completed"
	planUpdated   = "turn/plan/updated"
)

var isCompaction = bridge.MatchItemType("contextCompaction")

// threads is what is known of threads.
type threads struct {
	ephemeral recent
}

// mostRecent is far more threads than codex has at a time.
const mostRecent = 1 << 16

// recent are the ids of the last threads of a kind: something may still be said of one that
// codex has put away.
type recent struct {
	mu    sync.Mutex
	ids   map[string]bool
	order []string // the oldest first
}

func (r *recent) add(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ids[id] {
		return
	}
	if r.ids == nil {
		r.ids = make(map[string]bool)
	}
	r.ids[id] = true
	if r.order = append(r.order, id); len(r.order) > mostRecent {
		delete(r.ids, r.order[0])
		r.order = r.order[1:]
	}
}

func (r *recent) has(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ids[id]
}

// Routes implements bridge.Feature. It must stand behind those that rewrite.
func (m *Mirror) Routes() []bridge.Route {
	const why = "for the transcript"
	always := func() bool { return true } // it is configured
	opened := func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
		if call.Kind == rpc.Request {
			resume := call.Method == "thread/resume"
			call.OnResponse(func(a *bridge.ServerResponse) { m.opened(a, resume) })
		}
		return nil
	}
	return []bridge.Route{
		{From: bridge.Client, Method: "thread/start", Why: why, HandleClient: opened},
		{From: bridge.Client, Method: "thread/resume", Why: why, HandleClient: opened},
		{From: bridge.Client, Method: "thread/fork", Why: why, HandleClient: opened},
		{From: bridge.Codex, Method: itemCompleted, Why: why, HandleServer: m.said, Required: always},
		{From: bridge.Codex, Method: planUpdated, Why: why, HandleServer: m.said, Required: always},
		{From: bridge.Codex, Method: itemStarted, Why: why, HandleServer: m.said, Match: isCompaction, Required: always},
	}
}

// opened takes note of a thread, and keeps what a resume tells of it.
func (m *Mirror) opened(a *bridge.ServerResponse, resume bool) {
	thread := a.Result().Get("thread")
	id, _ := thread.Get("id").Text()
	if id == "" {
		return
	}
	if ephemeral, _ := thread.Get("ephemeral").Bool(); ephemeral {
		m.threads.ephemeral.add(id)
		return
	}
	if resume && thread.Get("turns").Len() > 0 {
		m.put(heard{thread: id, resume: true}, a.Line)
	}
}

func (m *Mirror) said(_ context.Context, said *bridge.ServerMessage) {
	params := said.Root().Get("params")
	thread, _ := params.Get("threadId").Text()
	item := params.Get("item")
	if m.threads.ephemeral.has(thread) {
		for child := range item.Get("receiverThreadIds").Elements() {
			if id, ok := child.Text(); ok { // its subagents are as it is
				m.threads.ephemeral.add(id)
			}
		}
	} else if thread != "" && (said.Method != itemStarted || item.Get("type").Is("contextCompaction")) {
		m.put(heard{thread: thread, method: said.Method}, said.Envelope.Root().Raw())
	}
}
