package store_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"codex-bridge/bridge/store"

	"github.com/google/go-cmp/cmp"
)

// Eight processes on one database write one chain, and none is told that it is
// busy. They open it at the same time, too, when there is nothing yet.
func TestProcesses(t *testing.T) {
	const processes, each = 8, 200
	onEach(t, func(t *testing.T, o store.Options) {
		together(t, o, processes, each, log)
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

// Fifty bridges on one folder remember 10,000 approvals: each is there, once, and nobody is
// told that the others are too many.
func TestGrantWriters(t *testing.T) {
	processes, each := 10, 30
	if wide() {
		processes, each = 50, 200
	}
	onEach(t, func(t *testing.T, o store.Options) {
		acknowledged := together(t, o, processes, each, grants)
		kept := grantIDs(t, open(t, o))
		slices.Sort(acknowledged)
		slices.Sort(kept)
		if diff := cmp.Diff(acknowledged, kept); diff != "" || len(kept) != processes*each {
			t.Errorf("%d are kept: %s", len(kept), diff)
		}
	})
}

// together has processes write at the same time, and returns what was acknowledged.
func together(t *testing.T, o store.Options, processes, each int, what string) (acknowledged []string) {
	t.Helper()
	all, said := make([]*exec.Cmd, processes), make([]bytes.Buffer, processes)
	for i := range all {
		all[i] = childCommand(o, fmt.Sprint("w", i), each, what)
		all[i].Stdout = &said[i]
		if err := all[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	for i, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Errorf("writer %d: %v", i, err)
		}
		names := strings.Fields(said[i].String())
		if len(names) != each {
			t.Errorf("writer %d has %d acknowledged, want %d", i, len(names), each)
		}
		acknowledged = append(acknowledged, names...)
	}
	return acknowledged
}

// Appending within one process: several stores, several goroutines each.
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
