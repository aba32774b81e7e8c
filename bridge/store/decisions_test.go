package store_test

import (
	"fmt"
	"testing"
	"time"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"

	"github.com/google/go-cmp/cmp"
)

func TestDecisions(t *testing.T) {
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		for i := range 10 {
			if err := s.Append(t.Context(), decision.Record{
				Time: day.Add(time.Duration(i) * time.Hour), Thread: fmt.Sprint("T", i%2), Method: fmt.Sprint("m", i%3),
				Verdict: []string{"deny", "rewrite"}[i/5],
			}); err != nil {
				t.Fatal(err)
			}
		}
		for _, tt := range []struct {
			name   string
			filter store.Filter
			want   []int64
		}{
			{"all", store.Filter{}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
			{"since", store.Filter{Since: day.Add(7 * time.Hour)}, []int64{8, 9, 10}},
			{"since, in another zone", store.Filter{Since: day.Add(7*time.Hour + 1).In(noon.Location())}, []int64{8, 9, 10}},
			{"thread", store.Filter{Thread: "T1"}, []int64{2, 4, 6, 8, 10}},
			{"method and verdict", store.Filter{Method: "m0", Verdict: "rewrite"}, []int64{7, 10}},
			{"the newest", store.Filter{Limit: 2}, []int64{9, 10}},
			{"the newest of some", store.Filter{Thread: "T0", Limit: 3}, []int64{5, 7, 9}},
			{"more than there are", store.Filter{Thread: "T0", Limit: 30}, []int64{1, 3, 5, 7, 9}},
			{"nothing", store.Filter{Thread: "' OR 1 = 1 --", Limit: 3}, nil},
		} {
			t.Run(tt.name, func(t *testing.T) {
				var got []int64
				for _, e := range readEntries(t, s, tt.filter) {
					got = append(got, e.Seq)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
			})
		}
	})
}

// A reader may write inside the loop and stop early.
func TestDecisionsWhileWriting(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		for range 3 {
			if err := s.Append(t.Context(), testDecision()); err != nil {
				t.Fatal(err)
			}
		}
		n := 0
		for _, err := range s.Decisions(t.Context(), store.Filter{}) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 3 {
				break
			}
			if err := s.Append(t.Context(), testDecision()); err != nil {
				t.Fatal(err)
			}
		}
		if got := len(readEntries(t, s, store.Filter{})); got != 5 {
			t.Errorf("%d decisions, want 5", got)
		}
	})
}
