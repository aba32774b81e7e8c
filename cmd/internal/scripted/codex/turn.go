package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"codex-bridge.example/cmd/internal/scripted"
)

// turn is a running turn.
type turn struct {
	*Server
	thread *thread
	id     string
	cancel context.CancelFunc
	// Input that the model has not received yet, under the thread's mutex.
	waiting []userInput
	steered chan struct{} // has a value if waiting is not empty
}

// userInput is a message of the user.
type userInput struct {
	Input          []object `json:"input"`
	ClientID       *string  `json:"clientUserMessageId"`
	ExpectedTurnID string   `json:"expectedTurnId"`
}

func (s userInput) text() string {
	var texts []string
	for _, part := range s.Input {
		if text, ok := part["text"].(string); ok {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// notify sends a notification with the ids of the thread and the turn.
func (u *turn) notify(method string, params object) {
	params["threadId"], params["turnId"] = u.thread.id, u.id
	u.send(method, params)
}

func (u *turn) status(status string, failure any) object {
	return object{"id": u.id, "items": []any{}, "itemsView": "notLoaded", "status": status, "error": failure}
}

// input parses a request with input for a thread.
func (s *Server) input(m message) (*thread, userInput, *rpcError) {
	var p userInput
	t, f := s.thread(m)
	if err := json.Unmarshal(m.Params, &p); err != nil && f == nil {
		f = errorf("Invalid request: %v", err)
	}
	return t, p, f
}

// turnStart starts a turn, or steers the running one.
func (s *Server) turnStart(m message) {
	t, p, f := s.input(m)
	if f != nil {
		s.respond(m.ID, nil, f)
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	u := &turn{Server: s, thread: t, id: newID(), cancel: cancel, steered: make(chan struct{}, 1)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turn != nil {
		cancel()
		t.turn.add(p)
		s.respond(m.ID, object{"turn": t.turn.status("inProgress", nil)}, nil)
		return
	}
	t.turn = u
	u.add(p)
	s.respond(m.ID, object{"turn": u.status("inProgress", nil)}, nil)
	s.active.Go(func() { u.run(ctx) })
}

// add adds input to the turn. The caller holds the thread's mutex.
func (u *turn) add(p userInput) {
	u.waiting = append(u.waiting, p)
	select {
	case u.steered <- struct{}{}:
	default:
	}
}

func (s *Server) turnSteer(m message) {
	t, p, f := s.input(m)
	if f != nil {
		s.respond(m.ID, nil, f)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.turn == nil:
		s.respond(m.ID, nil, errorf("no active turn to steer"))
	case t.turn.id != p.ExpectedTurnID:
		s.respond(m.ID, nil, errorf("expected active turn id `%s` but found `%s`", p.ExpectedTurnID, t.turn.id))
	default:
		t.turn.add(p)
		s.respond(m.ID, object{"turnId": t.turn.id}, nil)
	}
}

func (s *Server) turnInterrupt(m message) {
	t, f := s.thread(m)
	if f != nil {
		s.respond(m.ID, nil, f)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turn == nil {
		s.respond(m.ID, nil, errorf("no active turn to interrupt"))
		return
	}
	s.respond(m.ID, object{}, nil)
	t.turn.cancel()
}

// run runs the turn until no more input waits.
func (u *turn) run(ctx context.Context) {
	defer u.cancel()
	if f := u.thread.recordTurn(u.id); f != nil {
		panic(f.Message) // the home of the test can't be written
	}
	u.send("thread/status/changed", object{"threadId": u.thread.id, "status": object{"type": "active", "activeFlags": []any{}}})
	u.send("turn/started", object{"threadId": u.thread.id, "turn": u.status("inProgress", nil)})
	for heard := u.takeInput(); heard != nil; heard = u.takeInput() {
		last, failure := u.reply(ctx, heard)
		if failure == nil && ctx.Err() == nil {
			u.runHooks(ctx, stop, "", object{"stop_hook_active": false, "last_assistant_message": last})
		}
		if status := "interrupted"; ctx.Err() != nil || failure != nil {
			if ctx.Err() == nil {
				status = "failed"
				u.notify("error", object{"error": failure, "willRetry": false})
			}
			u.thread.mu.Lock()
			u.end(status, failure)
			u.thread.mu.Unlock()
			return
		}
	}
}

// end sends the last notifications of the turn. The caller holds the thread's mutex: later input
// belongs to the next turn.
func (u *turn) end(status string, failure any) {
	u.send("thread/status/changed", object{"threadId": u.thread.id, "status": object{"type": "idle"}})
	u.send("turn/completed", object{"threadId": u.thread.id, "turn": u.status(status, failure)})
	u.thread.turn = nil
}

// takeInput moves the waiting input to the conversation. Without input it ends the turn and returns
// nil.
func (u *turn) takeInput() []userInput {
	u.thread.mu.Lock()
	waiting := u.waiting
	if u.waiting = nil; len(waiting) == 0 {
		u.end("completed", nil)
	}
	select {
	case <-u.steered:
	default:
	}
	u.thread.mu.Unlock()
	for _, p := range waiting {
		u.item(object{"type": "userMessage", "id": newID(), "clientId": p.ClientID, "content": p.Input})
	}
	return waiting
}

// item sends an item that starts and completes at once.
func (u *turn) item(item object) {
	now := time.Now().UnixMilli()
	u.notify("item/started", object{"item": item, "startedAtMs": now})
	u.notify("item/completed", object{"item": item, "completedAtMs": now})
}

// reply runs the model's reply; the model repeats the outputs of calls. failure is the error of the
// turn.
func (u *turn) reply(ctx context.Context, heard []userInput) (last string, failure any) {
	reply := scripted.Vocabulary(heard[len(heard)-1].text())
	var calls []func() string
	for _, item := range reply {
		switch item := item.(type) {
		case scripted.Text:
			last = u.sendMessage(string(item))
		case scripted.Slow:
			last = u.sendMessageSlowly(ctx, item.For)
		case scripted.Call:
			calls = append(calls, func() string { return u.call(ctx, item) })
		case scripted.Fail:
			return last, object{"message": item.Message, "codexErrorInfo": "other", "additionalDetails": nil}
		}
	}
	if len(calls) > 0 && ctx.Err() == nil {
		outputs := u.runParallel(calls)
		if ctx.Err() == nil {
			for _, item := range scripted.Quote(outputs) {
				if text, ok := item.(scripted.Text); ok {
					last = u.sendMessage(string(text))
				}
			}
		}
	}
	return last, nil
}

// sendMessage sends a message, one word per delta.
func (u *turn) sendMessage(text string) string {
	id := newID()
	u.notify("item/started", object{"item": object{"type": "agentMessage", "id": id, "text": ""}})
	for _, word := range strings.SplitAfter(text, " ") {
		u.notify("item/agentMessage/delta", object{"itemId": id, "delta": word})
	}
	u.notify("item/completed", object{"item": object{"type": "agentMessage", "id": id, "text": text}})
	u.notify("thread/tokenUsage/updated", object{"tokenUsage": object{"total": object{"totalTokens": 15}, "last": object{"totalTokens": 15}, "modelContextWindow": 258400}})
	return text
}

// sendMessageSlowly sends a message that a steer or an interrupt cuts off: then its end is not
// sent.
func (u *turn) sendMessageSlowly(ctx context.Context, d time.Duration) string {
	id := newID()
	u.notify("item/started", object{"item": object{"type": "agentMessage", "id": id, "text": ""}})
	u.notify("item/agentMessage/delta", object{"itemId": id, "delta": "Working… "})
	end := time.NewTimer(d)
	defer end.Stop()
	select {
	case <-end.C:
		u.notify("item/completed", object{"item": object{"type": "agentMessage", "id": id, "text": "Working… done."}})
		return "Working… done."
	case <-u.steered:
	case <-ctx.Done():
	}
	return ""
}
