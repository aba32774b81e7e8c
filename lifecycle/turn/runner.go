package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"codex-bridge/rpc"
)

// Session is the thread of a session, open in this Codex.
type Session struct {
	Thread *Thread
	// Turn returns turn/start. It is called again where the turn has to wait for another.
	Turn func(ctx context.Context) (json.RawMessage, error)
	// Stuck is called if a turn took too long and can't be interrupted. It returns the consequence, for the caller's
	// error. nil: there is none.
	Stuck func() string
}

// Sessions open threads.
type Sessions interface {
	// Open opens the thread of a session, or starts one where there is none. An error
	// for which IsThreadGone is true has the thread replaced.
	Open(ctx context.Context, key string) (Session, error)
	// Replace starts a new thread in the place of one that Codex does not know.
	Replace(ctx context.Context, key string) (Session, error)
}

const (
	// noText is the reply of a turn that has said nothing.
	noText = "Codex completed without a text reply."
	// noTextYet is that of one that was interrupted before it has.
	noTextYet = "The turn was interrupted before Codex replied."
	// interruptTimeout is how long an interrupt may take.
	interruptTimeout = 5 * time.Second
	// maxQueued is the maximum number of waiting turns of a session.
	maxQueued = 100
)

// Result is how a turn ended.
type Result struct {
	Thread    string `json:"threadId"`
	Turn      string `json:"turnId"`
	Status    Status `json:"status"`
	Text      string `json:"text"`
	Recovered bool   `json:"recovered,omitempty"`
	Problem   string `json:"error,omitempty"` // why it failed
}

// Runner runs turns.
type Runner struct {
	sessions Sessions
	queue    *Queue
}

// NewRunner returns a Runner for the sessions of s.
func NewRunner(s Sessions) *Runner { return &Runner{s, NewQueue(maxQueued)} }

// For returns a Runner for other Sessions that uses the same queue.
func (r *Runner) For(s Sessions) *Runner { return &Runner{s, r.queue} }

// Join takes the last place in the queue of a session; the caller must call RunAt with it.
func (r *Runner) Join(key string) (*Place, error) {
	place, err := r.queue.Join(key)
	if errors.Is(err, ErrQueueFull) {
		return nil, rpc.Errorf(rpc.CodeBusy, "%v", err)
	}
	return place, err
}

// InLine returns the number of turns that wait or run, of all sessions.
func (r *Runner) InLine() int { return r.queue.All() }

// RunAt runs one turn when the turns before its place are over. It is interrupted when it
// takes longer than within (see Timeout), or when ctx ends.
func (r *Runner) RunAt(ctx context.Context, place *Place, key string, within time.Duration) (Result, error) {
	var result Result
	err := place.Do(ctx, func(ctx context.Context) error {
		var err error
		result, err = r.recovered(ctx, key, within)
		return err
	})
	return result, err
}

// recovered runs a turn, and once more in another thread if its own is gone.
func (r *Runner) recovered(ctx context.Context, key string, within time.Duration) (Result, error) {
	session, err := r.sessions.Open(ctx, key)
	if err == nil {
		var result Result
		if result, err = runTurn(ctx, session, within); err == nil {
			return result, nil
		}
	}
	if !IsThreadGone(err) {
		return Result{}, err
	}
	if session, err = r.sessions.Replace(ctx, key); err != nil {
		return Result{}, fmt.Errorf("a new thread in place of one that is gone: %w", err)
	}
	result, err := runTurn(ctx, session, within)
	result.Recovered = err == nil
	return result, err
}

// runTurn runs one turn of a thread.
func runTurn(ctx context.Context, s Session, within time.Duration) (Result, error) {
	c := NewCollector(s.Thread.ID)
	defer s.Thread.Collect(c)()
	sent, err := s.Thread.start(ctx, func() (json.RawMessage, error) { return s.Turn(ctx) })
	if err != nil {
		return Result{}, err
	}
	c.Of(sent.Turn)
	within = Timeout(within)
	waits, cancel := context.WithTimeoutCause(ctx, within, errTimeout)
	defer cancel()
	out, err := c.Wait(waits)
	if err != nil {
		return Result{}, s.interrupt(ctx, sent.Turn, err, describeTimeout(within, c.Problem()))
	}
	result := Result{Thread: s.Thread.ID, Turn: sent.Turn, Status: out.Status, Text: out.Text, Problem: out.Problem}
	switch {
	case out.Text == "" && out.Status == StatusCompleted:
		result.Text = noText
	case out.Text == "" && out.Status == StatusInterrupted:
		result.Text = noTextYet
	}
	return result, nil
}

// errTimeout ends the wait for a turn.
var errTimeout = errors.New("the turn timed out")

// describeTimeout describes a turn that took too long. problem is what Codex reported last.
func describeTimeout(within time.Duration, problem string) string {
	text := fmt.Sprintf("the turn timed out after %v", within)
	if problem != "" {
		text += fmt.Sprintf(" (Codex last reported: %s)", problem)
	}
	return text
}

// interrupt interrupts a turn for which the wait has ended with cause, and returns the error for the caller. late
// describes the turn if it took too long.
func (s Session) interrupt(caller context.Context, id string, cause error, late string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(caller), interruptTimeout)
	defer cancel()
	failed := s.Thread.Interrupt(ctx, id)
	switch {
	case !errors.Is(cause, errTimeout) && failed == nil:
		return cause
	case !errors.Is(cause, errTimeout):
		return fmt.Errorf("%w; the turn could not be interrupted: %v", cause, failed) //nolint:errorlint // the first is what callers look for
	case failed == nil:
		return rpc.Errorf(rpc.CodeDeadline, "%s and was interrupted; if it needs longer, set a longer time", late)
	}
	// Codex answers an interrupt when the turn has ended. The next turn in this thread would wait for that end.
	if s.Stuck != nil && ctx.Err() != nil && caller.Err() == nil {
		return rpc.Errorf(rpc.CodeDeadline, "%s and could not be interrupted within %v; %s", late, interruptTimeout, s.Stuck())
	}
	return rpc.Errorf(rpc.CodeDeadline, "%s and could not be interrupted: %v", late, failed)
}

const (
	defaultTimeout = 20 * time.Minute
	minTimeout     = 100 * time.Millisecond
)

// Timeout returns how long a turn may take: the requested time, 20 minutes if it is 0, and at
// least 100 ms.
func Timeout(asked time.Duration) time.Duration {
	if asked == 0 {
		return defaultTimeout
	}
	return max(asked, minTimeout)
}
