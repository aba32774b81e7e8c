package store_test

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"

	"github.com/google/go-cmp/cmp"
)

// A changed clock changes only the time of a decision: neither its place in the chain, nor the
// result of Verify, nor the leases.
func TestClockChangesOnlyTimes(t *testing.T) {
	here, err := store.CurrentProcess()
	if err != nil {
		t.Fatal(err)
	}
	crashed, parent := here, here
	crashed.PID, crashed.Started = endedProcess(t), "x"
	parent.PID = os.Getppid()
	if parent.Started, err = store.ProcessStart(parent.PID); err != nil {
		t.Fatal(err)
	}
	sets := []time.Duration{0, time.Hour, -time.Hour, 10 * 365 * 24 * time.Hour, -30 * 365 * 24 * time.Hour, 0, time.Microsecond, -time.Microsecond}
	onEach(t, func(t *testing.T, o store.Options) {
		s, other := open(t, o), open(t, o)
		var want []time.Time
		for i, set := range sets {
			d := testDecision()
			d.Time = noon.Add(set)
			want = append(want, d.Time.UTC().Truncate(time.Microsecond))
			if err := []*store.Store{s, other}[i%2].Append(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		times := func(f store.Filter) (all []time.Time) {
			for _, e := range readEntries(t, s, f) {
				all = append(all, e.Time)
			}
			return all
		}
		if diff := cmp.Diff(want, times(store.Filter{})); diff != "" {
			t.Errorf("order (-want +got)\n%s", diff)
		}
		if diff := cmp.Diff(want[5:], times(store.Filter{Limit: 3})); diff != "" {
			t.Errorf("last three (-want +got)\n%s", diff)
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
				if err := s.DeleteLease(t.Context(), "chat"); err != nil {
					t.Fatal(err)
				}
				if err := s.AcquireLease(t.Context(), "chat", h, noon.Add(set)); err != nil {
					t.Fatal(err)
				}
				err := other.AcquireLease(t.Context(), "chat", here, noon)
				var held *store.HeldError
				if lives := h == parent; errors.As(err, &held) != lives || err != nil && !lives {
					t.Errorf("lease taken at noon%+v, holder running: %v: error %v", set, lives, err)
				}
			}
		}
	})
}

// A grant created by a clock that was ahead is not active before that time. An expired grant does
// not become active again. Other grants do not change.
func TestGrantsAtChangedClock(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		ahead, now := testGrant(0, "/a"), testGrant(1, "/a")
		ahead.Created, ahead.Expires = ahead.Created.AddDate(0, 1, 0), ahead.Expires.AddDate(0, 1, 0)
		for _, g := range []decision.Grant{ahead, now} {
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
			g, found, err := s.GrantByDigest(t.Context(), now.Digest)
			if err != nil || !found || g.ActiveAt(noon.Add(c.at)) != c.want {
				t.Errorf("%v after noon: want active %v; %v, %v", c.at, c.want, found, err)
			}
		}
		if g, found, err := s.GrantByDigest(t.Context(), ahead.Digest); err != nil || !found || g.ActiveAt(noon) || g.ActiveAt(noon.Add(time.Hour)) {
			t.Errorf("a grant of next month is active today: %v, %v", found, err)
		}
	})
}
