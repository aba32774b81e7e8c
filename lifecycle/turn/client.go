package turn

import "slices"

// ClientStarts notes that the client itself asks for a turn, so that no turn is started here before Codex tells of that
// one: Codex answers turn/start some time before turn/started, and would add input to the turn in between (measured).
// Call answered once with the id of the turn, "" if Codex refused.
func (t *Thread) ClientStarts() (answered func(id string)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.starting++
	return func(id string) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.starting--
		hasEnded := slices.ContainsFunc(t.ended, func(p past) bool { return p.id == id })
		if id != "" && !hasEnded && t.running != id {
			t.expected = id
		}
		t.wake()
	}
}
