package threads

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/lifecycle/params"
)

// thread is the state of an open thread.
type thread struct {
	session  string // "" if it belongs to none
	model    string
	cwd      string
	effort   string // "" for the model's default
	approval string // the effective policy's name; "" if it has none, or is unknown
	sandbox  string // the mode; "" if it has none, or unknown
	// excluded has the temporary folders that the last workspace-write sandbox, or the opening request, does not
	// make writable.
	excluded setting.Excluded
	trigger  params.Trigger
	// bootstrapped means that the thread was resumed, and got a projection of the session's history when it
	// started.
	bootstrapped bool
	// fresh means that it was started for a session, and no turn has run in it.
	fresh bool
}

// known has the open threads by id. Several goroutines may use it.
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

// put adds an opened thread. A thread that is open already keeps the mode of its last turn.
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

// bind gives an open thread to a session, with the mode of its last turn.
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

// unbind takes the thread from a session.
func (k *known) unbind(session string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.only(session, "")
	k.tally()
}

// only takes all threads but one from a session. The others may stay open: a request that names one of them
// means that thread, not the session. The caller holds the lock.
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

// change changes the state of a thread, if it is open.
func (k *known) change(id string, f func(*thread)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t, ok := k.m[id]; ok {
		f(&t)
		k.m[id] = t
		k.tally()
	}
}

// forget removes a thread.
func (k *known) forget(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.m, id)
	k.tally()
}

// tally counts the open and the bound threads, for any and anyBound. The caller holds the lock.
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
