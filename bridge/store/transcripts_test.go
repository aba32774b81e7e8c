package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"codex-bridge/bridge/store"

	"github.com/google/go-cmp/cmp"
)

func record(turn string, kind store.Kind, n int, text string) store.Record {
	return store.Record{
		Thread: "t", Turn: turn, Kind: kind, Index: n, Item: fmt.Sprint(turn, kind, n), Text: text,
		Time: noon.Add(time.Duration(n) * time.Minute).UTC().Truncate(time.Microsecond),
	}
}

// keep keeps records, many in parts, since a transaction has a deadline.
func keep(t testing.TB, s *store.Store, want int, records ...store.Record) {
	t.Helper()
	kept := 0
	for part := range slices.Chunk(records, 250) {
		n, err := s.Keep(t.Context(), part)
		if err != nil {
			t.Fatal(err)
		}
		kept += n
	}
	if kept != want {
		t.Fatalf("kept %d, want %d", kept, want)
	}
}

// A record is kept once, whoever says it again, and numbered in its turn.
func TestKeep(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s, other := open(t, o), open(t, o)
		all := []store.Record{
			record("u", store.User, 0, "good day"), record("u", store.Tool, 0, "one"), record("u", store.Tool, 1, "one"),
			record("u", store.Assistant, 0, "hello"), record("v", store.User, 0, "good day"),
		}
		all[1].Name, all[1].State = "shell", "completed"
		all[2].Name = "shell"
		keep(t, s, 5, all...)
		keep(t, other, 0, all...)
		keep(t, s, 0, all[2])

		// An older codex gives its items other ids when it tells them again.
		again := make([]store.Record, len(all))
		for i, r := range all {
			r.Item, r.Replayed, again[i] = fmt.Sprint("item-", i), true, r
		}
		keep(t, other, 0, again...)
		more := record("v", store.User, 1, "more")
		more.Replayed, more.Item = true, "item-9"
		keep(t, other, 1, again[0], more)

		more.Replayed = false
		want := append(all, more)
		got, err := s.Records(t.Context(), "t", "")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v -want +got\n%s", err, diff)
		}
		got, err = s.Records(t.Context(), "t", "v")
		if diff := cmp.Diff(want[4:], got); diff != "" || err != nil {
			t.Errorf("a turn: %v -want +got\n%s", err, diff)
		}
	})
}

// Whoever keeps what others keep at the same time, it is there once, and numbered without a gap.
func TestKeepTogether(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		var wg sync.WaitGroup
		var kept atomic.Int64
		for n := range 4 {
			s := open(t, o)
			wg.Go(func() {
				for i := range 20 {
					n, err := s.Keep(t.Context(), []store.Record{record("u", store.User, i, "word"), record("u", store.Tool, 20*n+i, "word")})
					if err != nil {
						t.Error(err)
					}
					kept.Add(int64(n))
				}
			})
		}
		wg.Wait()
		all, err := open(t, o).Records(t.Context(), "t", "u")
		if err != nil || len(all) != 100 || kept.Load() != 100 {
			t.Fatalf("%d are there, %d were kept, %v", len(all), kept.Load(), err)
		}
		next := make(map[store.Kind]int)
		for _, r := range all {
			if r.Index != next[r.Kind] {
				t.Errorf("%s %d comes after %d", r.Kind, r.Index, next[r.Kind]-1)
			}
			next[r.Kind]++
		}
	})
}

// Marks of one item are told apart by their names, and what is no text becomes one.
func TestKeepOdd(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		start, end := record("u", store.Compaction, 0, ""), record("u", store.Compaction, 1, "")
		start.Name, end.Name, end.Item = "start", "end", start.Item
		keep(t, s, 2, start, end)
		keep(t, s, 0, end, start)
		keep(t, s, 1, record("w", store.User, 0, "a\x00b \xff 'quoted' \\ '':1"))
		got, err := s.Records(t.Context(), "t", "w")
		if err != nil || len(got) != 1 || got[0].Text != "a\uFFFDb \uFFFD 'quoted' \\ '':1" {
			t.Errorf("%+v %v", got, err)
		}
	})
}

