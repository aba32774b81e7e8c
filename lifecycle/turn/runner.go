package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"codex-bridge.example/rpc"
)

// Session is the loaded thread of a session.
type Session struct {
	Thread *Thread
	// Turn returns the parameters of turn/start. It is called again for each attempt while another
	// turn is running.
	Turn func(ctx context.Context) (json.RawMessage, error)
	// Stuck is called if a turn took too long and can't be interrupted. It returns the consequence,
	// for the caller's error. It may be nil.
	Stuck func() string
}

// Opener opens the thread of a session.
type Opener interface {
	// Open opens the thread, or starts one. On an error for which IsThreadGone is true, Run calls
	// Replace.
	Open(context.Context) (Session, error)
	// Replace starts a new thread in place of a thread that Codex does not know.
	Replace(context.Context) (Session, error)
}

const (
	// noText is the reply of a completed turn without a message.
	noText = "Codex completed without a text reply."
	// noTextInterrupted is the reply of an interrupted turn without a message.
	noTextInterrupted = "The turn was interrupted before Codex replied."
	// interruptTimeout is the timeout of an interrupt.
	interruptTimeout = 5 * time.Second
)

// Result describes how a turn ended.
type Result struct {
	Thread    string `json:"threadId"`
	Turn      string `json:"turnId"`
	Status    Status `json:"status"`
	Text      string `json:"text"`
	Recovered bool   `json:"recovered,omitempty"`
	Problem   string `json:"error,omitempty"` // why it failed
}

// Run runs one turn when the turns before its place have ended, and again in a new thread if Codex
// does not know the session's thread. It interrupts the turn when the turn takes longer than within
// (see Timeout) or ctx ends.
func Run(ctx context.Context, place *Place, o Opener, within time.Duration) (result Result, err error) {
	err = place.Do(ctx, func(ctx context.Context) (err error) {
		result, err = openAndRun(ctx, o.Open, within)
		if !IsThreadGone(err) {
			return err
		}
		result, err = openAndRun(ctx, o.Replace, within)
		result.Recovered = err == nil
		return err
	})
	return result, err
}

func openAndRun(ctx context.Context, open func(context.Context) (Session, error), within time.Duration) (Result, error) {
	session, err := open(ctx)
	if err != nil {
		return Result{}, err
	}
	return runTurn(ctx, session, within)
}

// runTurn runs one turn of a thread.
func runTurn(ctx context.Context, s Session, within time.Duration) (Result, error) {
	c := NewCollector(s.Thread.ID)
	defer s.Thread.Collect(c)()
	sent, err := s.Thread.start(ctx, func() (json.RawMessage, error) { return s.Turn(ctx) })
	if err != nil {
		return Result{}, err
	}
	c.SetTurn(sent.Turn)
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
		result.Text = noTextInterrupted
	}
	return result, nil
}

// errTimeout is the cause when a turn takes longer than its timeout.
var errTimeout = errors.New("the turn timed out")

// describeTimeout describes a turn that took too long. problem is what Codex reported last.
func describeTimeout(within time.Duration, problem string) string {
	return fmt.Sprintf("the turn timed out after %v%s", within, LastReport(problem))
}

// LastReport returns the end of an error about a turn that took too long: the problem that Codex
// reported last, or "" if problem is empty.
func LastReport(problem string) string {
	if problem == "" {
		return ""
	}
	return fmt.Sprintf(" (Codex last reported: %s)", problem)
}

// interrupt interrupts a turn for which the wait has ended with cause, and returns the error for
// the caller. late describes the turn if it took too long.
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
	// Codex answers an interrupt when the turn has ended. The next turn in this thread would wait for
	// that end.
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
func Timeout(requested time.Duration) time.Duration {
	if requested == 0 {
		return defaultTimeout
	}
	return max(requested, minTimeout)
}
