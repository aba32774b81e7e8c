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
		if g.children.find(g.world.CodexHome, id) == nil && !g.threads.isOpenedByClient(id) {
			return
		}
		delete(idle, id)
		for range maxParents {
			one := g.children.find(g.world.CodexHome, id)
			if one == nil {
				break
			}
			id = one.Parent
			delete(idle, id)
		}
	}
	for _, id := range g.threads.forget(idle) {
		g.calls.forget(id)
		g.patches.forget(id)
	}
}

// idleThread is a thread that takes no turns and that no request is about.
type idleThread struct {
	changed  uint64    // number of the last change of its record; 0 if it has none, as an agent
	writable *[]string // see writableFolders
}

// idle returns the idle threads, nil if there are few.
func (t *threads) idle() map[string]idleThread {
	t.mu.Lock()
	defer t.mu.Unlock()
	idle := make(map[string]idleThread)
	for id, writable := range t.writable.threads() {
		idle[id] = idleThread{writable: writable}
	}
	for id, record := range t.records {
		if t.isIdleLocked(id) {
			idle[id] = idleThread{record.changed, idle[id].writable}
		} else {
			delete(idle, id)
		}
	}
	if len(idle) < max(t.forgetAt, minIdle) {
		return nil
	}
	return idle
}

func (t *threads) isIdleLocked(id string) bool {
	if t.opening[id] != nil || t.resuming[id] != nil {
		return false
	}
	record := t.records[id]
	return record == nil || record.verified == nil && record.pending == nil && len(record.gateChanges) == 0
}

// forget removes the records of idle threads that have not changed since, and returns their ids.
func (t *threads) forget(idle map[string]idleThread) (ids []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, was := range idle {
		changed := uint64(0)
		if record := t.records[id]; record != nil {
			changed = record.changed
		}
		if changed == was.changed && t.isIdleLocked(id) {
			delete(t.records, id)
			t.writable.removeIf(id, was.writable)
			ids = append(ids, id)
		}
	}
	rest := 0
	for id := range t.records {
		if t.isIdleLocked(id) {
			rest++
		}
	}
	t.forgetAt = 2 * rest // they are likely to stay
	return ids
}
