package store_test

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"codex-bridge/bridge/store"

	"github.com/google/go-cmp/cmp"
)

// A clock that is set forward and back changes what time a decision shows, and nothing else:
// not its place, not whether the log verifies, not who holds a session.
func TestClock(t *testing.T) {
	here, err := store.Here()
	if err != nil {
		t.Fatal(err)
	}
	crashed, parent := here, here
	crashed.PID, crashed.Started = ended(t), "x"
	parent.PID = os.Getppid()
	if parent.Started, err = store.StartOf(parent.PID); err != nil {
		t.Fatal(err)
	}
	sets := []time.Duration{0, time.Hour, -time.Hour, 10 * 365 * 24 * time.Hour, -30 * 365 * 24 * time.Hour, 0, time.Microsecond, -time.Microsecond}
	onEach(t, func(t *testing.T, o store.Options) {
		s, other := open(t, o), open(t, o)
		var want []time.Time
		for i, set := range sets {
			d := full()
			d.Time = noon.Add(set)
			want = append(want, d.Time.UTC().Truncate(time.Microsecond))
			if err := []*store.Store{s, other}[i%2].Append(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		times := func(f store.Filter) (all []time.Time) {
			for _, e := range entries(t, s, f) {
				all = append(all, e.Time)
			}
			return all
		}
		if diff := cmp.Diff(want, times(store.Filter{})); diff != "" {
			t.Errorf("the order (-want +got)\n%s", diff)
		}
		if diff := cmp.Diff(want[5:], times(store.Filter{Limit: 3})); diff != "" {
			t.Errorf("the last three (-want +got)\n%s", diff)
		}
		since := slices.DeleteFunc(slices.Clone(want), func(at time.Time) bool { return at.Before(want[0]) })
		if diff := cmp.Diff(since, times(store.Filter{Since: want[0]})); diff != "" {
			t.Errorf("since noon (-want +got)\n%s", diff)
		}
		if head, err := s.Verify(t.Context()); err != nil || head.Seq != int64(len(sets)) {
			t.Error(head, err)
		}

		for _, set := range sets {
			for _, h := range []store.Holder{crashed, parent} {
				if err := s.Force(t.Context(), "chat"); err != nil {
					t.Fatal(err)
				}
				if err := s.Take(t.Context(), "chat", h, noon.Add(set)); err != nil {
					t.Fatal(err)
				}
				err := other.Take(t.Context(), "chat", here, noon)
				var held *store.HeldError
				if lives := h == parent; errors.As(err, &held) != lives || err != nil && !lives {
					t.Errorf("taken at noon and %v, by a process that lives %v: %v", set, lives, err)
				}
			}
		}
	})
}

// An approval that was made by a clock that ran ahead is none before that time, and one that
// has ended does not come back; those of other clocks are left alone.
func TestClockGrants(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		ahead, now := grant(0, "/a"), grant(1, "/a")
		ahead.Created, ahead.Expires = ahead.Created.AddDate(0, 1, 0), ahead.Expires.AddDate(0, 1, 0)
		for _, g := range []store.Grant{ahead, now} {
			if err := s.AddGrant(t.Context(), g, 9); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([]string{ahead.ID, now.ID}, grantIDs(t, s)); diff != "" {
			t.Error(diff)
		}
		for _, c := range []struct {
			at   time.Duration
			want bool
		}{{-time.Hour, false}, {0, false}, {time.Minute, true}, {time.Hour, true}, {61 * time.Minute, false}, {10 * 365 * 24 * time.Hour, false}} {
			g, found, err := s.GrantOf(t.Context(), now.Digest)
			if err != nil || !found || g.At(noon.Add(c.at)) != c.want {
				t.Errorf("%v after noon the approval of a minute past counts: want %v; %v, %v", c.at, c.want, found, err)
			}
		}
		if g, found, err := s.GrantOf(t.Context(), ahead.Digest); err != nil || !found || g.At(noon) || g.At(noon.Add(time.Hour)) {
			t.Errorf("what was approved next month counts today: %v, %v", found, err)
		}
	})
}
