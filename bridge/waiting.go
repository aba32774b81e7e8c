package bridge

import (
	"bytes"
	"sync"
	"sync/atomic"

	"codex-bridge/rpc"
)

// waiter is a request whose answer somebody here wants.
type waiter struct {
	id     rpc.ID
	answer chan *rpc.Envelope // ours
	client []func(*Answer)    // a client's
}

// waiting are the requests under way whose answers are wanted, by rpc.ID.Key.
type waiting struct {
	ids   *ownIDs      // of requests of ours: their answers are for nobody else, whenever they come
	count atomic.Int64 // len(m), for a look without the lock

	mu   sync.Mutex
	m    map[string]*waiter
	ours map[string]chan<- []byte // where the answers to Peer.Request go, each of which holds one
	last *waiter                  // of whom has has said that nobody here wants the answer
}

func newWaiting() *waiting {
	return &waiting{ids: newOwnIDs(), m: make(map[string]*waiter), ours: make(map[string]chan<- []byte)}
}

func (w *waiting) own() *waiter {
	id := w.ids.next()
	one := &waiter{id: id, answer: make(chan *rpc.Envelope, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.m[id.Key()] = one
	w.count.Store(int64(len(w.m)))
	return one
}

// Bounds of what a client may have under way, where the bridge keeps its requests.
const (
	mostWaiting = 4096    // requests; as many again of those that are urgent
	longestID   = 1 << 10 // bytes of an id, as it is written
)

// add keeps a client's request. Two under one id could not be told apart.
func (w *waiting) add(id rpc.ID, urgent bool, f []func(*Answer)) *rpc.Error {
	if len(id.Raw()) > longestID {
		return rpc.Errorf(rpc.CodeInvalidRequest, "an id of %d bytes; the longest that is kept has %d", len(id.Raw()), longestID)
	}
	most := mostWaiting
	if urgent {
		most *= 2
	}
	id = id.Clone()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.m) >= most && !w.ids.made(id.Key()) {
		return rpc.Errorf(rpc.CodeOverloaded, "%d requests are under way already; read their answers, and try again", len(w.m))
	}
	if _, ok := w.m[id.Key()]; ok {
		return rpc.Errorf(rpc.CodeInvalidRequest, "id %s is that of a request still under way; use each id once", id.Raw())
	}
	w.m[id.Key()] = &waiter{id: id, client: f}
	w.count.Store(int64(len(w.m)))
	return nil
}

func (w *waiting) drop(key string) *waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.m[key]
	delete(w.m, key)
	w.count.Store(int64(len(w.m)))
	return one
}

// any tells whether has would say yes to anything.
func (w *waiting) any() bool { return w.count.Load() > 0 || w.ids.some() }

// has tells whether an answer of that id must not just pass: somebody here wants it, or it is
// to a request of ours. One that nobody wants is over with it.
func (w *waiting) has(key []byte) bool {
	if w.ids.madeRaw(key) {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	one, ok := w.m[string(key)] // does not allocate
	if !ok || one.answer != nil || len(one.client) > 0 {
		return ok
	}
	delete(w.m, string(key))
	w.last = one
	w.count.Store(int64(len(w.m)))
	return false
}

// again is for an answer that has passed and broke off: it was none.
func (w *waiting) again(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last != nil && w.last.id.Key() == key && w.m[key] == nil {
		w.m[key] = w.last
		w.count.Store(int64(len(w.m)))
	}
}

// left are the client's requests that have no answer, which they will not get any more.
func (w *waiting) left() (ids []rpc.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, one := range w.m {
		if !w.ids.made(key) {
			ids = append(ids, one.id)
		}
	}
	clear(w.m)
	w.count.Store(0)
	return ids
}

// expect has the answer to a request of ours, as it would go to the client, go to answer.
func (w *waiting) expect(id rpc.ID, answer chan<- []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ours[id.Key()] = answer
}

// answers gives an answer to the feature that has asked, if it still waits; false: it is the
// client's.
func (w *waiting) answers(id rpc.ID, line []byte) bool {
	key := id.Key()
	if !w.ids.made(key) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if answer, ok := w.ours[key]; ok {
		delete(w.ours, key)
		answer <- bytes.Clone(line)
	}
	return true
}

// forget is for a request of ours that nobody waits for any more.
func (w *waiting) forget(id rpc.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.ours, id.Key())
}
