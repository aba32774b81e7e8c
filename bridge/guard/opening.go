package guard

import (
	"context"
	"slices"
	"sync"

	"codex-bridge.example/bridge/policy"
)

// get returns a thread for a message of the client; nil if it may take no turn. While a request
// that opens the thread is pending, get waits until all features have handled the response, or
// until Codex has ended: a client may send thread/resume and turn/start at once. It also waits for
// the thread's verification.
func (t *threads) get(ctx context.Context, id string, ended <-chan struct{}) *policy.Thread {
	for {
		t.mu.Lock()
		waits := t.pendingLocked(id)
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

// pendingLocked returns a channel that is closed once it is known whether a thread may take turns; nil
// if that is known. A client's message and a tool call wait for it.
func (t *threads) pendingLocked(id string) <-chan struct{} {
	switch record := t.records[id]; {
	case record == nil:
		return nil
	case record.requests.opening != nil:
		return record.requests.opening
	case record.state == opening:
		return record.pending.done
	}
	return nil
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
	t.applyLocked(id, openRequested{waits: waits})
	return func() {
		t.apply(id, openAnswered{waits})
		close(waits)
	}
}

// openRequested: a request opens the thread, or ends its notifications.
type openRequested struct {
	addsRecord
	waits chan struct{}
}

func (e openRequested) change(r *threadRecord) { r.requests.opening = e.waits }

// openAnswered: all features have handled the response to a request that opens the thread.
type openAnswered struct{ waits chan struct{} }

func (e openAnswered) change(r *threadRecord) {
	if r.requests.opening == e.waits {
		r.requests.opening = nil
	}
}

// resuming are the pending requests of one client to resume a thread. Another client's wait: with which of
// them Codex loads the thread would not be known.
type resuming struct {
	client *Guard
	count  int
	done   chan struct{} // closed when count is 0
}

// beginResume waits until no other client resumes the thread. The caller calls done after the response. ok
// is false if Codex ends or ctx is done before.
func (t *threads) beginResume(ctx context.Context, id string, client *Guard, ended <-chan struct{}) (done func(), ok bool) {
	for {
		e := &resumeRequested{client: client}
		if t.apply(id, e); e.other == nil {
			return sync.OnceFunc(func() { t.apply(id, resumeAnswered{}) }), true
		}
		if !await(ctx, e.other, ended) {
			return nil, false
		}
	}
}

// resumeRequested: a client wants to resume the thread.
type resumeRequested struct {
	addsRecord
	client *Guard
	other  <-chan struct{} // set by change, if the request must wait for those of another client
}

func (e *resumeRequested) change(r *threadRecord) {
	switch one := r.requests.resuming; {
	case one == nil:
		r.requests.resuming = &resuming{client: e.client, count: 1, done: make(chan struct{})}
	case one.client != e.client:
		e.other = one.done
	default:
		one.count++
	}
}

// resumeAnswered: a request to resume the thread has its response.
type resumeAnswered struct{}

func (resumeAnswered) change(r *threadRecord) {
	one := r.requests.resuming
	if one.count--; one.count == 0 {
		r.requests.resuming = nil
		close(one.done)
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

// awaitOpening waits while a request that opens the thread is pending, or the thread's verification: Codex
// may continue a goal before the guard has handled the response.
func (g *Guard) awaitOpening(ctx context.Context, id string) {
	g.threads.mu.Lock()
	waits := g.threads.pendingLocked(id)
	g.threads.mu.Unlock()
	if waits != nil {
		await(ctx, waits, g.peer.CodexDone())
	}
}
