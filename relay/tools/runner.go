package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

var (
	errLate  = errors.New("its time was up")
	errClose = errors.New("the bridge is being shut down")
)

const withheld = "The result of this tool is withheld: one of the host's result handlers failed."

// Runner answers calls. It may be used by many goroutines at once.
type Runner struct {
	catalogue *Catalogue
	o         Options
	slots     slots
	detectors loopDetectors

	ctx  context.Context // ends with Close
	stop context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup // of Answer
	steps  sync.WaitGroup // of what the calls have begun
}

// NewRunner makes a Runner of the catalogue's tools. Close ends it.
func NewRunner(c *Catalogue, o Options) *Runner {
	r := &Runner{catalogue: c, o: o.filled(), slots: slots{of: map[string]chan struct{}{}}, detectors: loopDetectors{turns: map[string]*turnDetector{}}}
	r.slots.most = r.o.Parallel
	if o.Loops != nil {
		r.detectors.limits = *o.Loops
	}
	r.ctx, r.stop = context.WithCancelCause(context.Background())
	return r
}

// Close ends the calls that run, which are answered all the same, and waits for what they
// have begun.
func (r *Runner) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop(errClose)
	r.calls.Wait()
	r.steps.Wait()
}

// Answer answers a call. It always comes back with one answer: when the tool has said
// something or failed, or when its time is up. When ctx ends, at an interrupt, so does
// the call. Other steps of the host's, Before and Handlers, have the longest time that a
// call may take.
func (r *Runner) Answer(ctx context.Context, call Call) Answer {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return r.failed("The call was not run: %v.", errClose)
	}
	r.calls.Add(1)
	r.mu.Unlock()
	defer r.calls.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.ctx, func() { cancel(context.Cause(r.ctx)) })()

	call.Arguments = object(call.Arguments)
	answer := r.withoutLoop(ctx, &call)
	for _, after := range r.o.After {
		r.told(func() { after(ctx, call, answer) })
	}
	return answer
}

func (r *Runner) failed(format string, args ...any) Answer {
	return failed(fmt.Sprintf(format, args...), r.o.Limits.MaxText)
}

// told keeps a panic of an observer from being the call's.
func (r *Runner) told(observe func()) {
	defer func() {
		if value := recover(); value != nil {
			r.o.Log.Error("an observer of tool calls panicked", "fault", value)
		}
	}()
	observe()
}

// withoutLoop answers a call, unless the model repeats itself.
func (r *Runner) withoutLoop(ctx context.Context, call *Call) Answer {
	t, fault := r.find(ctx, *call)
	if fault != "" {
		return r.failed("%s", fault)
	}
	if r.o.Loops == nil {
		return Convert(r.result(ctx, call, t), r.o.Limits.MaxText)
	}
	asked := *call
	a := newAttempt(asked, t == nil, r.o.Poll(call.Namespace, call.Name))
	v := r.detectors.judge(asked, a)
	if v.action == loopBlock {
		return r.failed("%s", v.text())
	}
	result := r.result(ctx, call, t)
	answer := Convert(result, r.o.Limits.MaxText)
	r.detectors.ran(asked, a, answer)
	if v.action == loopWarn {
		if len(result.Content) == 0 {
			result.Content = answer.Items
		}
		result.Content = append([]Content{{Text: v.text() + "\n"}}, result.Content...)
		answer = Convert(result, r.o.Limits.MaxText)
	}
	return answer
}

// find finds the tool of a call; nil: there is none. A provider may take its time to say
// what it has.
func (r *Runner) find(ctx context.Context, call Call) (t *tool, fault string) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.o.Limits.Timeout))
	defer cancel()
	t, err := stage(ctx, r, func(context.Context) (*tool, error) { return r.catalogue.find(call.Namespace, call.Name), nil })
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Sprintf("The call was not run: %v.", ended(ctx))
	}
	return t, ""
}

// result is what comes of a call.
func (r *Runner) result(ctx context.Context, call *Call, t *tool) Result {
	result, refusal := r.run(ctx, call, t)
	if refusal != "" {
		return Result{Content: []Content{{Text: refusal}}, Failed: true}
	}
	return result
}

