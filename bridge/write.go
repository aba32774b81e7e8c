package bridge

import (
	"context"
	"time"
)

// soon is how long a side that listens may take to be told something: it should hear of a
// question before it hears that this is over, however short its time was.
const soon = 250 * time.Millisecond

// write has f write to a side that may have stopped to listen, and waits until it has; not
// much longer than ctx, and than codex lives. f goes on all the same, until the side listens
// again or is gone; done is closed then.
func (p *Proxy) write(ctx context.Context, f func()) (done <-chan struct{}) {
	written := make(chan struct{})
	go func() { // ends with f
		defer close(written)
		f()
	}()
	select {
	case <-written:
		return written
	case <-p.child.Done():
		return written
	case <-ctx.Done():
	}
	timer := time.NewTimer(soon)
	defer timer.Stop()
	select {
	case <-written:
	case <-p.child.Done():
	case <-timer.C:
	}
	return written
}

// after calls f, or has it called once done is closed where it is not yet.
func after(done <-chan struct{}, f func()) {
	select {
	case <-done:
		f()
	default:
		go func() { // ends when the side listens again, or with the process
			<-done
			f()
		}()
	}
}
