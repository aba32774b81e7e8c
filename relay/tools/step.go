package tools

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// stepGrace is how long a step may continue after its timeout: ending processes takes a
// moment, and what it returns is still useful.
const stepGrace = 2 * time.Second

var (
	errStepHangs = errors.New("it did not end at its timeout")
	errNoResult  = errors.New("it ended without a result")
)

// panicError is a panic in a step.
type panicError struct{ value any }

func (f *panicError) Error() string { return fmt.Sprintf("internal error: %v", f.value) }

// runStep runs one step of a call. It always returns: with the step's result, with its
// panic, or soon after ctx has ended without either.
func runStep[T any](ctx context.Context, r *Runner, step func(context.Context) (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	r.steps.Go(func() {
		o := outcome{err: errNoResult} // if the step ends its goroutine
		defer func() { done <- o }()
		defer func() {
			if value := recover(); value != nil {
				o.err = &panicError{value}
				r.options.Log.Error("a tool call panicked", "fault", value, "stack", string(debug.Stack()))
			}
		}()
		o.value, o.err = step(ctx)
	})
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
	}
	late := time.NewTimer(stepGrace)
	defer late.Stop()
	select {
	case o := <-done:
		return o.value, o.err
	case <-late.C:
		var none T
		return none, errStepHangs
	}
}

// maxParallel is how many calls of one tool run at once. Other calls wait.
const maxParallel = 8

// slotPool limits how many calls of a tool run at once.
type slotPool struct {
	mu     sync.Mutex
	byTool map[string]chan struct{} // by code mode name
}

// acquire waits for a slot. The caller must call back to release it.
func (s *slotPool) acquire(ctx context.Context, key string) (back func(), ok bool) {
	s.mu.Lock()
	places := s.byTool[key]
	if places == nil {
		places = make(chan struct{}, maxParallel)
		s.byTool[key] = places
	}
	s.mu.Unlock()
	select {
	case places <- struct{}{}:
		return func() { <-places }, true
	case <-ctx.Done():
		return nil, false
	}
}
