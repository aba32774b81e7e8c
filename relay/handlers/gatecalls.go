package handlers

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Calls has the calls that a person was asked about. The Gates of all clients of one Codex share it: one
// client may accept a call, and another get Codex's own request about it. Safe for concurrent use.
type Calls struct {
	mu        sync.Mutex
	announced recentMap[[]*Gate]      // by call: whose clients have received item/started
	accepted  recentMap[acceptedCall] // by subject
	count     atomic.Int64            // number of announced calls, read without the lock
}

// acceptedCall is a call that the person has accepted.
type acceptedCall struct {
	turn      string
	escalated bool   // they were shown that it leaves the sandbox
	request   string // rpc.ID.Key of Codex's request that it counts for; "": none yet
}

// hasAnnounced reports whether an item/started may have to be dropped.
func (i *Calls) hasAnnounced() bool { return i.count.Load() > 0 }

func (i *Calls) announce(to *Gate, id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	all, _ := i.announced.take(id)
	i.announced.add(id, append(slices.Clip(all), to))
	i.count.Store(int64(i.announced.len()))
}

// takeAnnounced reports whether an item was announced to a client, and forgets it.
func (i *Calls) takeAnnounced(to *Gate, id string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	all, _ := i.announced.take(id)
	others := slices.DeleteFunc(slices.Clone(all), func(one *Gate) bool { return one == to })
	if len(others) > 0 {
		i.announced.add(id, others)
	}
	i.count.Store(int64(i.announced.len()))
	return len(others) < len(all)
}

// forget forgets the calls with an id in a thread.
func (i *Calls) forget(thread, id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.announced.take(callID(thread, id))
	i.count.Store(int64(i.announced.len()))
	for _, method := range []string{methodCommandApproval, methodPatchApproval, methodElicitation} {
		i.accepted.take(itemSubject(method, thread, id))
	}
}

// accept remembers that a call was accepted. A program of a call is none that Codex asks about.
func (i *Calls) accept(q *Question) {
	if q.isAboutProgram() {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.accepted.add(q.subject(), acceptedCall{turn: q.call.TurnID, escalated: q.reason.Escalated})
}

// takeAccepted reports whether a call was accepted. It counts for one request of Codex, which several
// clients may get. An empty turn matches any.
func (i *Calls) takeAccepted(subject, turn, request string) (leaves, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	yes, ok := i.accepted.m[subject]
	if !ok || yes.request != "" && yes.request != request {
		return false, false
	}
	if turn != "" && turn != yes.turn {
		i.accepted.take(subject)
		return false, false
	}
	yes.request = request
	i.accepted.add(subject, yes)
	return yes.escalated, true
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
