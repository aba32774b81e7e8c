package bridge

import (
	"sync"
	"time"

	"codex-bridge/rpc"
)

// asked are the requests that the client has heard and not answered, and those that
// are held back from it, by rpc.ID.Key. A client answers once: what comes under the
// same id again is an answer to nothing, and so is an answer to what it has not heard.
type asked struct {
	ids *ownIDs // of our own: no answer to them is for anybody else, whenever it comes

	mu    sync.Mutex
	m     map[string]*question
	ended bool
}

// question is one request to the client.
type question struct {
	held  bool                // the client has not heard it
	on    []func(*Reply)      // of codex's: who wants to see the answer
	own   chan<- *rpc.Message // of ours: it goes here, and no further
	timer *time.Timer         // nil: it waits for ever
}

func newAsked() *asked { return &asked{ids: newOwnIDs(), m: make(map[string]*question)} }

// add is called before the client hears of it.
func (a *asked) add(id rpc.ID, q *question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.m[id.Key()] = q
}

// hear says who wants to see the client's answer.
func (a *asked) hear(q *question, on []func(*Reply)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q.on = on
}

// within has q wait no longer than d, where it is still a question. late is called then,
// once it is one no more; it must not wait.
func (a *asked) within(id rpc.ID, q *question, d time.Duration, late func()) {
	key := id.Key()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.m[key] != q {
		return
	}
	q.timer = time.AfterFunc(d, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.m[key] != q || a.ended { // answered, or the id was given again
			return
		}
		delete(a.m, key)
		late()
	})
}

// drop is for a question that needs no answer any more.
func (a *asked) drop(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q, ok := a.m[key]; ok {
		a.remove(key, q)
	}
}

// answered takes out the question that the client has answered.
func (a *asked) answered(key string) (*question, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q, ok := a.m[key]
	if !ok || q.held {
		return nil, false
	}
	a.remove(key, q)
	return q, true
}

// answer takes out q, where it is still one, and calls answer then, which must not
// wait.
func (a *asked) answer(key string, q *question, answer func()) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.m[key] != q || a.ended {
		return false
	}
	a.remove(key, q)
	answer()
	return true
}

// remove is called with the lock held.
func (a *asked) remove(key string, q *question) {
	delete(a.m, key)
	if q.timer != nil {
		q.timer.Stop()
	}
}

// end stops all clocks.
func (a *asked) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	for _, q := range a.m {
		if q.timer != nil {
			q.timer.Stop()
		}
	}
}
