package turns

import (
	"context"
	"time"

	"codex-bridge.example/lifecycle/turn"
	"codex-bridge.example/rpc"
)

// interrupt handles bridge/turn/interrupt: {sessionKey or threadId} → {threadId, turnId?}. turnId is
// the interrupted turn, absent if none was running. Waiting requests continue.
func (f *Feature) interrupt(p rpc.Value) (later, error) {
	a, err := addressOf(p)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		thread, err := f.threadOf(ctx, a)
		if err != nil {
			return nil, err
		}
		result := map[string]any{"threadId": thread}
		if !f.o.Threads.Open(thread) {
			return result, nil // no turn runs in an unloaded thread, and loading it could continue one
		}
		c := f.conversation(thread)
		if id, _ := c.thread.Turn(); id != "" {
			result["turnId"] = id
			err = c.thread.Interrupt(ctx, id)
		}
		return result, err
	}, nil
}

// watch is a requested compaction.
type watch struct {
	turn  string        // its turn; "" before its start
	began chan struct{} // closed when the turn starts or the thread closes
}

// compact handles bridge/turn/compact: {sessionKey or threadId, timeoutMs?} → {threadId, turnId,
// status, durationMs, error?}. It waits in the queue like a turn and responds when the compaction
// has ended.
func (f *Feature) compact(p rpc.Value) (later, error) {
	a, err := addressOf(p)
	if err != nil {
		return nil, err
	}
	within, err := timeout(p)
	if err != nil {
		return nil, err
	}
	place, err := f.runs.Join(a.key())
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (result any, err error) {
		err = place.Do(ctx, func(ctx context.Context) error {
			c, _, err := f.opened(ctx, a, nil)
			if err == nil {
				result, err = c.compact(ctx, turn.Timeout(within))
			}
			return err
		})
		return result, err
	}, nil
}

func (c *conversation) compact(ctx context.Context, within time.Duration) (any, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, rpc.Errorf(rpc.CodeDeadline, "the compaction has not ended within %v", within))
	defer cancel()
	for {
		changed := c.thread.Changed()
		if now, _ := c.thread.Turn(); now == "" {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	w := &watch{began: make(chan struct{})}
	out := turn.NewCollector(c.thread.ID)
	defer c.thread.Collect(out)()
	c.f.mu.Lock()
	if c.watch != nil { // requests by session and by thread have different queues
		c.f.mu.Unlock()
		return nil, rpc.Errorf(rpc.CodeBusy, "a compaction of this thread is under way; wait for its end")
	}
	c.watch = w
	c.f.mu.Unlock()
	defer func() {
		c.f.mu.Lock()
		c.watch = nil
		c.f.mu.Unlock()
	}()
	began := time.Now()
	if _, err := c.f.peer.CallAsClient(ctx, "thread/compact/start", map[string]any{"threadId": c.thread.ID}); err != nil {
		return nil, err
	}
	select {
	case <-w.began:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if w.turn == "" {
		return nil, errClosed
	}
	out.SetTurn(w.turn)
	end, err := out.Wait(ctx)
	if err != nil {
		return nil, err
	}
	result := map[string]any{"threadId": c.thread.ID, "turnId": w.turn, "status": end.Status, "durationMs": time.Since(began).Milliseconds()}
	if end.Problem != "" {
		result["error"] = end.Problem
	}
	return result, nil
}
