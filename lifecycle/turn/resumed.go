package turn

import "codex-bridge.example/rpc"

// NoteUnsubscribed records that Codex sends no events of the thread until it is resumed.
func (t *Thread) NoteUnsubscribed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unwatched = true
}

// NoteResumed takes from the response to thread/resume what became of the running turn while Codex sent no
// events. thread is the response's member thread.
//
// Measured with Codex 0.169: its status is idle after the end of the turn. It has the turns, with the ids of
// inputs, unless the request excludes them. Then input for the turn counts as delivered, so that it is not sent
// twice.
func (t *Thread) NoteResumed(thread rpc.Value) {
	t.mu.Lock()
	unwatched, running := t.unwatched, t.current()
	t.unwatched = false
	t.mu.Unlock()
	if !unwatched || running == "" {
		return
	}
	end := Event{Kind: EventEnded, Thread: t.ID, Turn: running, Status: StatusFailed, Problem: endedUnwatched}
	hasEnded, isShown := thread.Get("status").Get("type").Is("idle"), false
	for turn := range thread.Get("turns").Elements() {
		if !turn.Get("id").Is(running) {
			continue
		}
		isShown = true
		for item := range turn.Get("items").Elements() {
			t.takeShownInput(running, item)
		}
		if e, ok := ReadTurn(t.ID, turn); ok {
			hasEnded, end = true, e
		}
	}
	if !isShown {
		t.settleAll(running)
	}
	if hasEnded {
		t.Take(end)
	}
}

// endedUnwatched is the problem of a turn that has ended while Codex sent no events, if the response does not show it.
const endedUnwatched = "the turn ended while the client was unsubscribed from the thread; thread/read has its messages"

// takeShownInput takes an item of a turn that has input.
func (t *Thread) takeShownInput(turn string, item rpc.Value) {
	if client, ok := item.Get("clientId").Text(); ok && item.Get("type").Is("userMessage") {
		t.Take(Event{Kind: EventInput, Thread: t.ID, Turn: turn, Client: client, Echoes: true})
	}
}

// settleAll counts all input for a turn as delivered.
func (t *Thread) settleAll(turn string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.sent {
		if s.Turn == turn && s.fate == fatePending {
			s.fate = fateDelivered
		}
	}
}
