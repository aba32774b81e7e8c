package acp

import (
	"context"
	"slices"
	"sync"
)

// mostOnce is how many answers are kept; the oldest is forgotten first.
const mostOnce = 1_000

// once gives those who ask for the same one answer.
type once struct {
	mu      sync.Mutex
	answers map[string]*answer
	order   []string
}

type answer struct {
	known  chan struct{}
	result Result
}

// do has make called for the first with a key; the others wait for its answer.
func (o *once) do(ctx context.Context, key string, do func() Result) Result {
	if key == "" {
		return do()
	}
	o.mu.Lock()
	one, found := o.answers[key]
	if !found {
		one = &answer{known: make(chan struct{})}
		o.keep(key, one)
	}
	o.mu.Unlock()
	if !found {
		one.result = do()
		if one.result.Status != Accepted { // whoever tries again, tries again
			o.mu.Lock()
			o.forget(key)
			o.mu.Unlock()
		}
		close(one.known)
		return one.result
	}
	select {
	case <-one.known:
		return one.result
	case <-ctx.Done():
		return *no(Failed, "the spawn with that idempotencyKey is still under way: %v", context.Cause(ctx))
	}
}

// keep is called with o.mu held.
func (o *once) keep(key string, one *answer) {
	if o.answers == nil {
		o.answers = make(map[string]*answer)
	}
	if len(o.order) == mostOnce {
		o.forget(o.order[0])
	}
	o.answers[key] = one
	o.order = append(o.order, key)
}

// forget is called with o.mu held.
func (o *once) forget(key string) {
	delete(o.answers, key)
	o.order = slices.DeleteFunc(o.order, func(one string) bool { return one == key })
}
