package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"
)

// A request and its answers are seen by other bridges, until they end or expire.
func TestDesk(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s, other := open(t, o), open(t, o)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		check := func(step string, want ...string) {
			t.Helper()
			all, err := other.DeskRequests(t.Context())
			must(err)
			var got []string
			for _, r := range all {
				got = append(got, r.ID+" "+r.Text)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q", step, got)
			}
		}
		answers := func(id string) []decision.DeskAnswer {
			t.Helper()
			all, err := s.DeskAnswers(t.Context(), id)
			must(err)
			return all
		}
		must(s.AddDeskRequest(t.Context(), decision.DeskRequest{ID: "late", Text: "{2}", Expires: noon.Add(time.Hour)}, noon))
		must(s.AddDeskRequest(t.Context(), decision.DeskRequest{ID: "soon", Text: "{1}", Expires: noon.Add(time.Minute)}, noon))
		check("added", "soon {1}", "late {2}")
		if err := s.AddDeskRequest(t.Context(), decision.DeskRequest{ID: "soon", Text: "{3}", Expires: noon.Add(time.Hour)}, noon); err == nil {
			t.Error("an id was used twice")
		}
		must(other.AddDeskAnswer(t.Context(), "soon", decision.DeskAnswer{Decision: "decline", Signature: "a"}))
		must(other.AddDeskAnswer(t.Context(), "soon", decision.DeskAnswer{Decision: "approve", Signature: "b"}))
		if got := answers("soon"); !slices.Equal(got, []decision.DeskAnswer{{Decision: "decline", Signature: "a"}, {Decision: "approve", Signature: "b"}}) || len(answers("late")) > 0 {
			t.Errorf("%+v", got)
		}
		if err := other.AddDeskAnswer(t.Context(), "none", decision.DeskAnswer{}); !errors.Is(err, store.ErrNoDeskRequest) {
			t.Error(err)
		}
		if err := other.AddDeskAnswer(t.Context(), "late", decision.DeskAnswer{Signature: strings.Repeat("x", 20<<10)}); err == nil {
			t.Error("a long answer was taken")
		}
		for n := range 100 {
			if err := other.AddDeskAnswer(t.Context(), "late", decision.DeskAnswer{Signature: fmt.Sprint(n)}); err != nil && n < 64 {
				t.Fatal(err)
			}
		}
		if n := len(answers("late")); n != 64 {
			t.Errorf("%d answers", n)
		}
		must(s.EndDeskRequest(t.Context(), "late"))
		if check("ended", "soon {1}"); len(answers("late")) > 0 {
			t.Error("answers are left")
		}
		must(s.AddDeskRequest(t.Context(), decision.DeskRequest{ID: "next", Text: "{4}", Expires: noon.Add(time.Hour)}, noon.Add(time.Minute)))
		if check("expired", "next {4}"); len(answers("soon")) > 0 {
			t.Error("answers of an expired request are left")
		}
	})
}
