package transcript

import (
	"context"
	"sync"

	"codex-bridge.example/bridge"
	"codex-bridge.example/rpc"
)

// The notifications whose contents are stored.
const (
	itemStarted   = "item/started"
	itemCompleted = "item/completed"
	planUpdated   = "turn/plan/updated"
)

var isCompaction = bridge.MatchItemType("contextCompaction")

// maxRecent is far above the number of threads that Codex has open.
const maxRecent = 1 << 16

// recentIDs is a set of the last thread ids. Codex may still send messages about a thread
// that it has closed.
type recentIDs struct {
	mu    sync.Mutex
	ids   map[string]bool
	order []string // oldest first
}

func (r *recentIDs) add(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ids[id] {
		return
	}
	if r.ids == nil {
		r.ids = make(map[string]bool)
	}
	r.ids[id] = true
	if r.order = append(r.order, id); len(r.order) > maxRecent {
		delete(r.ids, r.order[0])
		r.order = r.order[1:]
	}
}

func (r *recentIDs) has(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ids[id]
}

// Routes implements bridge.Feature. The Mirror must come after the features that rewrite
// messages.
func (m *Mirror) Routes() []bridge.Route {
	const why = "stored in the transcript"
	always := func() bool { return true } // the feature exists only if configured
	opened := func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
		if call.Kind == rpc.Request {
			resume := call.Method == "thread/resume"
			call.OnResponse(func(a *bridge.ServerResponse) { m.handleOpened(a, resume) })
		}
		return nil
	}
	return []bridge.Route{
		{From: bridge.Client, Method: "thread/start", Why: why, HandleClient: opened},
		{From: bridge.Client, Method: "thread/resume", Why: why, HandleClient: opened},
		{From: bridge.Client, Method: "thread/fork", Why: why, HandleClient: opened},
		{From: bridge.Codex, Method: itemCompleted, Why: why, HandleServer: m.handleItem, ReadOnly: true, Required: always},
		{From: bridge.Codex, Method: planUpdated, Why: why, HandleServer: m.handleItem, ReadOnly: true, Required: always},
		{From: bridge.Codex, Method: itemStarted, Why: why, HandleServer: m.handleItem, ReadOnly: true, Match: isCompaction, Required: always},
	}
}

// Stage implements bridge.Feature.
func (*Mirror) Stage() bridge.Stage { return bridge.Last }

// handleOpened records that a thread is ephemeral, or stores the turns of a resumed thread.
func (m *Mirror) handleOpened(a *bridge.ServerResponse, resume bool) {
	thread := a.Result().Get("thread")
	id, _ := thread.Get("id").Text()
	if id == "" {
		return
	}
	if ephemeral, _ := thread.Get("ephemeral").Bool(); ephemeral {
		m.ephemeral.add(id)
		return
	}
	if resume && thread.Get("turns").Len() > 0 {
		m.enqueue(message{thread: id, resume: true}, a.Line)
	}
}

func (m *Mirror) handleItem(_ context.Context, handleItem *bridge.ServerMessage) {
	params := handleItem.Root().Get("params")
	thread, _ := params.Get("threadId").Text()
	item := params.Get("item")
	if m.ephemeral.has(thread) {
		for child := range item.Get("receiverThreadIds").Elements() {
			if id, ok := child.Text(); ok { // subagents of an ephemeral thread are ephemeral
				m.ephemeral.add(id)
			}
		}
	} else if thread != "" && (handleItem.Method != itemStarted || item.Get("type").Is("contextCompaction")) {
		m.enqueue(message{thread: thread, method: handleItem.Method}, handleItem.Envelope.Root().Raw())
	}
}
