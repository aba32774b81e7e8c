package store_test

import (
	"testing"

	"codex-bridge.example/bridge/store"
)

// The last record of a thread counts, also after the database was opened again.
func TestGates(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		if gated, found, err := s.Gate(t.Context(), "a"); gated || found || err != nil {
			t.Error(gated, found, err)
		}
		for _, gated := range []bool{true, false, true} {
			if err := s.SetGate(t.Context(), "a", gated); err != nil {
				t.Fatal(err)
			}
			if got, found, err := s.Gate(t.Context(), "a"); got != gated || !found || err != nil {
				t.Error(got, found, err)
			}
		}
		s.Close()
		if got, found, err := open(t, o).Gate(t.Context(), "a"); !got || !found || err != nil {
			t.Error(got, found, err)
		}
	})
}
