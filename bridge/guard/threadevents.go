package guard

import (
	"fmt"
	"slices"
)

// event is what changes the record of a thread: a request or response, a notification of Codex, an
// answer of the disk, or a new policy.
type event interface {
	// change changes the record. The mutex of threads is held, so it must not wait or ask the disk.
	change(r *threadRecord)
}

// addsRecord is part of events that add a record of a thread without one. Other events do nothing then.
type addsRecord struct{}

func (addsRecord) addRecord() {}

// endsThread is part of events after which no turn or call of the thread counts any more.
type endsThread struct{}

func (endsThread) endThread() {}

// checksRecords makes apply panic if a record contradicts itself. Tests set it.
var checksRecords bool

// apply lets an event change the record of a thread. All changes of records go through it: it numbers
// them, sets the views of all records, wakes who waits, and removes a record that has ended.
func (t *threads) apply(id string, e event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.applyLocked(id, e)
}

// applyAll is apply for each record.
func (t *threads) applyAll(e event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range t.records {
		t.applyLocked(id, e)
	}
}

func (t *threads) applyLocked(id string, e event) {
	if _, ends := e.(interface{ endThread() }); ends {
		for _, f := range t.onEnd {
			f(id)
		}
	}
	r := t.records[id]
	if r == nil {
		if _, adds := e.(interface{ addRecord() }); !adds {
			return
		}
		if t.records == nil {
			t.records = make(map[string]*threadRecord)
		}
		r = new(threadRecord)
		t.records[id] = r
	}
	before := *r
	e.change(r)
	t.recordChanges++
	r.version = t.recordChanges
	if before.pending != nil && before.pending != r.pending {
		close(before.pending.done)
	}
	t.writable.add(r.widened) // before the workspaces: who reads both without the lock sees no workspace without them
	r.widened = nil
	if before.verified != r.verified {
		t.updateFoldersLocked()
	}
	if r.isEmpty() {
		delete(t.records, id)
	}
	if checksRecords {
		if err := r.check(); err != nil {
			panic(fmt.Sprintf("after %T: %v: %+v", e, err, *r))
		}
	}
}

// updateFoldersLocked sets folders after a change of the verified threads.
func (t *threads) updateFoldersLocked() {
	var folders []string
	for _, record := range t.records {
		if record.state == verified {
			folders = append(folders, record.verified.Workspace)
		}
	}
	slices.Sort(folders)
	folders = slices.Compact(folders)
	t.folders.Store(&folders)
}

// diskSilent: the disk does not answer. The thread takes no turns until its verification has ended.
type diskSilent struct{}

func (diskSilent) change(r *threadRecord) {
	if r.pending != nil {
		r.stop()
	}
}

// threadRefused: the thread takes no turns until a client opens it again. The rest of its record stays.
type threadRefused struct{}

func (threadRefused) change(r *threadRecord) { r.end(refused) }

// threadRevoked: the thread takes no turns until a client opens it again. Codex may still have it in
// memory, with other settings than before.
type threadRevoked struct{}

func (threadRevoked) change(r *threadRecord) {
	if r.loaded != nil {
		r.loaded.enforced, r.loaded.varied = false, true
	}
	r.end(refused)
}

// enforcementBegun: no policy was enforced until now, so no thread may take turns. A response that
// opens a thread still counts.
type enforcementBegun struct{}

func (enforcementBegun) change(r *threadRecord) {
	switch {
	case r.pending != nil && r.pending.opens:
		r.pending.one = nil
		r.stop()
	case r.takesOrAwaitsTurns():
		r.end(refused)
	}
}

// threadUnsubscribed: the client gets no more notifications of a thread that it, or another one, has
// opened.
//
// Measured with Codex 0.169: the client does not even get thread/settings/updated, but Codex still takes
// turns and changes of settings. A resume of the idle thread opens it with the cwd and the sandbox of the
// request, as if Codex had not loaded it.
type threadUnsubscribed struct{ addsRecord }

func (threadUnsubscribed) change(r *threadRecord) {
	one := r.loadedThread()
	one.unsubscribed, one.varied = true, true // a pending request may change its settings
	r.end(unsubscribed)
}

// unsubscribe lets a thread take no turns after a client has left it. isOpened reports whether a client has
// opened the thread, or a parent of it.
func (t *threads) unsubscribe(id string, isOpened bool) {
	if isOpened {
		t.apply(id, threadUnsubscribed{})
	} else {
		t.apply(id, threadRefused{})
	}
}

// threadUnloaded: Codex has unloaded the thread. Its record keeps the earlier settings, which an agent of
// the thread may still have.
type threadUnloaded struct{ endsThread }

func (threadUnloaded) change(r *threadRecord) {
	if r.loaded == nil {
		*r = threadRecord{requests: r.requests, mayRerun: r.mayRerun && r.requests.any(), threadClients: threadClients{turns: r.turns}, child: r.child}
		return
	}
	r.end(unloaded)
	r.extraPolicies, r.folderDigests, r.updates, r.shownApprovals, r.writable = nil, nil, settingsUpdates{}, nil, nil
	r.loaded.unload()
}

// rolloutMoved: Codex writes the thread to another file, as after thread/revert.
type rolloutMoved struct{ file string }

func (e rolloutMoved) change(r *threadRecord) {
	for _, one := range r.copies() {
		one.Rollout = e.file
	}
	if r.child != nil && r.child.Path != e.file {
		moved := *r.child
		moved.Path = e.file
		r.child = &moved
	}
}
