package bridge

import (
	"sync"
	"time"
)

// outbox writes lines to a side that may have stopped to listen: in the order in which they
// are put, from one goroutine, which is there as long as lines are.
type outbox struct {
	write func(line []byte)

	mu    sync.Mutex
	less  sync.Cond // fewer wait
	lines []outgoing
	busy  bool // the goroutine runs
	late  bool // somebody has waited in vain since the last line was written
	full  bool // the last line that was to be told was too much
}

type outgoing struct {
	line    []byte
	written chan struct{}
}

func newOutbox(write func([]byte)) *outbox {
	o := &outbox{write: write}
	o.less.L = &o.mu
	return o
}

// put has a line written, and does not wait; written is closed then.
func (o *outbox) put(line []byte) (written <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.add(line)
}

// add is put with the lock held.
func (o *outbox) add(line []byte) <-chan struct{} {
	next := outgoing{line, make(chan struct{})}
	o.lines = append(o.lines, next)
	if !o.busy {
		o.busy = true
		go o.empty() // ends when nothing waits
	}
	return next.written
}

// tell is put for a line that need not be said at any price: where most lines wait already
// it is not, and tooMuch is called, once until there is room again. It waits until the line
// is written, soon at most, and not where that was in vain just before.
func (o *outbox) tell(line []byte, most int, tooMuch func()) {
	o.mu.Lock()
	if len(o.lines) >= most {
		first := !o.full
		o.full = true
		o.mu.Unlock()
		if first {
			tooMuch()
		}
		return
	}
	o.full = false
	written, late := o.add(line), o.late
	o.mu.Unlock()
	if late {
		return
	}
	timer := time.NewTimer(soon)
	defer timer.Stop()
	select {
	case <-written:
	case <-timer.C:
		o.mu.Lock()
		o.late = true
		o.mu.Unlock()
	}
}

// wait waits until fewer lines than most wait.
func (o *outbox) wait(most int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.lines) >= most {
		o.less.Wait()
	}
}

// idle waits until nothing waits.
func (o *outbox) idle() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.busy {
		o.less.Wait()
	}
}

func (o *outbox) empty() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.lines) > 0 {
		next := o.lines[0]
		o.mu.Unlock()
		o.write(next.line)
		close(next.written)
		o.mu.Lock()
		o.lines[0] = outgoing{}
		o.lines = o.lines[1:]
		o.late = false
		o.less.Broadcast()
	}
	o.lines, o.busy = nil, false
	o.less.Broadcast()
}
