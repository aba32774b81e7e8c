package grants_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge/relay/grants"
)

func TestQuestions(t *testing.T) {
	a := asked(t)
	k, other := key(t, a), key(t, with(a, func(a *grants.Asked) { a.Escalated = true }))
	synctest.Test(t, func(t *testing.T) {
		var q grants.Questions[string]
		leader, _ := q.Join(k)
		if !leader {
			t.Fatal("the first does not lead")
		}
		var answered atomic.Int32
		for range 20 {
			go func() {
				leader, wait := q.Join(k)
				if outcome, err := wait(t.Context()); leader || outcome != "yes" || err != nil {
					t.Error(leader, outcome, err)
				}
				answered.Add(1)
			}()
		}
		synctest.Wait()
		if n := answered.Load(); n != 0 {
			t.Errorf("%d have an answer before there is one", n)
		}
		if leader, _ := q.Join(other); !leader {
			t.Error("what leaves the sandbox shares the question of what does not")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, wait := q.Join(k); true {
			if outcome, err := wait(ctx); outcome != "" || !errors.Is(err, context.DeadlineExceeded) {
				t.Error(outcome, err)
			}
		}
		q.Settle(k, "yes")
		q.Settle(k, "no")
		synctest.Wait()
		if n := answered.Load(); n != 20 {
			t.Errorf("%d have the answer, want 20", n)
		}
		if leader, _ := q.Join(k); !leader {
			t.Error("an old answer counts for a new question")
		}
	})
}

func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := grants.NewLimiter(nil)
		ask := func(thread string, times int) (allowed int) {
			for range times {
				if l.Allow(thread) {
					allowed++
				}
			}
			return allowed
		}
		for _, step := range []struct {
			after       time.Duration
			thread      string
			times, want int
		}{
			{0, "T", 8, 8}, {30 * time.Second, "T", 8, 4}, {0, "U", 13, 12},
			{30*time.Second - 1, "T", 1, 0}, {1, "T", 20, 8}, {time.Hour, "T", 20, 12},
		} {
			time.Sleep(step.after)
			if got := ask(step.thread, step.times); got != step.want {
				t.Errorf("%+v: %d", step, got)
			}
		}
	})
}
