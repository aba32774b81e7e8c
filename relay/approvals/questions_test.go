package approvals_test

import (
	"codex-bridge.example/relay/approvals"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestPendingQuestions(t *testing.T) {
	a := newRequest(t)
	same, other := newKey(t, a), newKey(t, changed(a, func(a *approvals.Request) { a.Escalated = true }))
	var q approvals.PendingQuestions[string]
	join := func(k approvals.Key, id string, want approvals.JoinResult) {
		t.Helper()
		made := false
		got := q.Join(k, id, func() string { made = true; return id })
		if got != want || made != (want == approvals.Waiting) {
			t.Errorf("%s: place %d, want %d; made to wait: %v", id, got, want, made)
		}
	}
	settle := func(id string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, q.Settle(id)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", id, diff)
		}
	}
	join(same, "1", approvals.First)
	join(same, "2", approvals.Waiting)
	join(same, "3", approvals.Waiting)
	join(same, "4", approvals.Waiting)
	join(other, "5", approvals.First) // an escalated request is not equal to one that is not
	join(other, "6", approvals.Waiting)
	join(approvals.Key{}, "7", approvals.First)
	join(approvals.Key{}, "8", approvals.First)
	settle("9")
	settle("3")
	settle("1", "2", "4")
	settle("1")
	settle("2")
	join(same, "1", approvals.First) // an old answer does not apply to a new question
	join(same, "2", approvals.Waiting)
	join(other, "1", approvals.Waiting) // a reused id belongs to the new question
	join(same, "10", approvals.First)
	settle("5", "6", "1")
	settle("10")
	for i := range 129 {
		want := approvals.Waiting
		if i == 0 {
			want = approvals.First
		}
		join(same, strconv.Itoa(i), want)
	}
	join(same, "more", approvals.TooMany)
	settle("more")
	settle("128")
	join(same, "again", approvals.Waiting)
}

// Every waiting question is returned by exactly one Settle of the question it waits for, or
// leaves by itself.
func TestEachWaiterIsSettledOnce(t *testing.T) {
	a := newRequest(t)
	keys := []approvals.Key{newKey(t, a), newKey(t, changed(a, func(a *approvals.Request) { a.Session = "U" })), {}}
	rapid.Check(t, func(t *rapid.T) {
		var q approvals.PendingQuestions[int]
		type put struct{ key, leader int }
		open := map[int]put{} // joined and not settled
		for id := range rapid.IntRange(1, 60).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "join") {
				k := rapid.IntRange(0, 2).Draw(t, "key")
				leader := id
				for other, o := range open {
					if o.key == k && o.leader == other && k != 2 {
						leader = other
					}
				}
				place := q.Join(keys[k], strconv.Itoa(id), func() int { return id })
				if (place == approvals.First) != (leader == id) {
					t.Fatalf("%d: %v, led by %d", id, place, leader)
				}
				open[id] = put{k, leader}
				continue
			}
			settled := rapid.IntRange(0, id).Draw(t, "settle")
			var want []int
			for other, o := range open {
				if o.leader == settled && other != settled {
					want = append(want, other)
				}
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, q.Settle(strconv.Itoa(settled))); diff != "" {
				t.Fatalf("settling %d (-want +got)\n%s", settled, diff)
			}
			delete(open, settled)
			for _, other := range want {
				delete(open, other)
			}
		}
	})
}

func TestLimiterAllowsTwelvePerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := approvals.NewLimiter()
		ask := func(thread string, times int) (allowed int) {
			for range times {
				if l.Allow(thread, "") {
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
