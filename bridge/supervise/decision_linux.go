//go:build !portable && (amd64 || arm64)

package supervise

import (
	"context"
	"sync"
	"time"
)

// decision is a running decision about a process that waits. One that takes longer than the turn of its receiver is
// watched: it ends if the process is gone.
type decision struct {
	ctx          context.Context
	cancel       context.CancelFunc
	listener     listener
	notification *notification

	once    sync.Once
	watcher sync.WaitGroup
}

// maxWaiting is how many decisions may run, for instance wait for a person. Further programs do not start.
const maxWaiting = 256

// aliveInterval is how often a decision that takes time checks that its process still waits.
const aliveInterval = 200 * time.Millisecond

// decisions are those that run, at most maxWaiting. Safe for concurrent use.
type decisions struct {
	mu  sync.Mutex
	all map[*decision]struct{}
}

// add returns false if there are too many.
func (all *decisions) add(d *decision) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.all) == maxWaiting {
		return false
	}
	if all.all == nil {
		all.all = make(map[*decision]struct{})
	}
	all.all[d] = struct{}{}
	return true
}

// watch watches all decisions.
func (all *decisions) watch() {
	all.mu.Lock()
	defer all.mu.Unlock()
	for d := range all.all {
		d.watch()
	}
}

// end ends a decision, and returns how many run. When it returns, nothing uses the listener for the decision.
func (all *decisions) end(d *decision) (left int) {
	all.mu.Lock()
	delete(all.all, d)
	left = len(all.all)
	all.mu.Unlock()
	d.cancel()
	d.watcher.Wait()
	return left
}

// watch begins to watch a decision. It may be called several times.
func (d *decision) watch() {
	d.once.Do(func() { d.watcher.Go(d.cancelWhenGone) })
}

// cancelWhenGone ends the decision when its process waits no more.
func (d *decision) cancelWhenGone() {
	tick := time.NewTicker(aliveInterval)
	defer tick.Stop()
	for d.listener.waits(d.notification) {
		select {
		case <-d.ctx.Done():
			return
		case <-tick.C:
		}
	}
	d.cancel()
}
