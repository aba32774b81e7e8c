package turns

import (
	"context"

	"codex-bridge.example/bridge"
	"codex-bridge.example/lifecycle/turn"
	"codex-bridge.example/rpc"
)

const (
	delta         = "item/agentMessage/delta"
	itemStarted   = "item/started"
	itemCompleted = "item/completed"
	resolved      = "serverRequest/resolved"
)

var (
	isUserMessage  = bridge.MatchItemType("userMessage")
	isAgentMessage = bridge.MatchItemType("agentMessage")
)

// needed lists the notifications that this package requires.
// The threads' feature reads the settings: a turn repeats the effort of its thread.
var needed = append([]string{resolved, "thread/settings/updated"}, turn.EventMethods...)

// heard returns the routes of Codex's notifications.
func (f *Feature) heard() (routes []bridge.Route) {
	for _, method := range needed {
		r := bridge.Route{From: bridge.Codex, Method: method, Why: "what becomes of turns, for who has asked for them here", When: f.o.Known, HandleServer: f.said, ReadOnly: true, Required: f.offered.Load}
		switch method {
		case delta:
			r.When = func() bool { return f.collecting.Load() > 0 }
		case itemStarted:
			r.Match = isUserMessage
		case itemCompleted:
			r.Match = func(line []byte) bool {
				return isUserMessage(line) || f.collecting.Load() > 0 && isAgentMessage(line)
			}
		}
		routes = append(routes, r)
	}
	return routes
}

// said handles a notification.
func (f *Feature) said(_ context.Context, said *bridge.ServerMessage) {
	if f.o.Known() {
		f.take(said.Method, said.Root().Get("params"))
	}
}

func (f *Feature) take(method string, params rpc.Value) {
	if method == resolved {
		thread, _ := params.Get("threadId").Text()
		if id, ok := rpc.ParseID(params.Get("requestId")); ok {
			f.questions.resolved(thread, id)
		}
		return
	}
	e, ok := turn.ReadEvent(method, params)
	if !ok {
		return
	}
	c := f.conversation(e.Thread)
	switch e.Kind {
	case turn.EventStarted:
		f.mu.Lock()
		if w := c.watch; w != nil && w.turn == "" {
			w.turn = e.Turn
			close(w.began)
		}
		f.mu.Unlock()
	case turn.EventEnded:
		f.questions.turnEnded(e.Thread, e.Turn)
		f.mu.Lock()
		c.stuck = false
		f.mu.Unlock()
	case turn.EventThreadClosed:
		f.questions.threadClosed(e.Thread)
		f.mu.Lock()
		if w := c.watch; w != nil && w.turn == "" {
			close(w.began)
		}
		f.mu.Unlock()
		defer f.forget(e.Thread)()
	}
	c.thread.Take(e)
}

// initialize records whether the client knows the bridge, and answers questions, if Codex accepts the request. A client
// that knows the bridge can't opt out of the notifications in needed: a later feature reads that from this request.
func (f *Feature) initialize(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
	own := call.Params.Get("capabilities").Get("bridge")
	if !own.Exists() || call.Truncated() || call.Kind != rpc.Request {
		return nil // a later feature reports the error; Codex ignores initialize as a notification
	}
	answers, says := own.Get("approvals").Bool()
	before := f.offered.Swap(true)
	call.OnResponse(func(a *bridge.ServerResponse) {
		switch outcome := a.Outcome(); {
		case outcome == bridge.Failed:
			f.offered.Store(before)
		case outcome == bridge.Succeeded && says:
			f.silent.Store(!answers)
		}
	})
	return nil
}

// unsubscribes records that Codex sends no more events of a thread.
func (f *Feature) unsubscribes(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
	id, _ := call.Params.Get("threadId").Text()
	if c := f.known(id); c != nil && call.Kind == rpc.Request {
		call.OnResponse(func(a *bridge.ServerResponse) {
			if a.Outcome() != bridge.Failed {
				c.thread.NoteUnsubscribed()
			}
		})
	}
	return nil
}

// resumes records what became of a turn while Codex sent no events.
func (f *Feature) resumes(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
	if call.Kind == rpc.Request {
		call.OnResponse(func(a *bridge.ServerResponse) { f.noteResumed(a.Result()) })
	}
	return nil
}

func (f *Feature) noteResumed(result rpc.Value) {
	thread := result.Get("thread")
	id, _ := thread.Get("id").Text()
	if c := f.known(id); c != nil {
		c.thread.NoteResumed(thread)
	}
}

// known returns the conversation of a thread; nil if there is none.
func (f *Feature) known(id string) *conversation {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open[id]
}

// clientStarts records a turn that the client itself starts, and what it sets for later turns.
func (f *Feature) clientStarts(ctx context.Context, call *bridge.ClientMessage) *rpc.Error {
	id, _ := call.Params.Get("threadId").Text()
	if call.Kind != rpc.Request || !f.o.Threads.Open(id) {
		return f.settingsUpdate(ctx, call)
	}
	answered := f.conversation(id).thread.NoteClientStart()
	call.OnResponse(func(a *bridge.ServerResponse) {
		turn, _ := a.Result().Get("turn").Get("id").Text()
		answered(turn)
	})
	return f.settingsUpdate(ctx, call)
}
