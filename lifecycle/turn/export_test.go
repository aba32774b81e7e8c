package turn

import (
	"context"
	"time"
)

// Enqueue is Put, and waits.
func (b *Inbox) Enqueue(ctx context.Context, m Message) (Delivery, error) {
	wait, err := b.Put(m)
	if err != nil {
		return Delivery{}, err
	}
	return wait(ctx)
}

// Flush ends the quiet time of what waits.
func (b *Inbox) Flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.quiet = time.Time{}
	b.ring()
}

// Settled reports whether no message waits, and Codex has taken all that were sent.
func (b *Inbox) Settled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.takeLost()
	return len(b.line) == 0 && len(b.sent) == 0
}

// Do joins the line, and does f in its turn.
func (l *Queue) Do(ctx context.Context, key string, f func(context.Context) error) error {
	p, err := l.Join(key)
	if err != nil {
		return err
	}
	return p.Do(ctx, f)
}

// Waiting is how many stand in line for the key, with the one that is being served.
func (l *Queue) Waiting(key string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lines[key])
}
