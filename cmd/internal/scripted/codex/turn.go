package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"codex-bridge/cmd/internal/scripted"
)

// turn is one that runs.
type turn struct {
	*Server
	thread *thread
	id     string
	cancel context.CancelFunc
	// What the client has said and the model has not heard, under the thread's mutex.
	waiting []said
	steered chan struct{} // has a value when something is waiting
}

// said is a message of the user's.
type said struct {
	Input          []object `json:"input"`
	ClientID       *string  `json:"clientUserMessageId"`
	ExpectedTurnID string   `json:"expectedTurnId"`
}

func (s said) text() string {
	var texts []string
	for _, part := range s.Input {
		if text, ok := part["text"].(string); ok {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// say tells something of the turn.
func (u *turn) say(method string, params object) {
	params["threadId"], params["turnId"] = u.thread.id, u.id
	u.tell(method, params)
}

func (u *turn) shown(status string, failure any) object {
	return object{"id": u.id, "items": []any{}, "itemsView": "notLoaded", "status": status, "error": failure}
}

// input is what a request says to a thread.
func (s *Server) input(m message) (*thread, said, *fault) {
	var p said
	t, f := s.thread(m)
	if err := json.Unmarshal(m.Params, &p); err != nil && f == nil {
		f = faultf("Invalid request: %v", err)
	}
	return t, p, f
}

// turnStart begins a turn, or steers the one that runs.
func (s *Server) turnStart(m message) {
	t, p, f := s.input(m)
	if f != nil {
		s.answer(m.ID, nil, f)
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	u := &turn{Server: s, thread: t, id: newID(), cancel: cancel, steered: make(chan struct{}, 1)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turn != nil {
		cancel()
		t.turn.add(p)
		s.answer(m.ID, object{"turn": t.turn.shown("inProgress", nil)}, nil)
		return
	}
	t.turn = u
	u.add(p)
	s.answer(m.ID, object{"turn": u.shown("inProgress", nil)}, nil)
	s.active.Go(func() { u.run(ctx) })
}

// add gives the turn something more to hear. The thread's mutex is held.
func (u *turn) add(p said) {
	u.waiting = append(u.waiting, p)
	select {
	case u.steered <- struct{}{}:
	default:
	}
}

func (s *Server) turnSteer(m message) {
	t, p, f := s.input(m)
	if f != nil {
		s.answer(m.ID, nil, f)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.turn == nil:
		s.answer(m.ID, nil, faultf("no active turn to steer"))
	case t.turn.id != p.ExpectedTurnID:
		s.answer(m.ID, nil, faultf("expected active turn id `%s` but found `%s`", p.ExpectedTurnID, t.turn.id))
	default:
		t.turn.add(p)
		s.answer(m.ID, object{"turnId": t.turn.id}, nil)
	}
}

func (s *Server) turnInterrupt(m message) {
	t, f := s.thread(m)
	if f != nil {
		s.answer(m.ID, nil, f)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turn == nil {
		s.answer(m.ID, nil, faultf("no active turn to interrupt"))
		return
	}
	s.answer(m.ID, object{}, nil)
	t.turn.cancel()
}

// run is the turn, until nothing more was said.
func (u *turn) run(ctx context.Context) {
	defer u.cancel()
	u.tell("thread/status/changed", object{"threadId": u.thread.id, "status": object{"type": "active", "activeFlags": []any{}}})
	u.tell("turn/started", object{"threadId": u.thread.id, "turn": u.shown("inProgress", nil)})
	for heard := u.hear(); heard != nil; heard = u.hear() {
		last, failure := u.reply(ctx, heard)
		if failure == nil && ctx.Err() == nil {
			u.runHooks(ctx, stop, "", object{"stop_hook_active": false, "last_assistant_message": last})
		}
		if status := "interrupted"; ctx.Err() != nil || failure != nil {
			if ctx.Err() == nil {
				status = "failed"
				u.say("error", object{"error": failure, "willRetry": false})
			}
			u.thread.mu.Lock()
			u.end(status, failure)
			u.thread.mu.Unlock()
			return
		}
	}
}

// end is the last that is said of the turn. The thread's mutex is held: what the client says
// now belongs to the next one.
func (u *turn) end(status string, failure any) {
	u.tell("thread/status/changed", object{"threadId": u.thread.id, "status": object{"type": "idle"}})
	u.tell("turn/completed", object{"threadId": u.thread.id, "turn": u.shown(status, failure)})
	u.thread.turn = nil
}

// hear takes what the user has said into the conversation; where there is nothing more the
// turn ends, and it is nil.
func (u *turn) hear() []said {
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

// item is one that begins and ends at once.
func (u *turn) item(item object) {
	now := time.Now().UnixMilli()
	u.say("item/started", object{"item": item, "startedAtMs": now})
	u.say("item/completed", object{"item": item, "completedAtMs": now})
}

// reply is the model's: what the calls gave, it repeats. failure is the turn's.
func (u *turn) reply(ctx context.Context, heard []said) (last string, failure any) {
	reply := scripted.Vocabulary(heard[len(heard)-1].text())
	var calls []func() string
	for _, item := range reply {
		switch item := item.(type) {
		case scripted.Text:
			last = u.speak(string(item))
		case scripted.Slow:
			last = u.speakFor(ctx, item.For)
		case scripted.Call:
			calls = append(calls, func() string { return u.call(ctx, item) })
		case scripted.Fail:
			return last, object{"message": item.Message, "codexErrorInfo": "other", "additionalDetails": nil}
		}
	}
	if len(calls) > 0 && ctx.Err() == nil {
		outputs := u.together(calls)
		if ctx.Err() == nil {
			for _, item := range scripted.Quote(outputs) {
				if text, ok := item.(scripted.Text); ok {
					last = u.speak(string(text))
				}
			}
		}
	}
	return last, nil
}

// speak is a message, a word a delta.
func (u *turn) speak(text string) string {
	id := newID()
	u.say("item/started", object{"item": object{"type": "agentMessage", "id": id, "text": ""}})
	for _, word := range strings.SplitAfter(text, " ") {
		u.say("item/agentMessage/delta", object{"itemId": id, "delta": word})
	}
	u.say("item/completed", object{"item": object{"type": "agentMessage", "id": id, "text": text}})
	u.say("thread/tokenUsage/updated", object{"tokenUsage": object{"total": object{"totalTokens": 15}, "last": object{"totalTokens": 15}, "modelContextWindow": 258400}})
	return text
}

// speakFor is a message that a steer or an interrupt cuts off: its end is never sent then.
func (u *turn) speakFor(ctx context.Context, d time.Duration) string {
	id := newID()
	u.say("item/started", object{"item": object{"type": "agentMessage", "id": id, "text": ""}})
	u.say("item/agentMessage/delta", object{"itemId": id, "delta": "Working… "})
	end := time.NewTimer(d)
	defer end.Stop()
	select {
	case <-end.C:
		u.say("item/completed", object{"item": object{"type": "agentMessage", "id": id, "text": "Working… done."}})
		return "Working… done."
	case <-u.steered:
	case <-ctx.Done():
	}
	return ""
}
