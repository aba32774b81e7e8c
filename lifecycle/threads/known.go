package threads

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/lifecycle/params"
)

// thread is what is known of an open thread.
type thread struct {
	session  string // "" it belongs to none
	model    string
	cwd      string
	effort   string // "" is the model's usual one
	approval string // the word that is in force; "" if there is none, or unknown
	sandbox  string // the mode; "" if it has none, or unknown
	// excluded has the temporary folders that its last workspace-write does not make writable, or that of the
	// request that opened it.
	excluded setting.Excluded
	trigger  params.Trigger
	// bootstrapped tells that it was resumed, and had been told the conversation when it
	// started.
	bootstrapped bool
	// fresh reports that it was started for a session, and that no turn has run in it.
	fresh bool
}

// known are the open threads that something has to be known of. It may be used by several
// goroutines.
type known struct {
	mu     sync.Mutex
	m      map[string]thread
	count  atomic.Int64
	bounds atomic.Int64
}

func (k *known) any() bool      { return k.count.Load() > 0 }
func (k *known) anyBound() bool { return k.bounds.Load() > 0 }

func (k *known) get(id string) (thread, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, ok := k.m[id]
	return t, ok
}

func (k *known) all() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Sorted(maps.Keys(k.m))
}

// put takes note of a thread that was opened. One that is open already has the mode of
// its last turn here.
func (k *known) put(id string, t thread) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.m == nil {
		k.m = make(map[string]thread)
	}
	if was, ok := k.m[id]; ok {
		t.trigger, t.fresh, t.excluded = was.trigger, t.fresh || was.fresh, t.excluded.And(was.excluded)
		if t.session == "" {
			t.session, t.bootstrapped = was.session, was.bootstrapped
		}
	}
	k.m[id] = t
	k.only(t.session, id)
	k.tally()
}

// bind has an open thread be the session's, with the mode of its last turn.
func (k *known) bind(id, session string, mode params.Trigger) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t, ok := k.m[id]; ok {
		t.session, t.trigger = session, mode
		k.m[id] = t
	}
	k.only(session, id)
	k.tally()
}

// unbind leaves a session without a thread.
func (k *known) unbind(session string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.only(session, "")
	k.tally()
}

// only has no thread but one be the session's: those that it had may stay open, and who names
// one of them means that, not the session. It is called under the lock.
func (k *known) only(session, id string) {
	if session == "" {
		return
	}
	for other, t := range k.m {
		if other != id && t.session == session {
			t.session = ""
			k.m[other] = t
		}
	}
}

// change changes what is known of a thread, if anything is.
func (k *known) change(id string, f func(*thread)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t, ok := k.m[id]; ok {
		f(&t)
		k.m[id] = t
		k.tally()
	}
}

func (k *known) forget(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.m, id)
	k.tally()
}

func (k *known) tally() {
	bound := 0
	for _, t := range k.m {
		if t.session != "" {
			bound++
		}
	}
	k.count.Store(int64(len(k.m)))
	k.bounds.Store(int64(bound))
}
