package bridge

import (
	"context"
	"time"
)

// soon is how long a side that listens may take to be told something: it should hear of a
// question before it hears that this is over, however short its time was.
const soon = 250 * time.Millisecond

// write has f write to a side that may have stopped to listen, and waits as until does. f goes
// on all the same, until the side listens again or is gone.
func (p *Proxy) write(ctx context.Context, f func()) {
	written := make(chan struct{})
	go func() { // ends with f
		defer close(written)
		f()
	}()
	p.until(ctx, written)
}

// until waits until something is written; not much longer than ctx, and than codex lives.
func (p *Proxy) until(ctx context.Context, written <-chan struct{}) {
	select {
	case <-written:
		return
	case <-p.child.Done():
		return
	case <-ctx.Done():
	}
	timer := time.NewTimer(soon)
	defer timer.Stop()
	select {
	case <-written:
	case <-p.child.Done():
	case <-timer.C:
	}
}
