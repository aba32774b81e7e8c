package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge.example/lifecycle/params"
	"codex-bridge.example/rpc"
)

// slow is a Codex whose turns take a second and reply with their input. The turn "stuck" ends when
// it is interrupted.
type slow struct {
	t       *testing.T
	threads []*Thread // in the order of their start
	lost    int       // how many of the threads Codex does not know
	inputs  []string
	n       int
}

// opener opens threads whose turns have the text as input.
type opener struct {
	*slow
	text string
}

func (s opener) Open(ctx context.Context) (Session, error) {
	if len(s.threads) == 0 {
		return s.Replace(ctx)
	}
	th := s.threads[len(s.threads)-1]
	return Session{Thread: th, Turn: func(context.Context) (json.RawMessage, error) {
		return params.Turn{Thread: th.ID, Input: []params.Item{params.TextItem(s.text)}}.Params()
	}}, nil
}

func (s opener) Replace(ctx context.Context) (Session, error) {
	s.threads = append(s.threads, NewThread(fmt.Sprint("th", len(s.threads)), s.slow))
	return s.Open(ctx)
}

// run runs one turn with a text.
func (c *slow) run(ctx context.Context, q *Queue, text string, within time.Duration) (Result, error) {
	place, err := q.Join("s")
	if err != nil {
		return Result{}, err
	}
	return Run(ctx, place, opener{c, text}, within)
}

func (c *slow) Call(_ context.Context, method string, p any) (rpc.Value, error) {
	th := c.threads[len(c.threads)-1]
	answer := `{}`
	if method == "turn/interrupt" {
		id := fmt.Sprint(c.n)
		go th.Take(Event{Kind: EventEnded, Thread: th.ID, Turn: id, Status: StatusInterrupted})
	} else {
		if len(c.threads) <= c.lost {
			return rpc.Value{}, rpc.Errorf(rpc.CodeUpstream, "codex refused turn/start: thread not found: %s", th.ID)
		}
		var asked struct{ Input []struct{ Text string } }
		if err := json.Unmarshal(p.(json.RawMessage), &asked); err != nil {
			c.t.Error(err)
		}
		text := asked.Input[0].Text
		c.n++
		id := fmt.Sprint(c.n)
		c.inputs = append(c.inputs, text)
		answer = `{"turn":{"id":"` + id + `"}}`
		status := StatusCompleted
		if text == "bad" {
			status = StatusFailed
		}
		go func() {
			th.Take(Event{Kind: EventStarted, Thread: th.ID, Turn: id})
			time.Sleep(time.Second)
			if text != "stuck" {
				th.Take(Event{Kind: EventMessage, Thread: th.ID, Turn: id, Message: AgentMessage{Item: "a", Text: "re: " + text}})
				th.Take(Event{Kind: EventEnded, Thread: th.ID, Turn: id, Status: status})
			}
		}()
	}
	doc, err := rpc.ParseValue([]byte(answer))
	if err != nil {
		return rpc.Value{}, err
	}
	return doc.Root(), nil
}

// Turns run in the order of Join after a failed turn, a timeout, and a turn that was canceled while
// it waited.
func TestTurnsRunInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &slow{t: t}
		q := NewQueue(100)
		called, callOff := context.WithCancelCause(t.Context())
		off := errors.New("called off")
		got := make([]string, 5)
		var all sync.WaitGroup
		for i, text := range []string{"one", "bad", "stuck", "off", "last"} {
			ctx := t.Context()
			if text == "off" {
				ctx = called
			}
			all.Go(func() {
				result, err := c.run(ctx, q, text, time.Minute)
				var e *rpc.Error
				switch {
				case errors.Is(err, off):
					got[i] = "called off"
				case errors.As(err, &e):
					got[i] = fmt.Sprint(e.Code)
				case err != nil:
					got[i] = err.Error()
				default:
					got[i] = string(result.Status) + " " + result.Text
				}
			})
			synctest.Wait()
		}
		callOff(off)
		all.Wait()
		if want := []string{"completed re: one", "failed re: bad", fmt.Sprint(rpc.CodeDeadline), "called off", "completed re: last"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if want := []string{"one", "bad", "stuck", "last"}; !slices.Equal(c.inputs, want) {
			t.Errorf("Codex received %q, want %q", c.inputs, want)
		}
	})
}

func TestMissingThreadIsReplacedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &slow{t: t, lost: 1}
		result, err := c.run(t.Context(), NewQueue(1), "x", 0)
		if err != nil || !result.Recovered || result.Thread != "th1" || result.Text != "re: x" {
			t.Errorf("%+v, %v", result, err)
		}
		c = &slow{t: t, lost: 9}
		if result, err = c.run(t.Context(), NewQueue(1), "x", 0); !IsThreadGone(err) || len(c.threads) != 2 {
			t.Errorf("%+v, %v, in %d threads", result, err, len(c.threads))
		}
	})
}
