package tools

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// straggle is how long a step of a call is waited for when its time is up: to end what it
// has started takes a moment, and what it still says is of use.
const straggle = 2 * time.Second

var (
	errStraggler = errors.New("it did not end when its time was up")
	errNoResult  = errors.New("it ended without a result")
)

// A fault is a panic of what was called.
type fault struct{ value any }

func (f *fault) Error() string { return fmt.Sprintf("a fault in the program: %v", f.value) }

// stage runs one step of a call. Whatever the step does, stage comes back: with what the
// step said, that it panicked, or, a moment after ctx has ended, without it.
func stage[T any](ctx context.Context, r *Runner, step func(context.Context) (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	r.steps.Go(func() {
		o := outcome{err: errNoResult} // of one that ends its goroutine
		defer func() { done <- o }()
		defer func() {
			if value := recover(); value != nil {
				o.err = &fault{value}
				r.o.Log.Error("a tool call panicked", "fault", value, "stack", string(debug.Stack()))
			}
		}()
		o.value, o.err = step(ctx)
	})
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
	}
	late := time.NewTimer(straggle)
	defer late.Stop()
	select {
	case o := <-done:
		return o.value, o.err
	case <-late.C:
		var none T
		return none, errStraggler
	}
}
