package store_test

import (
	"testing"

	"codex-bridge.example/bridge/store"
)

// The last record of a thread counts, also after the database was opened again. A known folder stays
// until the record is removed.
func TestGates(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		has := func(s *store.Store, gated bool, known string, found bool) {
			t.Helper()
			if g, k, f, err := s.Gate(t.Context(), "a"); g != gated || k != known || f != found || err != nil {
				t.Errorf("gated %v, known %q, found %v, %v", g, k, f, err)
			}
		}
		has(s, false, "", false)
		for _, set := range []struct {
			gated       bool
			known, want string
		}{{true, "", ""}, {false, "/a", "/a"}, {true, "", "/a"}, {true, "/b", "/a"}} {
			if err := s.SetGate(t.Context(), "a", set.gated, set.known); err != nil {
				t.Fatal(err)
			}
			has(s, set.gated, set.want, true)
		}
		s.Close()
		s = open(t, o)
		has(s, true, "/a", true)
		if err := s.SetGate(t.Context(), "b", true, ""); err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteGate(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		has(s, false, "", false)
		if _, _, found, err := s.Gate(t.Context(), "b"); !found || err != nil {
			t.Error("the record of another thread is gone", err)
		}
	})
}
