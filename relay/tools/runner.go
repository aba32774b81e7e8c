package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"codex-bridge.example/bridge/problem"
)

var (
	errTimeout  = errors.New("its timeout passed")
	errShutdown = errors.New("the bridge is shutting down")
)

const withheldText = "The result of this tool is withheld: one of the host's result handlers failed."

// Runner answers calls. It may be used by many goroutines at once.
type Runner struct {
	catalogue *Catalogue
	options   Options
	slots     slotPool
	detectors loopDetectors

	ctx  context.Context // ends with Close
	stop context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup // running Answer calls
	steps  sync.WaitGroup // steps that calls have started
}

// NewRunner returns a Runner for the catalogue's tools. The caller must call Close.
func NewRunner(c *Catalogue, o Options) *Runner {
	r := &Runner{catalogue: c, options: o.withDefaults(), slots: slotPool{byTool: map[string]chan struct{}{}}, detectors: loopDetectors{turns: map[string]*turnDetector{}}}
	r.ctx, r.stop = context.WithCancelCause(context.Background())
	return r
}

// Close ends running calls, which are still answered, and waits for their steps.
func (r *Runner) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop(errShutdown)
	r.calls.Wait()
	r.steps.Wait()
}

// Answer runs a call and always returns one answer: the result, a failure, or a timeout.
// The call ends when ctx does, which is at an interrupt. The steps Before and Handlers have
// the maximum timeout.
func (r *Runner) Answer(ctx context.Context, call Call) Answer {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return r.failed("The call was not run: %v.", errShutdown)
	}
	r.calls.Add(1)
	r.mu.Unlock()
	defer r.calls.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.ctx, func() { cancel(context.Cause(r.ctx)) })()

	call.Arguments = objectOrEmpty(call.Arguments)
	answer := r.answerUnlessLooping(ctx, &call)
	for _, after := range r.options.After {
		r.notify(func() { after(ctx, call, answer) })
	}
	return answer
}

func (r *Runner) failed(format string, args ...any) Answer {
	return failureAnswer(fmt.Sprintf(format, args...), r.options.Limits.MaxText)
}

// notify calls an observer and logs its panic.
func (r *Runner) notify(observe func()) {
	defer func() {
		if value := recover(); value != nil {
			r.options.Log.Error("an observer of tool calls panicked", "fault", value)
		}
	}()
	observe()
}

// answerUnlessLooping answers a call, and refuses one that is in a loop.
func (r *Runner) answerUnlessLooping(ctx context.Context, call *Call) Answer {
	t, fault := r.find(ctx, *call)
	if fault != "" {
		return r.failed("%s", fault)
	}
	if !r.options.Limits.Loops {
		return Convert(r.runToResult(ctx, call, t), r.options.Limits.MaxText)
	}
	asked := *call
	a := newAttempt(asked, t == nil)
	v := r.detectors.judge(asked, a)
	if v.action == loopBlock {
		return r.failed("%s", v.text())
	}
	result := r.runToResult(ctx, call, t)
	answer := Convert(result, r.options.Limits.MaxText)
	r.detectors.ran(asked, a, answer)
	if v.action == loopWarn {
		if len(result.Content) == 0 {
			result.Content = answer.Items
		}
		result.Content = append([]Content{{Text: v.text() + "\n"}}, result.Content...)
		answer = Convert(result, r.options.Limits.MaxText)
	}
	return answer
}

// find returns the tool of a call; nil if there is none. A provider may be slow to list its
// tools.
func (r *Runner) find(ctx context.Context, call Call) (t *tool, fault string) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.options.Limits.Timeout))
	defer cancel()
	t, err := runStep(ctx, r, func(context.Context) (*tool, error) { return r.catalogue.find(call.Namespace, call.Name), nil })
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Sprintf("The call was not run: %v.", endReason(ctx))
	}
	return t, ""
}

// runToResult runs a call; a refusal becomes a failed result.
func (r *Runner) runToResult(ctx context.Context, call *Call, t *tool) Result {
	result, refusal := r.runSteps(ctx, call, t)
	if refusal != "" {
		return Result{Content: []Content{{Text: refusal}}, Failed: true}
	}
	return result
}

// runSteps runs the steps of a call. A refusal is a text of the bridge.
func (r *Runner) runSteps(ctx context.Context, call *Call, t *tool) (result Result, refusal string) {
	if t == nil {
		return Result{}, fmt.Sprintf("There is no tool %q here. It may have been there when this thread was started.", displayName(call.Namespace, call.Name))
	}
	for _, before := range r.options.Before {
		next, refusal := r.runBefore(ctx, before, *call)
		if refusal != "" {
			return Result{}, refusal
		}
		call.Arguments = objectOrEmpty(next.Arguments)
	}
	if fault := t.schema.check(call.Arguments); fault != "" {
		return Result{}, fmt.Sprintf("The call was not run: its arguments do not match its schema: %s. Fix them and call it again.", strings.TrimSuffix(fault, "."))
	}
	result, fixed := r.runTool(ctx, *call, t)
	if err := result.check(); err != nil {
		r.options.Log.Warn("a result of a tool is withheld", "tool", displayName(call.Namespace, call.Name), "error", err)
		result = Result{Content: []Content{{Text: fmt.Sprintf("The result of this tool is withheld: %v. A tool gives an image as a data: URL.", err)}}, Failed: true, Timeout: result.Timeout}
	}
	if fixed != "" {
		result = Result{Content: append([]Content{{Text: fixed}}, result.Content...), Failed: true, Timeout: result.Timeout}
	}
	if ctx.Err() != nil && len(r.options.Handlers) > 0 { // the handlers can't run any more
		return Result{}, cmp.Or(fixed, fmt.Sprintf("The tool was ended: %v.", endReason(ctx)))
	}
	timeout := result.Timeout
	for _, handler := range r.options.Handlers {
		result = r.runHandler(ctx, handler, *call, result)
	}
	result.Timeout = timeout
	return result, ""
}