func find(t testing.TB, s *store.Store, text string, f store.Search) []string {
	t.Helper()
	f.Query = parse(t, text)
	all, err := s.Find(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	found := []string{}
	for _, one := range all {
		found = append(found, fmt.Sprintf("%s/%s/%d %s", one.Turn, one.Kind, one.Index, one.Snippet))
	}
	return found
}

func TestFind(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		filler := strings.Repeat(" something else that is long", 40)
		elsewhere := record("x", store.User, 9, "the pump elsewhere")
		elsewhere.Thread = "other"
		keep(t, s, 6,
			record("u", store.User, 1, "The pump reads a long line."+filler),
			record("u", store.Assistant, 2, "Pump! The pump's line_end is lost: pump.go"),
			record("u", store.Tool, 3, "nothing of that"),
			record("v", store.User, 4, "pumps, CAFÉ"),
			record("v", store.Assistant, 5, "the café is closed"),
			elsewhere,
		)
		for _, c := range []struct {
			text string
			f    store.Search
			want []string
		}{
			{"pump -elsewhere", store.Search{}, []string{"u/assistant/0 [Pump]! The [pump]'s line_end is lost: [pump].go",
				"u/user/0 The [pump] reads a long line. something else that is long something else that is long something else that is long something else that …"}},
			{"pump", store.Search{Thread: "other"}, []string{"x/user/0 the [pump] elsewhere"}},
			{"pump", store.Search{Kind: store.User, Thread: "t"}, []string{
				"u/user/0 The [pump] reads a long line. something else that is long something else that is long something else that is long something else that …"}},
			{"pump*", store.Search{Since: noon.Add(4 * time.Minute), Thread: "t"}, []string{"v/user/0 [pumps], CAFÉ"}},
			{"pump", store.Search{Since: noon.Add(time.Hour)}, []string{}},
			{`"line end"`, store.Search{}, []string{"u/assistant/0 Pump! The pump's [line]_[end] is lost: pump.go"}},
			{`"end line"`, store.Search{}, []string{}},
			{"cafe closed", store.Search{}, []string{"v/assistant/0 the [café] is [closed]"}},
			{"pump", store.Search{Limit: 1, Kind: store.Assistant}, []string{"u/assistant/0 [Pump]! The [pump]'s line_end is lost: [pump].go"}},
		} {
			for _, large := range []int64{1_000_000, 1} { // ranked as among few, and as among many
				s.Large(large)
				if diff := cmp.Diff(c.want, find(t, s, c.text, c.f)); diff != "" {
					t.Errorf("%s %+v, large from %d: -want +got\n%s", c.text, c.f, large, diff)
				}
			}
		}
	})
}

// What is purged is found no more; what is left is.
func TestPurge(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		var all []store.Record
		for i := range 5000 {
			all = append(all, record(fmt.Sprint(i%7), store.User, i, "the word"))
		}
		keep(t, s, 5000, all...)
		n, err := s.Purge(t.Context(), noon.Add(4998*time.Minute))
		if n != 4998 || err != nil {
			t.Fatal(n, err)
		}
		if left, err := s.CountRecords(t.Context()); left != 2 || err != nil {
			t.Error(left, err)
		}
		if got := find(t, s, "word", store.Search{}); len(got) != 2 {
			t.Errorf("found %q", got)
		}
		if n, err := s.Purge(t.Context(), noon); n != 0 || err != nil {
			t.Error(n, err)
		}
	})
}

func TestTranscriptsReadOnly(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		open(t, o).Close()
		o.ReadOnly = true
		s := open(t, o)
		if _, err := s.Keep(t.Context(), []store.Record{record("u", store.User, 0, "x")}); !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("Keep says %v", err)
		}
		if _, err := s.Purge(t.Context(), noon); !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("Purge says %v", err)
		}
		if got := find(t, s, "x", store.Search{}); len(got) != 0 {
			t.Errorf("found %q", got)
		}
	})
}
