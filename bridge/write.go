package bridge

import "context"

// write has f write to a side that may have stopped to listen, and waits until it has; no
// longer than ctx, and than codex lives. f goes on all the same, until the side listens again
// or is gone; done is closed then.
func (p *Proxy) write(ctx context.Context, f func()) (done <-chan struct{}) {
	written := make(chan struct{})
	go func() { // ends with f
		defer close(written)
		f()
	}()
	select {
	case <-written:
	case <-ctx.Done():
	case <-p.child.Done():
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
