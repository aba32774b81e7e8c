package grants

import (
	"context"
	"sync"
)

// Questions are those that a person has not answered yet. Who asks the same as one of
// them waits for its answer. O is what comes of a question.
type Questions[O any] struct {
	mu   sync.Mutex
	open map[string]*question[O]
}

type question[O any] struct {
	settled chan struct{}
	outcome O // once settled is closed
}

// Join is called before a question is put. The leader puts it, and has to Settle it
// whatever happens; all others wait, as long as their context lasts.
func (q *Questions[O]) Join(k Key) (leader bool, wait func(context.Context) (O, error)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	one, pending := q.open[k.Digest()]
	if !pending || k.Digest() == "" { // what has no key is like nothing else
		one = &question[O]{settled: make(chan struct{})}
		if q.open == nil {
			q.open = make(map[string]*question[O])
		}
		if k.Digest() != "" {
			q.open[k.Digest()] = one
		}
		leader = true
	}
	return leader, one.wait
}

// Settle answers all who joined. Who asks after it is a leader again.
func (q *Questions[O]) Settle(k Key, outcome O) {
	q.mu.Lock()
	defer q.mu.Unlock()
	one, pending := q.open[k.Digest()]
	if !pending {
		return
	}
	delete(q.open, k.Digest())
	one.outcome = outcome
	close(one.settled)
}

func (q *question[O]) wait(ctx context.Context) (outcome O, err error) {
	select {
	case <-q.settled:
		return q.outcome, nil
	case <-ctx.Done():
		return outcome, context.Cause(ctx)
	}
}