// runBefore runs one Before step.
func (r *Runner) runBefore(ctx context.Context, runBefore Before, call Call) (Call, string) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.options.Limits.MaxTimeout))
	defer cancel()
	type said struct {
		call    Call
		refusal string
	}
	s, err := runStep(ctx, r, func(ctx context.Context) (s said, err error) {
		s.call, s.refusal = runBefore(ctx, call)
		return s, nil
	})
	switch {
	case ctx.Err() != nil && (err != nil || s.refusal == ""):
		return call, fmt.Sprintf("The call was not run: %v.", endReason(ctx))
	case err != nil:
		return call, "The call was not run: a check that must allow it failed."
	}
	return s.call, s.refusal
}

// runTool runs the tool. fixed is a text of the bridge to put first.
func (r *Runner) runTool(ctx context.Context, call Call, t *tool) (result Result, fixed string) {
	own, err := runStep(ctx, r, func(context.Context) (time.Duration, error) { return t.provider.Timeout(call.Name), nil })
	if err != nil {
		own = 0
	}
	limit := r.options.timeout(requestedTimeout(call.Arguments), own)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	back, ok := r.slots.acquire(ctx, codeModeName(call.Namespace, call.Name))
	if !ok {
		if errors.Is(context.Cause(ctx), errTimeout) {
			return Result{}, fmt.Sprintf("The call was not run: %d others of the same tool were running for all of its %s.", maxParallel, limit)
		}
		return Result{}, fmt.Sprintf("The call was not run: %v.", endReason(ctx))
	}
	result, err = runStep(ctx, r, func(ctx context.Context) (Result, error) {
		defer back()
		return t.provider.Run(ctx, call)
	})
	var panicked *panicError
	switch {
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), errTimeout):
		result.Timeout = limit
		return result, fmt.Sprintf("The tool was ended: it had no result within its timeout of %s.", limit)
	case ctx.Err() != nil:
		return result, fmt.Sprintf("The tool was ended: %v.", endReason(ctx))
	case errors.As(err, &panicked):
		return Result{}, "The tool failed by a fault in the program that runs it."
	case err != nil:
		return Result{Content: append([]Content{{Text: problem.Text(err)}}, result.Content...), Failed: true}, ""
	}
	return result, ""
}

// endReason returns why a call was ended, other than by its own timeout.
func endReason(ctx context.Context) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, context.Canceled):
		return errors.New("the turn was interrupted")
	case errors.Is(cause, context.DeadlineExceeded):
		return errTimeout
	default:
		return cause
	}
}

// runHandler passes a result through one handler.
func (r *Runner) runHandler(ctx context.Context, handler Handler, call Call, result Result) Result {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.options.Limits.MaxTimeout))
	defer cancel()
	next, err := runStep(ctx, r, func(ctx context.Context) (Result, error) { return handler(ctx, call, result) })
	if err == nil {
		err = next.check()
	}
	if err != nil {
		r.options.Log.Warn("a handler of tool results failed", "tool", displayName(call.Namespace, call.Name), "error", err)
		return Result{Content: []Content{{Text: withheldText}}, Failed: true}
	}
	return next
}

// check validates the result of a tool or of a handler.
func (r Result) check() error {
	for i, c := range r.Content {
		switch {
		case c.Text != "" && c.Image != "":
			return fmt.Errorf("piece %d of the result is both a text and an image", i)
		case c.Image != "" && !strings.HasPrefix(c.Image, "data:"):
			return fmt.Errorf("piece %d of the result is an image without a data URL", i)
		}
	}
	return nil
}

// objectOrEmpty returns arguments, or {} unless they are an object. Codex forwards whatever
// the model wrote, even a list (measured with 0.169.0).
func objectOrEmpty(arguments json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(arguments, &members) != nil || members == nil {
		return json.RawMessage("{}")
	}
	return arguments
}

// requestedTimeout returns the argument timeoutMs if it is a positive number, else 0.
func requestedTimeout(arguments json.RawMessage) time.Duration {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(arguments, &members)
	var ms *float64
	if json.Unmarshal(members["timeoutMs"], &ms) != nil || ms == nil || *ms <= 0 {
		return 0
	}
	whole := math.Floor(*ms)
	if whole > float64(math.MaxInt64/int64(time.Millisecond)) {
		return math.MaxInt64
	}
	return max(time.Duration(whole)*time.Millisecond, 1) // a fraction of a millisecond counts too
}
