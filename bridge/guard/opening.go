package guard

import (
	"context"
	"slices"

	"codex-bridge/bridge/policy"
)

// get returns a thread for a message of the client; nil if it may take no turn. While a request
// that opens the thread is pending, get waits until all features have handled the response, or
// until Codex has ended: a client may send thread/resume and turn/start at once.
func (t *threads) get(ctx context.Context, id string, ended <-chan struct{}) *policy.Thread {
	for {
		t.mu.Lock()
		waits := t.opening[id]
		if waits == nil {
			defer t.mu.Unlock()
			return t.currentLocked(id, isGated)
		}
		t.mu.Unlock()
		if !await(ctx, waits, ended) {
			return nil
		}
	}
}

// await waits until answered is closed. It returns false if Codex ends or ctx is done first.
func await(ctx context.Context, answered, ended <-chan struct{}) bool {
	select {
	case <-answered:
		return true
	case <-ended:
	case <-ctx.Done():
	}
	return false
}

// beginOpening registers a pending request that opens a thread; id is empty if it is not known yet.
// The caller calls done after the response.
func (t *threads) beginOpening(id string) (done func()) {
	waits := make(chan struct{})
	t.mu.Lock()
	defer t.mu.Unlock()
	if id == "" {
		t.starting = append(slices.Clip(t.starting), waits)
		return func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.starting = slices.DeleteFunc(slices.Clone(t.starting), func(one chan struct{}) bool { return one == waits })
			close(waits)
		}
	}
	if t.opening == nil {
		t.opening = make(map[string]chan struct{})
	}
	t.opening[id] = waits
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.opening[id] == waits {
			delete(t.opening, id)
		}
		close(waits)
	}
}

// awaitOpenings waits for the pending requests that open the thread, or a thread whose id is not
// known yet.
//
// Measured with Codex 0.169: thread/loaded/list has the id of a new thread before Codex answers
// thread/start.
func (t *threads) awaitOpenings(ctx context.Context, id string, ended <-chan struct{}) {
	t.mu.Lock()
	starting := t.starting
	t.mu.Unlock()
	for _, waits := range starting {
		if !await(ctx, waits, ended) {
			return
		}
	}
	t.get(ctx, id, ended)
}

// awaitOpening waits while a request that opens the thread is pending: Codex may continue a goal
// before the guard has handled the response.
func (g *Guard) awaitOpening(ctx context.Context, id string) {
	g.threads.mu.Lock()
	waits := g.threads.opening[id]
	g.threads.mu.Unlock()
	if waits != nil {
		await(ctx, waits, g.peer.CodexDone())
	}
}
