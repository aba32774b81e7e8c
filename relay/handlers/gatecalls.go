package handlers

import (
	"sync"
	"sync/atomic"
)

// callTracker keeps the calls that the person was asked about.
type callTracker struct {
	mu        sync.Mutex
	announced recentMap[struct{}]     // by call: the client has received item/started
	accepted  recentMap[acceptedCall] // by subject
	count     atomic.Int64            // number of announced calls, read without the lock
}

// acceptedCall is a call that the person has accepted.
type acceptedCall struct {
	turn      string
	escalated bool // they were shown that it leaves the sandbox
}

// hasAnnounced reports whether an item/started may have to be dropped.
func (i *callTracker) hasAnnounced() bool { return i.count.Load() > 0 }

func (i *callTracker) announce(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.announced.add(id, struct{}{})
	i.count.Store(int64(i.announced.len()))
}

// takeAnnounced reports whether an item was announced, and forgets it.
func (i *callTracker) takeAnnounced(id string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	_, ok := i.announced.take(id)
	i.count.Store(int64(i.announced.len()))
	return ok
}

// forget forgets the calls with an id in a thread.
func (i *callTracker) forget(thread, id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.announced.take(callID(thread, id))
	i.count.Store(int64(i.announced.len()))
	for _, method := range []string{methodCommandApproval, methodPatchApproval, methodElicitation} {
		i.accepted.take(itemSubject(method, thread, id))
	}
}

func (i *callTracker) accept(q *gateQuestion) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.accepted.add(q.subject(), acceptedCall{q.call.TurnID, q.reason.Escalated})
}

// takeAccepted reports whether a call was accepted, and forgets it. An empty turn matches
// any.
func (i *callTracker) takeAccepted(subject, turn string) (leaves, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	yes, ok := i.accepted.take(subject)
	return yes.escalated, ok && (turn == "" || turn == yes.turn)
}

// maxTracked is how many calls are kept. A turn has few pending calls, and Codex does not
// always ask about a call again.
const maxTracked = 256

// recentMap keeps the newest maxTracked entries.
type recentMap[V any] struct {
	m     map[string]V
	order []string // oldest first
}

func (r *recentMap[V]) len() int { return len(r.m) }

func (r *recentMap[V]) add(key string, v V) {
	if r.m == nil {
		r.m = make(map[string]V)
	}
	if _, ok := r.m[key]; !ok {
		r.order = append(r.order, key)
	}
	r.m[key] = v
	if len(r.order) > maxTracked {
		delete(r.m, r.order[0])
		r.order = r.order[1:]
	}
}

func (r *recentMap[V]) take(key string) (V, bool) {
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
