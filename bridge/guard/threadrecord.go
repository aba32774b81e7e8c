package guard

import (
	"slices"

	"codex-bridge.example/bridge/policy"
)

// threadRecord is what the guard knows of one thread. It ends when Codex has neither the thread nor one
// of its agents in memory. The mutex of threads guards it.
type threadRecord struct {
	// verified is the thread if it may take turns: the policies allow its last reported settings.
	// Under audit all threads are verified; differences were logged, and each turn is checked.
	verified *thread
	// pending is the verification that asks the disk; nil if there is none.
	pending *verification
	// extraPolicies are the policies that the thread is checked against beside the active one. The
	// slice is replaced, never changed.
	extraPolicies []*policy.Policy
	// folderDigests are the digests of the policy files of the thread's folders, of which the thread has the
	// policies; nil after the thread was opened.
	folderDigests map[string]string
	// mayRerun reports that the thread had an approval policy under which an accepted command may leave
	// the sandbox. A turn may go on with the policy after it was changed.
	mayRerun bool
	// openedByClient reports that the client has tried to open the thread. It never counts as the
	// subagent of another thread.
	openedByClient bool
	// gateChanges are the pending requests that change the thread's gate.
	gateChanges []*gateChange
	// shownApprovals are the approval policies that the clients see which get notifications of the thread.
	shownApprovals map[*Guard]string
	// recordedGate is what the GateRecord has of the thread; nil if the guard has not written it.
	recordedGate *gateState
	// updates are the latest reports of its settings.
	updates settingsUpdates
	// loaded is what Codex may have in memory; nil if no request has opened the thread.
	loaded *loadedThread
	// changed is the number of the last change of the record.
	changed uint64
}

// recordLocked returns the record of a thread to change it; it creates one if there is none.
func (t *threads) recordLocked(id string) *threadRecord {
	record := t.records[id]
	if record == nil {
		if t.records == nil {
			t.records = make(map[string]*threadRecord)
		}
		record = new(threadRecord)
		t.records[id] = record
	}
	t.recordChanges++
	record.changed = t.recordChanges
	return record
}

// loadedLocked returns what Codex may have in memory of a thread, to change it.
func (t *threads) loadedLocked(id string) *loadedThread {
	record := t.recordLocked(id)
	if record.loaded == nil {
		record.loaded = new(loadedThread)
	}
	return record.loaded
}

// copies returns the thread as it is verified, and as it is being verified.
func (r *threadRecord) copies() []*thread {
	var all []*thread
	if r.verified != nil {
		all = append(all, r.verified)
	}
	if r.pending != nil && r.pending.one != nil && r.pending.one != r.verified {
		all = append(all, r.pending.one)
	}
	return all
}

// allowLocked lets a thread take turns.
func (t *threads) allowLocked(record *threadRecord, one *thread) {
	record.verified = one
	t.updateFoldersLocked()
}

// stopLocked lets a thread take no turns until a pending verification has ended.
func (t *threads) stopLocked(record *threadRecord) {
	if record.verified != nil {
		record.verified = nil
		t.updateFoldersLocked()
	}
}

// refuseLocked lets a thread take no turns until the client opens it again. A pending verification
// changes that no more.
func (t *threads) refuseLocked(id string) {
	if t.records[id] == nil {
		return
	}
	record := t.recordLocked(id)
	record.endVerification()
	t.stopLocked(record)
}

// stop lets a thread take no turns until its pending verification has ended.
func (t *threads) stop(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if record := t.records[id]; record != nil && record.pending != nil {
		t.stopLocked(record)
	}
}

// updateFoldersLocked sets folders after a change of the verified threads.
func (t *threads) updateFoldersLocked() {
	var folders []string
	for _, record := range t.records {
		if record.verified != nil {
			folders = append(folders, record.verified.Workspace)
		}
	}
	slices.Sort(folders)
	folders = slices.Compact(folders)
	t.folders.Store(&folders)
}

// revoke removes a thread from the verified ones until the client opens it again. Codex may still have
// it in memory.
func (t *threads) revoke(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if record := t.records[id]; record != nil && record.loaded != nil {
		record.loaded.enforced, record.loaded.varied = false, true
	}
	t.refuseLocked(id)
}

// removeVerified removes a thread from the verified ones. The rest of its record stays as it is.
func (t *threads) removeVerified(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refuseLocked(id)
}

// revokeAll removes all threads from the verified ones. A response that opens a thread still counts.
func (t *threads) revokeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, record := range t.records {
		if record.pending != nil && record.pending.opens {
			record.pending.one = nil
			t.stopLocked(record)
			continue
		}
		if record.verified != nil || record.pending != nil {
			t.refuseLocked(id)
		}
	}
}

// count returns the number of threads that may take turns.
func (t *threads) count() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, record := range t.records {
		if record.verified != nil {
			n++
		}
	}
	return n
}

// isOpenedByClient reports whether the client has tried to open the thread.
func (t *threads) isOpenedByClient(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	record := t.records[id]
	return record != nil && record.openedByClient
}
