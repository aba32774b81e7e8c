package store_test

import (
	"bufio"
	"fmt"
	"testing"

	"codex-bridge.example/bridge/store"
)

// A killed writer leaves a complete chain with all acknowledged decisions.
func TestKilledWriterLosesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		acknowledged := map[string]bool{}
		for round := range 12 {
			cmd := writerCommand(o, fmt.Sprint("k", round), 1_000_000, log)
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
					t.Fatal("the writer ended early")
				}
				acknowledged[lines.Text()] = true
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			for lines.Scan() { // the rest of its output
				acknowledged[lines.Text()] = true
			}
			_ = cmd.Wait()

			s := open(t, o)
			if _, err := s.Verify(t.Context()); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			if err := s.Append(t.Context(), testDecision()); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			s.Close()
		}
		for _, e := range readEntries(t, open(t, o), store.Filter{}) {
			delete(acknowledged, e.Thread)
		}
		if len(acknowledged) > 0 {
			t.Errorf("lost decisions: %v", acknowledged)
		}
	})
}
