package store_test

import (
	"testing"

	"codex-bridge.example/bridge/store"
)

// The last record of a thread counts, also after the database was opened again. A known folder stays
// until the record is removed, and roots until there are others.
func TestGates(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		has := func(s *store.Store, gated bool, known, roots string, found bool) {
			t.Helper()
			if g, k, r, f, err := s.Gate(t.Context(), "a"); g != gated || k != known || r != roots || f != found || err != nil {
				t.Errorf("gated %v, known %q, roots %q, found %v, %v", g, k, r, f, err)
			}
		}
		has(s, false, "", "", false)
		for _, set := range []struct {
			gated                        bool
			known, want, roots, hasRoots string
		}{{true, "", "", "", ""}, {false, "/a", "/a", `["/a/b"]`, `["/a/b"]`}, {true, "", "/a", "", `["/a/b"]`}, {true, "/b", "/a", `["/c"]`, `["/c"]`}} {
			if err := s.SetGate(t.Context(), "a", set.gated, set.known, set.roots); err != nil {
				t.Fatal(err)
			}
			has(s, set.gated, set.want, set.hasRoots, true)
		}
		s.Close()
		s = open(t, o)
		has(s, true, "/a", `["/c"]`, true)
		if err := s.SetGate(t.Context(), "b", true, "", ""); err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteGate(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		has(s, false, "", "", false)
		if _, _, _, found, err := s.Gate(t.Context(), "b"); !found || err != nil {
			t.Error("the record of another thread is gone", err)
		}
	})
}
