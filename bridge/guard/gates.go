package guard

import (
	"slices"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/policy"
)

// gateChange is a pending request that changes whether the bridge asks in Codex's place in a
// thread. The change takes effect when Codex reports success. Until then the stricter of the old
// state and the pending changes counts, because a question may come before the response.
type gateChange struct {
	thread string // "" for a thread that does not exist yet
	gated  *bool  // nil: no change
	order  uint64 // number of the request among all changes
}

// beginGateChange registers a request that may change the gate of a thread.
func (t *threads) beginGateChange(id string, gated *bool) *gateChange {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changeCount++
	change := &gateChange{thread: id, gated: gated, order: t.changeCount}
	if id != "" && gated != nil {
		t.applyLocked(id, gateRequested{request: change})
	}
	return change
}

// gateRequested: a request changes the gate of the thread.
type gateRequested struct {
	addsRecord
	request *gateChange
}

func (e gateRequested) change(r *threadRecord) {
	r.requests.gateChanges = append(slices.Clip(r.requests.gateChanges), e.request)
}

// endGateChange applies a change by the outcome of its request. If the outcome is unknown, a gated
// state counts.
func (t *threads) endGateChange(change *gateChange, outcome bridge.Outcome) {
	if change.gated != nil {
		t.apply(change.thread, gateAnswered{change, outcome})
	}
}

// gateAnswered: a request that changes the gate of the thread has ended.
type gateAnswered struct {
	request *gateChange
	outcome bridge.Outcome
}

func (e gateAnswered) change(r *threadRecord) {
	r.requests.gateChanges = slices.DeleteFunc(slices.Clone(r.requests.gateChanges), func(c *gateChange) bool { return c == e.request })
	gated := *e.request.gated
	if e.outcome == bridge.Failed || e.outcome == bridge.Unknown && !gated {
		return
	}
	for _, one := range r.copies() {
		if e.request.order >= one.gateOrder {
			one.changedGate, one.Gated, one.gateOrder = e.request.gated, gated, e.request.order
		}
	}
}

// current returns a copy of a thread, in which use decides about pending changes of its gate; nil
// if the thread may take no turn.
func (t *threads) current(id string, use func(gated bool, changes []*gateChange) bool) *policy.Thread {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.currentLocked(id, use)
}

func (t *threads) currentLocked(id string, use func(gated bool, changes []*gateChange) bool) *policy.Thread {
	record := t.records[id]
	if record == nil || record.state != verified {
		return nil
	}
	thread := record.verified.Thread
	thread.Writable, thread.Projects, thread.SettingsChanged = record.writable, t.projects, record.isVaried()
	thread.RerunsOutside = thread.RerunsOutside || record.mayRerun
	if changes := record.requests.gateChanges; len(changes) > 0 {
		thread.Gated = use(thread.Gated, changes)
	}
	return &thread
}

// mayBeGated reports whether the thread is gated in any possible state. Use it where the gate
// restricts.
func mayBeGated(gated bool, changes []*gateChange) bool {
	return gated || slices.ContainsFunc(changes, func(c *gateChange) bool { return *c.gated })
}

// isGated reports whether the thread is gated in all possible states. Use it where the gate
// permits.
func isGated(gated bool, changes []*gateChange) bool {
	return gated && !slices.ContainsFunc(changes, func(c *gateChange) bool { return !*c.gated })
}

// lastGated returns the gate of the client's latest request. Use it for values that the client is
// shown.
func lastGated(_ bool, changes []*gateChange) bool { return *changes[len(changes)-1].gated }
