package host

import (
	"context"
	"sync"
	"sync/atomic"
)

// running are the calls under way.
type running struct {
	count atomic.Int64 // len(calls), for a look without the lock

	mu    sync.Mutex
	calls map[*callUnderWay]struct{}
}

type callUnderWay struct {
	thread, turn, id string
	end              context.CancelFunc
}

func (r *running) add(c *callUnderWay) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.calls = make(map[*callUnderWay]struct{})
	}
	r.calls[c] = struct{}{}
	r.count.Store(int64(len(r.calls)))
}

func (r *running) remove(c *callUnderWay) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.calls, c)
	r.count.Store(int64(len(r.calls)))
}

// any tells whether there are calls.
func (r *running) any() bool { return r.count.Load() > 0 }

// end ends the calls that fit.
func (r *running) end(fits func(*callUnderWay) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.calls {
		if fits(c) {
			c.end()
		}
	}
}

func (r *running) endAll() { r.end(func(*callUnderWay) bool { return true }) }