// run takes a call through its steps; a refusal is what the bridge itself has to say.
func (r *Runner) run(ctx context.Context, call *Call, t *tool) (result Result, refusal string) {
	if t == nil {
		return Result{}, fmt.Sprintf("There is no tool %q here. It may have been there when this thread was started.", called(call.Namespace, call.Name))
	}
	for _, before := range r.o.Before {
		next, refusal := r.before(ctx, before, *call)
		if refusal != "" {
			return Result{}, refusal
		}
		call.Arguments = object(next.Arguments)
	}
	if fault := t.schema.check(call.Arguments); fault != "" {
		return Result{}, fmt.Sprintf("The call was not run: its arguments are not what the tool takes: %s. Mend them and call it again.", strings.TrimSuffix(fault, "."))
	}
	result, fixed := r.provide(ctx, *call, t)
	if fixed != "" {
		result = Result{Content: append([]Content{{Text: fixed}}, result.Content...), Failed: true, Timeout: result.Timeout}
	}
	if ctx.Err() != nil && len(r.o.Handlers) > 0 { // they can't be asked any more
		return Result{}, cmp.Or(fixed, fmt.Sprintf("The tool was ended: %v.", ended(ctx)))
	}
	timeout := result.Timeout
	for _, handler := range r.o.Handlers {
		result = r.handle(ctx, handler, *call, result)
	}
	result.Timeout = timeout
	return result, ""
}

// before asks one of those that are asked before.
func (r *Runner) before(ctx context.Context, before Before, call Call) (Call, string) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.o.Limits.MaxTimeout))
	defer cancel()
	type said struct {
		call    Call
		refusal string
	}
	s, err := stage(ctx, r, func(ctx context.Context) (s said, err error) {
		s.call, s.refusal = before(ctx, call)
		return s, nil
	})
	switch {
	case ctx.Err() != nil && (err != nil || s.refusal == ""):
		return call, fmt.Sprintf("The call was not run: %v.", ended(ctx))
	case err != nil:
		return call, "The call was not run: what has to allow it failed."
	}
	return s.call, s.refusal
}

// provide runs the tool; fixed is what the bridge has to say of it before anything else.
func (r *Runner) provide(ctx context.Context, call Call, t *tool) (result Result, fixed string) {
	own, err := stage(ctx, r, func(context.Context) (time.Duration, error) { return t.provider.Timeout(call.Name), nil })
	if err != nil {
		own = 0
	}
	limit := r.o.timeout(askedTime(call.Arguments), own)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errLate)
	defer cancel()
	back, ok := r.slots.take(ctx, key(call.Namespace, call.Name))
	if !ok {
		if errors.Is(context.Cause(ctx), errLate) {
			return Result{}, fmt.Sprintf("The call was not run: %d others of the same tool were running for all of its %s.", r.o.Parallel, limit)
		}
		return Result{}, fmt.Sprintf("The call was not run: %v.", ended(ctx))
	}
	result, err = stage(ctx, r, func(ctx context.Context) (Result, error) {
		defer back()
		return t.provider.Run(ctx, call)
	})
	var panicked *fault
	switch {
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), errLate):
		result.Timeout = limit
		return result, fmt.Sprintf("The tool was ended: it had no result within its timeout of %s.", limit)
	case ctx.Err() != nil:
		return result, fmt.Sprintf("The tool was ended: %v.", ended(ctx))
	case errors.As(err, &panicked):
		return Result{}, "The tool failed by a fault in the program that runs it."
	case err != nil:
		return Result{Content: append([]Content{{Text: err.Error()}}, result.Content...), Failed: true}, ""
	}
	return result, ""
}

// ended tells why a call that is not late was ended.
func ended(ctx context.Context) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, context.Canceled):
		return errors.New("the turn was interrupted")
	case errors.Is(cause, context.DeadlineExceeded):
		return errLate
	default:
		return cause
	}
}

// handle gives a result to one of the handlers.
func (r *Runner) handle(ctx context.Context, handler Handler, call Call, result Result) Result {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.o.Limits.MaxTimeout))
	defer cancel()
	next, err := stage(ctx, r, func(ctx context.Context) (Result, error) { return handler(ctx, call, result) })
	if err == nil {
		err = next.check()
	}
	if err != nil {
		r.o.Log.Warn("a handler of tool results failed", "tool", called(call.Namespace, call.Name), "error", err)
		return Result{Content: []Content{{Text: withheld}}, Failed: true}
	}
	return next
}

// check tells what is wrong with a result that somebody has made of another.
func (r Result) check() error {
	for i, c := range r.Content {
		switch {
		case c.Text != "" && c.Image != "":
			return fmt.Errorf("piece %d of the result is both a text and an image", i)
		case c.Image != "" && !strings.HasPrefix(c.Image, "data:"):
			return fmt.Errorf("piece %d of the result is an image that is no data URL", i)
		}
	}
	return nil
}
