package acp

import (
	"context"
	"slices"
	"sync"

	"codex-bridge.example/bridge/problem"
)

// maxResults is the maximum number of stored results; the oldest is dropped.
const maxResults = 1_000

// once gives all requests with the same idempotency key one result.
type once struct {
	mu      sync.Mutex
	answers map[string]*answer
	order   []string
}

type answer struct {
	known  chan struct{}
	result Result
}

// do calls f for the first request with a key. The others wait for its result. A failed request is
// forgotten, so that it can be retried.
func (o *once) do(ctx context.Context, key string, f func() Result) Result {
	if key == "" {
		return f()
	}
	o.mu.Lock()
	one, found := o.answers[key]
	if !found {
		one = &answer{known: make(chan struct{})}
		o.keep(key, one)
	}
	o.mu.Unlock()
	if !found {
		one.result = f()
		if one.result.Status != Accepted {
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
		return *no(Failed, "the spawn with that idempotencyKey is still under way: %v", problem.Text(context.Cause(ctx)))
	}
}

// keep stores an answer. o.mu must be locked.
func (o *once) keep(key string, one *answer) {
	if o.answers == nil {
		o.answers = make(map[string]*answer)
	}
	if len(o.order) == maxResults {
		o.forget(o.order[0])
	}
	o.answers[key] = one
	o.order = append(o.order, key)
}

// forget removes an answer. o.mu must be locked.
func (o *once) forget(key string) {
	delete(o.answers, key)
	o.order = slices.DeleteFunc(o.order, func(one string) bool { return one == key })
}
