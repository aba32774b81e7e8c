package turn

import (
	"context"
	"encoding/json"
)

// newTestInbox returns an Inbox with turns that have the thread's settings, and without a question.
func newTestInbox(o InboxOptions) *Inbox {
	o.Start = func(input []json.RawMessage) (json.RawMessage, error) {
		return json.Marshal(map[string]any{"threadId": o.Thread.ID, "input": input})
	}
	if o.Answer == nil {
		o.Answer = func(string) bool { return false }
	}
	if o.Failed == nil {
		o.Failed = func(Message, error) {}
	}
	return NewInbox(o)
}

// Enqueue calls Put and waits for the delivery.
func (b *Inbox) Enqueue(ctx context.Context, m Message) (Delivery, error) {
	wait, err := b.Put(m)
	if err != nil {
		return Delivery{}, err
	}
	return wait(ctx)
}

// Settled reports whether no message waits and the fate of all sent input is known.
func (b *Inbox) Settled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.takeLost()
	return len(b.line) == 0 && len(b.sent) == 0
}

// Do joins the queue and calls f at its place.
func (l *Queue) Do(ctx context.Context, key string, f func(context.Context) error) error {
	p, err := l.Join(key)
	if err != nil {
		return err
	}
	return p.Do(ctx, f)
}

// Waiting returns the number of places for the key, including the running one.
func (l *Queue) Waiting(key string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lines[key])
}
