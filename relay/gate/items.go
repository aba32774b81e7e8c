package gate

import (
	"sync"
	"sync/atomic"
)

// items are the calls that a person was asked about here.
type items struct {
	mu        sync.Mutex
	announced ring[struct{}] // by call: the client has been told that it started
	accepted  ring[accepted] // by subject
	count     atomic.Int64   // of announced, for a look without the lock
}

// accepted is a yes.
type accepted struct {
	turn   string
	leaves bool // they were told that it leaves the sandbox
}

// any tells whether the start of an item has to be looked at.
func (i *items) any() bool { return i.count.Load() > 0 }

func (i *items) announce(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.announced.add(id, struct{}{})
	i.count.Store(int64(i.announced.len()))
}

// known tells, once, whether an item was announced.
func (i *items) known(id string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	_, ok := i.announced.take(id)
	i.count.Store(int64(i.announced.len()))
	return ok
}

func (i *items) accept(q *question) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if subject := q.subject(); subject != "" {
		i.accepted.add(subject, accepted{q.call.TurnID, q.why.Leaves})
	}
}

// take tells, once, whether there was a yes; turn "": in whichever turn.
func (i *items) take(subject, turn string) (leaves, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	yes, ok := i.accepted.take(subject)
	return yes.leaves, ok && (turn == "" || turn == yes.turn)
}

// most bounds what is kept: a turn has a few calls under way, and Codex does not always
// come back to one.
const most = 256

// ring keeps the newest entries.
type ring[V any] struct {
	m     map[string]V
	order []string // the oldest first
}

func (r *ring[V]) len() int { return len(r.m) }

func (r *ring[V]) add(key string, v V) {
	if r.m == nil {
		r.m = make(map[string]V)
	}
	if _, ok := r.m[key]; !ok {
		r.order = append(r.order, key)
	}
	r.m[key] = v
	if len(r.order) > most {
		delete(r.m, r.order[0])
		r.order = r.order[1:]
	}
}

func (r *ring[V]) take(key string) (V, bool) {
	v, ok := r.m[key]
	if ok {
		delete(r.m, key)
		for i, one := range r.order {
			if one == key {
				r.order = append(r.order[:i], r.order[i+1:]...)
				break
			}
		}
	}
	return v, ok
}
