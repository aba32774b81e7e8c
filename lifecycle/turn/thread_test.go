package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge/lifecycle/turn"
	"codex-bridge/rpc"
)

type codex func(method string) (string, error)

func (c codex) Ask(_ context.Context, method string, _ any) (rpc.Value, error) {
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

func event(kind turn.Kind, id string) turn.Event {
	return turn.Event{Kind: kind, Thread: "th", Turn: id, Echoes: true}
}

var input = []json.RawMessage{json.RawMessage(`{"type":"text","text":"x"}`)}

// A turn that fails before it has begun to speak is not sent once more: it would fail again.
func TestOwnTurnIsFinal(t *testing.T) {
	th := turn.NewThread("th", codex(func(string) (string, error) { return `{"turn":{"id":"a"}}`, nil }))
	th.Take(event(turn.Started, "before"))
	th.Take(event(turn.Heard, "before"))
	th.Take(event(turn.Ended, "before"))
	s, err := th.TryStart(t.Context(), json.RawMessage(`{"threadId":"th","input":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := th.Turn(); got != "a" || s.Fate() != turn.Open {
		t.Errorf("%q is running, and the fate is %v", got, s.Fate())
	}
	th.Take(event(turn.Started, "a"))
	failed := event(turn.Ended, "a")
	failed.Status = turn.Failed
	th.Take(failed)
	if s.Fate() != turn.Taken {
		t.Errorf("the fate is %v", s.Fate())
	}
}

// What has joined a turn of somebody else's is lost with it.
func TestJoinedIsLost(t *testing.T) {
	var th *turn.Thread
	th = turn.NewThread("th", codex(func(string) (string, error) {
		th.Take(event(turn.Started, "a")) // comes first, and the answer after the end
		th.Take(event(turn.Heard, "a"))
		th.Take(event(turn.Ended, "a"))
		return `{"turn":{"id":"a"}}`, nil
	}))
	s, err := th.TryStart(t.Context(), json.RawMessage(`{"threadId":"th","input":[]}`))
	if err != nil || s.Fate() != turn.Lost {
		t.Fatalf("%v, %v", s, err)
	}
	if got, _ := th.Turn(); got != "" {
		t.Errorf("%q is running", got)
	}
}

// A steer without an answer has its fate from the turn.
func TestDoubt(t *testing.T) {
	th := turn.NewThread("th", codex(func(string) (string, error) { return "", rpc.Errorf(rpc.CodeDeadline, "no answer") }))
	th.Take(event(turn.Started, "a"))
	s, err := th.Steer(t.Context(), "a", input)
	if err != nil || s.Fate() != turn.Open {
		t.Fatalf("%v, %v", s, err)
	}
	if _, err := th.Steer(t.Context(), "a", input); !errors.Is(err, turn.ErrNoTurn) {
		t.Errorf("the next one, which could overtake it: %v", err)
	}
	th.Take(event(turn.Heard, "a"))
	th.Take(event(turn.Ended, "a"))
	if s.Fate() != turn.Lost {
		t.Errorf("the fate is %v", s.Fate())
	}
}

// A turn waits for a review of which nothing was told, by asking again.
func TestStartWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var over atomic.Bool
		th := turn.NewThread("th", codex(func(string) (string, error) {
			if !over.Load() {
				return "", rpc.Errorf(rpc.CodeUpstream, "codex refused turn/start: failed to submit turn input: ActiveTurnNotSteerable { turn_kind: Review }")
			}
			return `{"turn":{"id":"a"}}`, nil
		}))
		go func() { time.Sleep(time.Minute); over.Store(true) }()
		begun := time.Now()
		asked := func() (json.RawMessage, error) { return json.RawMessage(`{"threadId":"th","input":[]}`), nil }
		s, err := th.Start(t.Context(), asked)
		if err != nil || s.Turn != "a" || time.Since(begun) < time.Minute {
			t.Fatalf("%v, %v, after %v", s, err, time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := th.Start(ctx, asked); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second one beside it: %v", err)
		}
	})
}

func TestInterruptOfNothing(t *testing.T) {
	th := turn.NewThread("th", codex(func(string) (string, error) {
		return "", rpc.Errorf(rpc.CodeUpstream, "codex refused turn/interrupt: no active turn to interrupt")
	}))
	if err := th.Interrupt(t.Context(), "a"); err != nil {
		t.Error(err)
	}
}

func TestGone(t *testing.T) {
	for text, want := range map[string]bool{
		"codex refused turn/start: thread not found: 0": true, "Thread Not Found: 0": true,
		"no rollout found for thread id 0": true, "model overloaded": false,
	} {
		if got := turn.Gone(errors.New(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if turn.Gone(nil) {
		t.Error("nothing is wrong")
	}
}

// A turn that was answered, and not told of yet, can't be steered or interrupted.
func TestToldFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var active atomic.Bool
		th := turn.NewThread("th", codex(func(method string) (string, error) {
			if method != "turn/start" && !active.Load() {
				return "", rpc.Errorf(rpc.CodeUpstream, "codex refused %s: no active turn", method)
			}
			return `{"turn":{"id":"a"}}`, nil
		}))
		if _, err := th.TryStart(t.Context(), json.RawMessage(`{"threadId":"th","input":[]}`)); err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(time.Millisecond)
			active.Store(true)
			th.Take(event(turn.Started, "a"))
		}()
		if _, err := th.Steer(t.Context(), "a", input); err != nil {
			t.Error(err)
		}
		if err := th.Interrupt(t.Context(), "a"); err != nil || !active.Load() {
			t.Errorf("%v", err)
		}
	})
}
