package bridge

import (
	"sync"
	"time"

	"codex-bridge/rpc"
)

// asked are the requests that the client has heard and not answered, by rpc.ID.Key.
// A client answers once: what comes under the same id again is an answer to nothing.
type asked struct {
	mu    sync.Mutex
	m     map[string]*question
	ended bool
}

// question is one request to the client.
type question struct {
	on    []func(*Reply)      // of codex's: who wants to see the answer
	own   chan<- *rpc.Message // of ours: it goes here, and no further
	timer *time.Timer         // nil: it waits for ever
}

func newAsked() *asked { return &asked{m: make(map[string]*question)} }

// add is called before the client hears of it.
func (a *asked) add(id rpc.ID, q *question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.m[id.Key()] = q
}

// addFor is add for a question that waits no longer than d. late is called then, once
// it is no question any more; it must not wait.
func (a *asked) addFor(id rpc.ID, q *question, d time.Duration, late func()) {
	key := id.Key()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.m[key] = q
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

func (a *asked) drop(key string) (*question, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q, ok := a.m[key]
	delete(a.m, key)
	if ok && q.timer != nil {
		q.timer.Stop()
	}
	return q, ok
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
