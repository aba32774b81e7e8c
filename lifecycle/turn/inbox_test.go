package turn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge.example/rpc"
)

// withInbox calls f with a running Inbox whose Codex responds with does.
func withInbox(t *testing.T, o InboxOptions, does func(string) (string, error), f func(*testing.T, *Inbox, *Thread)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		thread := NewThread("th", codexFunc(does))
		o.Thread = thread
		box := newTestInbox(o)
		ctx, cancel := context.WithCancel(t.Context())
		var worker sync.WaitGroup
		worker.Go(func() { box.Run(ctx) })
		f(t, box, thread)
		cancel()
		worker.Wait()
	})
}

func rejectRequest(method string) (string, error) {
	return "", fmt.Errorf("codex is asked for %s", method)
}

func TestMessageAnswersPendingQuestion(t *testing.T) {
	open := true
	answer := func(text string) bool { was := open; open = false; return was && text == "blue" }
	withInbox(t, InboxOptions{Answer: answer}, rejectRequest, func(t *testing.T, box *Inbox, thread *Thread) {
		thread.Take(Event{Kind: EventStarted, Thread: "th", Turn: "u"})
		r, err := box.Enqueue(t.Context(), Message{Input: text("blue"), Text: "blue", Quiet: time.Hour})
		if err != nil || r.Disposition != DispositionAnswered || box.Waiting() != 0 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestMessageIsWithdrawnWhenSenderStopsWaiting(t *testing.T) {
	withInbox(t, InboxOptions{}, rejectRequest, func(t *testing.T, box *Inbox, _ *Thread) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := box.Enqueue(ctx, Message{Input: text("x"), Quiet: time.Minute})
		if !errors.Is(err, context.DeadlineExceeded) || box.Waiting() != 0 {
			t.Errorf("%v, %d wait", err, box.Waiting())
		}
		time.Sleep(time.Hour) // nothing is sent
	})
}

// The sender of a message gets an error if the thread takes no turn.
func TestSenderIsToldThatCodexRefused(t *testing.T) {
	var failed []string
	o := InboxOptions{Failed: func(m Message, err error) { failed = append(failed, m.Text+": "+err.Error()) }}
	no := rpc.Errorf(rpc.CodeRefused, "this thread takes no turn")
	does := func(method string) (string, error) {
		if method == "turn/interrupt" {
			return `{}`, nil
		}
		return "", no
	}
	withInbox(t, o, does, func(t *testing.T, box *Inbox, thread *Thread) {
		if _, err := box.Enqueue(t.Context(), Message{Input: text("x")}); !errors.Is(err, no) {
			t.Errorf("%v", err)
		}
		thread.Take(Event{Kind: EventStarted, Thread: "th", Turn: "u"})
		for _, mode := range []Mode{ModeFollowup, ModeQueue} {
			r, err := box.Enqueue(t.Context(), Message{Input: text("x"), Text: string(mode), Mode: mode})
			if err != nil || r.Disposition != DispositionQueued {
				t.Errorf("%+v, %v", r, err)
			}
		}
		thread.Take(Event{Kind: EventEnded, Thread: "th", Turn: "u"})
		synctest.Wait()
		if got := fmt.Sprint(failed); got != "[followup: "+no.Error()+" queue: "+no.Error()+"]" {
			t.Errorf("%s", got)
		}
	})
}

// A message that interrupts returns the turn that it has started.
func TestInterruptingMessageReturnsNewTurn(t *testing.T) {
	var thread *Thread
	does := func(method string) (string, error) {
		if method == "turn/interrupt" {
			go func() {
				time.Sleep(time.Second)
				thread.Take(Event{Kind: EventEnded, Thread: "th", Turn: "u", Status: StatusInterrupted})
			}()
		}
		return `{"turn":{"id":"next"}}`, nil
	}
	withInbox(t, InboxOptions{}, does, func(t *testing.T, box *Inbox, th *Thread) {
		thread = th
		th.Take(Event{Kind: EventStarted, Thread: "th", Turn: "u"})
		r, err := box.Enqueue(t.Context(), Message{Input: text("x"), Mode: ModeInterrupt})
		if err != nil || r != (Delivery{Disposition: DispositionStarted, Turn: "next"}) {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestInboxRejectsMessage(t *testing.T) {
	withInbox(t, InboxOptions{}, rejectRequest, func(t *testing.T, box *Inbox, thread *Thread) {
		box.maxMessages = 1
		thread.Take(Event{Kind: EventStarted, Thread: "th", Turn: "u"})
		if _, err := box.Enqueue(t.Context(), Message{Input: text("x"), Mode: ModeFollowup}); err != nil {
			t.Error(err)
		}
		if _, err := box.Enqueue(t.Context(), Message{Input: text("x")}); !errors.Is(err, ErrInboxFull) {
			t.Errorf("one too many: %v", err)
		}
	})
}

// A message without a text, such as an image, answers no question: it would be lost.
func TestMessageWithoutTextStartsTurn(t *testing.T) {
	does := func(string) (string, error) { return `{"turn":{"id":"u"}}`, nil }
	withInbox(t, InboxOptions{Answer: func(string) bool { return true }}, does, func(t *testing.T, box *Inbox, _ *Thread) {
		r, err := box.Enqueue(t.Context(), Message{Input: text("an image"), Text: " "})
		if err != nil || r.Disposition != DispositionStarted {
			t.Errorf("%+v, %v", r, err)
		}
	})
}
