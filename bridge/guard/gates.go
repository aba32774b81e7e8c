package guard

import (
	"slices"

	"codex-bridge/bridge"
	"codex-bridge/bridge/policy"
)

// gateChange is a request under way that changes whether the bridge asks in Codex's place
// in a thread. It is prepared with the request and takes effect when Codex says that the
// request has succeeded. Until then the stricter of the state before and
// the changes under way counts: a question may come before the answer.
type gateChange struct {
	thread string // "" one that is not there yet
	gated  *bool  // nil: as it is
	order  uint64 // of the request among all of them
}

// prepare notes that a request is on its way which may change the gate of a thread.
func (t *threads) prepare(id string, gated *bool) *gateChange {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes++
	change := &gateChange{thread: id, gated: gated, order: t.changes}
	if id == "" || gated == nil {
		return change
	}
	if t.gates == nil {
		t.gates = make(map[string][]*gateChange)
	}
	t.gates[id] = append(t.gates[id], change)
	return change
}

// settle ends a change by the outcome of its request. Where that is not known the thread
// is as strict as it may have to be.
func (t *threads) settle(change *gateChange, outcome bridge.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unprepare(change)
	one := t.known[change.thread]
	if one == nil || change.gated == nil || change.order < one.gateOrder {
		return
	}
	if outcome == bridge.Succeeded || outcome == bridge.Unknown && *change.gated {
		one.gated, one.Gated, one.gateOrder = change.gated, *change.gated, change.order
	}
}

// unprepare is called with the lock held.
func (t *threads) unprepare(change *gateChange) {
	rest := slices.DeleteFunc(t.gates[change.thread], func(c *gateChange) bool { return c == change })
	if len(rest) == 0 {
		delete(t.gates, change.thread)
		return
	}
	t.gates[change.thread] = rest
}

// prepared is the thread with the changes under way counted as use says. nil when it may
// take no turn.
func (t *threads) prepared(id string, use func(gated bool, changes []*gateChange) bool) *policy.Thread {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.preparedLocked(id, use)
}

func (t *threads) preparedLocked(id string, use func(gated bool, changes []*gateChange) bool) *policy.Thread {
	one := t.known[id]
	if one == nil {
		return nil
	}
	thread := one.Thread
	thread.Writable, thread.Projects, thread.SettingsChanged = t.writable.of(id), t.projects, t.isVariedLocked(id)
	thread.RerunsOutside = thread.RerunsOutside || t.reran[id]
	if changes := t.gates[id]; len(changes) > 0 {
		thread.Gated = use(thread.Gated, changes)
	}
	return &thread
}

// mayBeGated reports whether the thread is gated in any state that may be true now; use it
// where the gate restricts. isGated reports whether it is in all of them; use it where the
// gate permits. lastGated is the client's latest request, to be shown to it.
func mayBeGated(gated bool, changes []*gateChange) bool {
	return gated || slices.ContainsFunc(changes, func(c *gateChange) bool { return *c.gated })
}

func isGated(gated bool, changes []*gateChange) bool {
	return gated && !slices.ContainsFunc(changes, func(c *gateChange) bool { return !*c.gated })
}

func lastGated(_ bool, changes []*gateChange) bool { return *changes[len(changes)-1].gated }
