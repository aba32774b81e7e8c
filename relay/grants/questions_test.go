package grants_test

import (
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"codex-bridge/relay/grants"
)

func TestQuestions(t *testing.T) {
	a := asked(t)
	same, other := key(t, a), key(t, with(a, func(a *grants.Asked) { a.Escalated = true }))
	var q grants.Questions[string]
	join := func(k grants.Key, id string, want grants.Place) {
		t.Helper()
		made := false
		got := q.Join(k, id, func() string { made = true; return id })
		if got != want || made != (want == grants.Waits) {
			t.Errorf("%s: place %d, want %d; made to wait: %v", id, got, want, made)
		}
	}
	settle := func(id string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, q.Settle(id)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", id, diff)
		}
	}
	join(same, "1", grants.Leads)
	join(same, "2", grants.Waits)
	join(same, "3", grants.Waits)
	join(same, "4", grants.Waits)
	join(other, "5", grants.Leads) // what leaves the sandbox shares nothing with what does not
	join(other, "6", grants.Waits)
	join(grants.Key{}, "7", grants.Leads)
	join(grants.Key{}, "8", grants.Leads)
	settle("9")
	settle("3") // waits no more
	settle("1", "2", "4")
	settle("1")
	settle("2")
	join(same, "1", grants.Leads) // an old answer does not count for a new question
	join(same, "2", grants.Waits)
	join(other, "1", grants.Waits) // an id that was given again is that of the new question alone
	join(same, "10", grants.Leads)
	settle("5", "6", "1")
	settle("10")
	for i := range 129 {
		want := grants.Waits
		if i == 0 {
			want = grants.Leads
		}
		join(same, strconv.Itoa(i), want)
	}
	join(same, "more", grants.Full)
	settle("more")
	settle("128")
	join(same, "again", grants.Waits)
}

// However they come and go, each that waits is answered once, by the settling of the
// question that it waits for, or leaves by itself.
func TestQuestionsLaw(t *testing.T) {
	a := asked(t)
	keys := []grants.Key{key(t, a), key(t, with(a, func(a *grants.Asked) { a.Session = "U" })), {}}
	rapid.Check(t, func(t *rapid.T) {
		var q grants.Questions[int]
		type put struct{ key, leader int }
		open := map[int]put{} // all that joined and are not settled
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
				if (place == grants.Leads) != (leader == id) {
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
