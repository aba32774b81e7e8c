package store_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"codex-bridge.example/bridge/store"

	"github.com/google/go-cmp/cmp"
)

// Eight processes open a new database at once and write one chain, without a busy error.
func TestProcessesShareOneChain(t *testing.T) {
	const processes, each = 8, 200
	onEach(t, func(t *testing.T, o store.Options) {
		runWriters(t, o, processes, each, log)
		s := open(t, o)
		head, err := s.Verify(t.Context())
		if err != nil || head.Seq != processes*each {
			t.Errorf("head %v, %v; want %d", head, err, processes*each)
		}
		// The decisions of each writer are in order.
		next := map[string]int{}
		for _, e := range readEntries(t, s, store.Filter{}) {
			var writer string
			var n int
			if _, err := fmt.Sscanf(e.Thread, "w%1s-%d", &writer, &n); err != nil || n != next[writer] {
				t.Fatalf("decision %d is %q, want number %d (%v)", e.Seq, e.Thread, next[writer], err)
			}
			next[writer]++
		}
	})
}

// Fifty processes add 10,000 grants to one database: each grant is stored once, without a busy
// error.
func TestGrantWriters(t *testing.T) {
	processes, each := 10, 30
	if exhaustive() {
		processes, each = 50, 200
	}
	onEach(t, func(t *testing.T, o store.Options) {
		acknowledged := runWriters(t, o, processes, each, grants)
		kept := grantIDs(t, open(t, o))
		slices.Sort(acknowledged)
		slices.Sort(kept)
		if diff := cmp.Diff(acknowledged, kept); diff != "" || len(kept) != processes*each {
			t.Errorf("%d grants: %s", len(kept), diff)
		}
	})
}

// runWriters runs writers at the same time and returns the acknowledged names.
func runWriters(t *testing.T, o store.Options, processes, each int, what string) (acknowledged []string) {
	t.Helper()
	all, said := make([]*exec.Cmd, processes), make([]bytes.Buffer, processes)
	for i := range all {
		all[i] = writerCommand(o, fmt.Sprint("w", i), each, what)
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
			t.Errorf("writer %d printed %d names, want %d", i, len(names), each)
		}
		acknowledged = append(acknowledged, names...)
	}
	return acknowledged
}

// Several stores in one process append, with several goroutines each.
func TestGoroutinesShareOneChain(t *testing.T) {
	const stores, goroutines, each = 3, 4, 20
	onEach(t, func(t *testing.T, o store.Options) {
		var wg sync.WaitGroup
		for range stores {
			s := open(t, o)
			for range goroutines {
				wg.Go(func() {
					for range each {
						if err := s.Append(t.Context(), testDecision()); err != nil {
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
