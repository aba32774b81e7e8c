package guard

import "context"

// minIdle is how many records of threads that take no turns are kept without a look at whether they have
// ended.
const minIdle = 64

// forgetEnded removes the records of threads that have ended: Codex has neither the thread nor one of its
// agents in memory. It does so only if there are many records, and it removes none if Codex has a thread
// in memory whose parents are not known.
//
// Measured with Codex 0.169: an agent stays in memory when its parent is unloaded, and no notification
// says when an agent has ended that its parent has closed.
func (g *Guard) forgetEnded(ctx context.Context) {
	idle := g.threads.idle()
	if idle == nil {
		return
	}
	loaded, err := g.listLoaded(ctx)
	if err != nil {
		return // the next request that opens a thread tries again
	}
	for _, id := range loaded {
		if g.child(id) == nil && !g.threads.isOpenedByClient(id) {
			return
		}
		delete(idle, id)
		for range maxParents {
			one := g.child(id)
			if one == nil {
				break
			}
			id = one.Parent
			delete(idle, id)
		}
	}
	g.threads.forget(idle)
}

// idle returns the versions of the records of idle threads; nil if there are few.
func (t *threads) idle() map[string]uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	idle := make(map[string]uint64)
	for id, record := range t.records {
		if record.isIdle() {
			idle[id] = record.version
		}
	}
	if len(idle) < max(t.forgetAt, minIdle) {
		return nil
	}
	return idle
}

// forget removes the records of idle threads that still have these versions, and returns their ids.
func (t *threads) forget(idle map[string]uint64) (ids []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, version := range idle {
		if record := t.records[id]; record != nil && record.version == version && record.isIdle() {
			t.applyLocked(id, threadEnded{})
			ids = append(ids, id)
		}
	}
	rest := 0
	for _, record := range t.records {
		if record.isIdle() {
			rest++
		}
	}
	t.forgetAt = 2 * rest // they are likely to stay
	return ids
}

// threadEnded: Codex has neither the thread nor one of its agents in memory.
type threadEnded struct{ endsThread }

func (threadEnded) change(r *threadRecord) { *r = threadRecord{} }
