package store_test

import (
	"bufio"
	"fmt"
	"testing"

	"codex-bridge/bridge/store"
)

// A writer that is killed in the middle of its work leaves a whole chain, with
// all that was acknowledged.
func TestKill(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		acknowledged := map[string]bool{}
		for round := range 12 {
			cmd := childCommand(o, fmt.Sprint("k", round), 1_000_000, log)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			for range 1 + 7*round {
				if !lines.Scan() {
					t.Fatal("the writer ended by itself")
				}
				acknowledged[lines.Text()] = true
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			for lines.Scan() { // what it still said
				acknowledged[lines.Text()] = true
			}
			_ = cmd.Wait()

			s := open(t, o)
			if _, err := s.Verify(t.Context()); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			if err := s.Append(t.Context(), full()); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			s.Close()
		}
		for _, e := range entries(t, open(t, o), store.Filter{}) {
			delete(acknowledged, e.Thread)
		}
		if len(acknowledged) > 0 {
			t.Errorf("acknowledged and lost: %v", acknowledged)
		}
	})
}
