package store_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"sync"
	"testing"

	"codex-bridge/bridge/store"
)

// Eight processes on one database write one chain, and none is told that it is
// busy. They open it at the same time, too, when there is nothing yet.
func TestProcesses(t *testing.T) {
	const processes, each = 8, 200
	onEach(t, func(t *testing.T, o store.Options) {
		var all []*exec.Cmd
		var said [processes]bytes.Buffer
		for i := range processes {
			cmd := childCommand(o, fmt.Sprint("w", i), each)
			cmd.Stdout = &said[i]
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			all = append(all, cmd)
		}
		for i, cmd := range all {
			if err := cmd.Wait(); err != nil {
				t.Errorf("writer %d: %v", i, err)
			}
			if got := bytes.Count(said[i].Bytes(), []byte("\n")); got != each {
				t.Errorf("writer %d has %d decisions acknowledged, want %d", i, got, each)
			}
		}
		s := open(t, o)
		head, err := s.Verify(t.Context())
		if err != nil || head.Seq != processes*each {
			t.Errorf("head %v, %v; want %d", head, err, processes*each)
		}
		// Each writer's own stand in its order.
		next := map[string]int{}
		for _, e := range entries(t, s, store.Filter{}) {
			var writer string
			var n int
			if _, err := fmt.Sscanf(e.Thread, "w%1s-%d", &writer, &n); err != nil || n != next[writer] {
				t.Fatalf("decision %d is %q, want number %d (%v)", e.Seq, e.Thread, next[writer], err)
			}
			next[writer]++
		}
	})
}

// The same within one process: several stores, several goroutines each.
func TestGoroutines(t *testing.T) {
	const stores, goroutines, each = 3, 4, 20
	onEach(t, func(t *testing.T, o store.Options) {
		var wg sync.WaitGroup
		for range stores {
			s := open(t, o)
			for range goroutines {
				wg.Go(func() {
					for range each {
						if err := s.Append(t.Context(), full()); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
		wg.Wait()
		if head, err := open(t, o).Verify(t.Context()); err != nil || head.Seq != stores*goroutines*each {
			t.Error(head, err)
		}
	})
}
