package turn

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge.example/rpc"
)

// codexFunc is a Codex that responds with the result of the function.
type codexFunc func(method string) (string, error)

func (c codexFunc) Call(_ context.Context, method string, _ any) (rpc.Value, error) {
	answer, err := c(method)
	if err != nil {
		return rpc.Value{}, err
	}
	doc, err := rpc.ParseValue([]byte(answer))
	if err != nil {
		return rpc.Value{}, err
	}
	return doc.Root(), nil
}

func event(kind EventKind, id string) Event {
	return Event{Kind: kind, Thread: "th", Turn: id, Echoes: true}
}

var input = []json.RawMessage{json.RawMessage(`{"type":"text","text":"x"}`)}

// The input of a turn that failed is not sent again: it would fail again.
func TestInputOfFailedTurnIsNotLost(t *testing.T) {
	th := NewThread("th", codexFunc(func(string) (string, error) { return `{"turn":{"id":"a"}}`, nil }))
	th.Take(event(EventStarted, "before"))
	th.Take(event(EventInput, "before"))
	th.Take(event(EventEnded, "before"))
	s, err := th.tryStart(t.Context(), json.RawMessage(`{"threadId":"th","input":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := th.Turn(); got != "a" || s.currentFate() != fatePending {
		t.Errorf("%q is running, and the fate is %v", got, s.currentFate())
	}
	th.Take(event(EventStarted, "a"))
	failed := event(EventEnded, "a")
	failed.Status = StatusFailed
	th.Take(failed)
	if s.currentFate() != fateDelivered {
		t.Errorf("the fate is %v", s.currentFate())
	}
}

// Input that joined another turn is lost when that turn ends without showing it.
func TestInputThatJoinedAnotherTurnIsLost(t *testing.T) {
	var th *Thread
	th = NewThread("th", codexFunc(func(string) (string, error) {
		th.Take(event(EventStarted, "a")) // the events come before the response
		th.Take(event(EventInput, "a"))
		th.Take(event(EventEnded, "a"))
		return `{"turn":{"id":"a"}}`, nil
	}))
	s, err := th.tryStart(t.Context(), json.RawMessage(`{"threadId":"th","input":[]}`))
	if err != nil || s.currentFate() != fateLost {
		t.Fatalf("%v, %v", s, err)
	}
	if got, _ := th.Turn(); got != "" {
		t.Errorf("%q is running", got)
	}
}

// The turn's events decide the fate of a steer without a response.
func TestSteerWithoutResponseIsPending(t *testing.T) {
	th := NewThread("th", codexFunc(func(string) (string, error) { return "", rpc.Errorf(rpc.CodeDeadline, "no answer") }))
	th.Take(event(EventStarted, "a"))
	s, err := th.steer(t.Context(), "a", input)
	if err != nil || s.currentFate() != fatePending {
		t.Fatalf("%v, %v", s, err)
	}
	if _, err := th.steer(t.Context(), "a", input); !errors.Is(err, errNoTurn) {
		t.Errorf("the next one, which could overtake it: %v", err)
	}
	th.Take(event(EventInput, "a"))
	th.Take(event(EventEnded, "a"))
	if s.currentFate() != fateLost {
		t.Errorf("the fate is %v", s.currentFate())
	}
}

// start retries while a review without notifications is running.
func TestStartWaitsForUnannouncedReview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var over atomic.Bool
		th := NewThread("th", codexFunc(func(string) (string, error) {
			if !over.Load() {
				return "", rpc.Errorf(rpc.CodeUpstream, "codex refused turn/start: failed to submit turn input: ActiveTurnNotSteerable { turn_kind: Review }")
			}
			return `{"turn":{"id":"a"}}`, nil
		}))
		go func() { time.Sleep(time.Minute); over.Store(true) }()
		begun := time.Now()
		asked := func() (json.RawMessage, error) { return json.RawMessage(`{"threadId":"th","input":[]}`), nil }
		s, err := th.start(t.Context(), asked)
		if err != nil || s.Turn != "a" || time.Since(begun) < time.Minute {
			t.Fatalf("%v, %v, after %v", s, err, time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := th.start(ctx, asked); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second one beside it: %v", err)
		}
	})
}

func TestInterruptWithoutTurnSucceeds(t *testing.T) {
	th := NewThread("th", codexFunc(func(string) (string, error) {
		return "", rpc.Errorf(rpc.CodeUpstream, "codex refused turn/interrupt: no active turn to interrupt")
	}))
	if err := th.Interrupt(t.Context(), "a"); err != nil {
		t.Error(err)
	}
}

func TestIsThreadGone(t *testing.T) {
	for text, want := range map[string]bool{
		"codex refused turn/start: thread not found: 0": true, "Thread Not Found: 0": true,
		"no rollout found for thread id 0": true, "model overloaded": false,
	} {
		if got := IsThreadGone(errors.New(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if IsThreadGone(nil) {
		t.Error("nothing is wrong")
	}
}

// Steer and Interrupt wait for turn/started.
func TestSteerAndInterruptWaitForStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var active atomic.Bool
		th := NewThread("th", codexFunc(func(method string) (string, error) {
			if method != "turn/start" && !active.Load() {
				return "", rpc.Errorf(rpc.CodeUpstream, "codex refused %s: no active turn", method)
			}
			return `{"turn":{"id":"a"}}`, nil
		}))
		if _, err := th.tryStart(t.Context(), json.RawMessage(`{"threadId":"th","input":[]}`)); err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(time.Millisecond)
			active.Store(true)
			th.Take(event(EventStarted, "a"))
		}()
		if _, err := th.steer(t.Context(), "a", input); err != nil {
			t.Error(err)
		}
		if err := th.Interrupt(t.Context(), "a"); err != nil || !active.Load() {
			t.Errorf("%v", err)
		}
	})
}
