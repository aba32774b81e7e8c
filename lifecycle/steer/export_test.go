package steer

import (
	"context"
	"time"
)

// Enqueue is Put, and waits.
func (b *Box) Enqueue(ctx context.Context, m Message) (Result, error) {
	wait, err := b.Put(m)
	if err != nil {
		return Result{}, err
	}
	return wait(ctx)
}

// Flush ends the quiet time of what waits.
func (b *Box) Flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.quiet = time.Time{}
	b.ring()
}

// Settled tells whether nothing waits, and what was sent has arrived.
func (b *Box) Settled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.takeLost()
	return len(b.line) == 0 && len(b.sent) == 0
}
