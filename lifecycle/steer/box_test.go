package steer_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge/lifecycle/steer"
	"codex-bridge/lifecycle/turn"
	"codex-bridge/rpc"
)

// scripted is a Codex that answers as it is told.
type scripted struct {
	does func(method string) (string, error)
}

func (s scripted) Ask(_ context.Context, method string, _ any) (rpc.Value, error) {
	answer, err := s.does(method)
	if err != nil {
		return rpc.Value{}, err
	}
	doc, err := rpc.ParseValue([]byte(answer))
	if err != nil {
		return rpc.Value{}, err
	}
	return doc.Root(), nil
}

// boxed runs f with a Box that runs.
func boxed(t *testing.T, o steer.Options, does func(string) (string, error), f func(*testing.T, *steer.Box, *turn.Thread)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		thread := turn.NewThread("th", scripted{does})
		o.Thread = thread
		box := steer.New(o)
		ctx, cancel := context.WithCancel(t.Context())
		var worker sync.WaitGroup
		worker.Go(func() { box.Run(ctx) })
		f(t, box, thread)
		cancel()
		worker.Wait()
	})
}

func unasked(method string) (string, error) {
	return "", fmt.Errorf("codex is asked for %s", method)
}

func TestAnsweredFirst(t *testing.T) {
	open := true
	answer := func(text string) bool { was := open; open = false; return was && text == "blue" }
	boxed(t, steer.Options{Answer: answer}, unasked, func(t *testing.T, box *steer.Box, thread *turn.Thread) {
		thread.Take(turn.Event{Kind: turn.Started, Thread: "th", Turn: "u"})
		r, err := box.Enqueue(t.Context(), steer.Message{Input: text("blue"), Text: "blue", Quiet: time.Hour})
		if err != nil || r.Disposition != steer.Answered || box.Waiting() != 0 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestTakenBack(t *testing.T) {
	boxed(t, steer.Options{}, unasked, func(t *testing.T, box *steer.Box, _ *turn.Thread) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := box.Enqueue(ctx, steer.Message{Input: text("x"), Quiet: time.Minute})
		if !errors.Is(err, context.DeadlineExceeded) || box.Waiting() != 0 {
			t.Errorf("%v, %d wait", err, box.Waiting())
		}
		time.Sleep(time.Hour) // nothing is sent
	})
}

// A thread that takes no turn says so to who sends, and of what it said would wait to who
// wants to know.
func TestRefused(t *testing.T) {
	var failed []string
	o := steer.Options{Failed: func(m steer.Message, err error) { failed = append(failed, m.Text+": "+err.Error()) }}
	no := rpc.Errorf(rpc.CodeRefused, "this thread takes no turn")
	does := func(method string) (string, error) {
		if method == "turn/interrupt" {
			return `{}`, nil
		}
		return "", no
	}
	boxed(t, o, does, func(t *testing.T, box *steer.Box, thread *turn.Thread) {
		if _, err := box.Enqueue(t.Context(), steer.Message{Input: text("x")}); !errors.Is(err, no) {
			t.Errorf("%v", err)
		}
		thread.Take(turn.Event{Kind: turn.Started, Thread: "th", Turn: "u"})
		for _, mode := range []steer.Mode{steer.Followup, steer.Queue} {
			r, err := box.Enqueue(t.Context(), steer.Message{Input: text("x"), Text: string(mode), Mode: mode})
			if err != nil || r.Disposition != steer.Queued {
				t.Errorf("%+v, %v", r, err)
			}
		}
		thread.Take(turn.Event{Kind: turn.Ended, Thread: "th", Turn: "u"})
		synctest.Wait()
		if got := fmt.Sprint(failed); got != "[followup: "+no.Error()+" queue: "+no.Error()+"]" {
			t.Errorf("%s", got)
		}
	})
}

// One that interrupts is told of the turn that it has started.
func TestInterrupts(t *testing.T) {
	var thread *turn.Thread
	does := func(method string) (string, error) {
		if method == "turn/interrupt" {
			go func() {
				time.Sleep(time.Second)
				thread.Take(turn.Event{Kind: turn.Ended, Thread: "th", Turn: "u", Status: turn.Interrupted})
			}()
		}
		return `{"turn":{"id":"next"}}`, nil
	}
	boxed(t, steer.Options{}, does, func(t *testing.T, box *steer.Box, th *turn.Thread) {
		thread = th
		th.Take(turn.Event{Kind: turn.Started, Thread: "th", Turn: "u"})
		r, err := box.Enqueue(t.Context(), steer.Message{Input: text("x"), Mode: steer.Interrupt})
		if err != nil || r != (steer.Result{Disposition: steer.Started, Turn: "next"}) {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestNotTaken(t *testing.T) {
	boxed(t, steer.Options{Most: 1}, unasked, func(t *testing.T, box *steer.Box, thread *turn.Thread) {
		if _, err := box.Enqueue(t.Context(), steer.Message{}); !errors.Is(err, steer.ErrEmpty) {
			t.Errorf("an empty message: %v", err)
		}
		if _, err := box.Enqueue(t.Context(), steer.Message{Input: text("x"), Mode: "loud"}); err == nil {
			t.Error("a mode that is none")
		}
		thread.Take(turn.Event{Kind: turn.Started, Thread: "th", Turn: "u"})
		if _, err := box.Enqueue(t.Context(), steer.Message{Input: text("x"), Mode: steer.Followup}); err != nil {
			t.Error(err)
		}
		if _, err := box.Enqueue(t.Context(), steer.Message{Input: text("x")}); !errors.Is(err, steer.ErrFull) {
			t.Errorf("one too many: %v", err)
		}
	})
}

// A message without a text, an image say, answers no question: it would be lost.
func TestNoAnswer(t *testing.T) {
	does := func(string) (string, error) { return `{"turn":{"id":"u"}}`, nil }
	boxed(t, steer.Options{Answer: func(string) bool { return true }}, does, func(t *testing.T, box *steer.Box, _ *turn.Thread) {
		r, err := box.Enqueue(t.Context(), steer.Message{Input: text("an image"), Text: " "})
		if err != nil || r.Disposition != steer.Started {
			t.Errorf("%+v, %v", r, err)
		}
	})
}
