package store_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"

	"github.com/google/go-cmp/cmp"
)

func openSQLite(t *testing.T) *store.Store {
	return open(t, store.Options{Folder: filepath.Join(t.TempDir(), "state")})
}

// Batches have all entries once, in order, within their limits, with what the hashes cover.
func TestSealedAfter(t *testing.T) {
	s := openSQLite(t)
	for i := range 20 {
		d := testDecision()
		if d.Thread = fmt.Sprint("T", i); i == 7 {
			d.Reason = strings.Repeat("long ", 800)
		}
		if err := s.Append(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	var sizes []int
	var threads []string
	head := decision.NoHead
	for {
		batch, err := s.SealedAfter(t.Context(), head, 5, 4000)
		if err != nil {
			t.Fatal(err)
		}
		if len(batch) == 0 {
			break
		}
		sizes = append(sizes, len(batch))
		for _, e := range batch {
			if e.Hash != decision.Sum(e.Content) {
				t.Errorf("the hash of %d does not cover its content", e.Seq)
			}
			_, rest, _ := strings.Cut(string(e.Content), `"thread":"`)
			thread, _, _ := strings.Cut(rest, `"`)
			threads = append(threads, thread)
			head = e.Head
		}
	}
	var want []string
	for _, e := range readEntries(t, s, store.Filter{}) {
		want = append(want, e.Thread)
	}
	if diff := cmp.Diff(want, threads); diff != "" {
		t.Error(diff)
	}
	if len(sizes) < 5 {
		t.Errorf("batches of %v entries", sizes)
	}
}

// SealedAfter returns nothing that does not continue the acknowledged head.
func TestSealedAfterOtherLog(t *testing.T) {
	s := openSQLite(t)
	head := writeNine(t, s)
	for name, tt := range map[string]struct {
		sql     string
		after   decision.Head
		seq     int64
		problem decision.Problem
	}{
		"without its end":  {`DELETE FROM decisions WHERE seq > 7`, head, 9, decision.Missing},
		"rewritten":        {``, decision.Head{Seq: 4, Hash: decision.Sum(nil)}, 4, decision.Changed},
		"later changed":    {`UPDATE decisions SET reason = 'x' WHERE seq = 5`, decision.NoHead, 5, decision.Changed},
		"later deleted":    {`DELETE FROM decisions WHERE seq = 5`, decision.NoHead, 5, decision.Missing},
		"other spelling":   {`UPDATE decisions SET fields = '["a", "b"]' WHERE seq = 5`, decision.NoHead, 5, decision.Changed},
		"first is missing": {`DELETE FROM decisions WHERE seq = 1`, decision.NoHead, 1, decision.Missing},
	} {
		writeNine(t, s)
		if tt.sql != "" {
			execSQL(t, s.DB(), tt.sql)
		}
		got, err := s.SealedAfter(t.Context(), tt.after, 100, 1<<20)
		var broken *decision.BrokenError
		if !errors.As(err, &broken) || broken.Seq != tt.seq || broken.Problem != tt.problem {
			t.Errorf("%s: %d entries, %v", name, len(got), err)
		}
	}
}

// The acknowledgements of each fleet log survive a restart. A new chain forgets them.
func TestShippingIsKept(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "state")
	s := open(t, store.Options{Folder: folder})
	head := writeNine(t, s)
	chain, err := s.Chain(t.Context())
	if err != nil || len(chain) != 32 {
		t.Fatal(chain, err)
	}
	at := time.Date(2026, 3, 1, 9, 0, 0, 123_000, time.UTC)
	want := store.Shipping{Head: head, Acknowledged: at, Error: "the network is away", Failed: at.Add(time.Second)}
	if err := s.SetShipping(t.Context(), "one", store.Shipping{Head: decision.Head{Seq: 2, Hash: head.Hash}}); err != nil {
		t.Fatal(err)
	}
	if err := s.SetShipping(t.Context(), "one", want); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = open(t, store.Options{Folder: folder})
	got, err := s.Shipping(t.Context(), "one")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if other, err := s.Shipping(t.Context(), "other"); err != nil || other != (store.Shipping{Head: decision.NoHead}) {
		t.Error(other, err)
	}
	if again, err := s.Chain(t.Context()); err != nil || again != chain {
		t.Error(again, err)
	}
	if n, since, err := s.Waiting(t.Context(), decision.Head{Seq: 6}); n != 3 || since.IsZero() || err != nil {
		t.Error(n, since, err)
	}
	if n, since, err := s.Waiting(t.Context(), head); n != 0 || !since.IsZero() || err != nil {
		t.Error(n, since, err)
	}
	if err := s.NewChain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again, err := s.Chain(t.Context()); err != nil || again == chain || len(again) != 32 {
		t.Error(again, err)
	}
	if none, err := s.Shipping(t.Context(), "one"); err != nil || none.Seq != 0 {
		t.Error(none, err)
	}
}

// A state of the schema before, opened read-only, has nothing acknowledged.
func TestShippingOfOlderState(t *testing.T) {
	o := store.Options{Folder: filepath.Join(t.TempDir(), "state")}
	s := open(t, o)
	writeNine(t, s)
	dropIndexes(t, s, o)
	execSQL(t, s.DB(), "DROP TABLE shipping; DROP TABLE chain; DROP TABLE gates; ALTER TABLE decisions DROP COLUMN facts; DELETE FROM schema_version WHERE version > 7")
	s.Close()
	o.ReadOnly = true
	if got, err := open(t, o).Shipping(t.Context(), "one"); err != nil || got.Seq != 0 {
		t.Error(got, err)
	}
	o.ReadOnly = false
	if chain, err := open(t, o).Chain(t.Context()); err != nil || len(chain) != 32 {
		t.Error(chain, err)
	}
}
