package store_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"codex-bridge.example/bridge/store"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func testRecord(turn string, kind store.Kind, n int, text string) store.Record {
	return store.Record{
		Thread: "t", Turn: turn, Kind: kind, Index: n, Item: fmt.Sprint(turn, kind, n), Text: text,
		Time: noon.Add(time.Duration(n) * time.Minute).UTC().Truncate(time.Microsecond),
	}
}

// addRecords adds records, many in batches, because a transaction has a deadline.
func addRecords(t testing.TB, s *store.Store, want int, records ...store.Record) {
	t.Helper()
	kept := 0
	for part := range slices.Chunk(records, 250) {
		n, err := s.AddRecords(t.Context(), part)
		if err != nil {
			t.Fatal(err)
		}
		kept += n
	}
	if kept != want {
		t.Fatalf("added %d, want %d", kept, want)
	}
}

// A record is stored once, even if Codex sends it again, and numbered in its turn.
func TestAddRecordsSkipsStored(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s, other := open(t, o), open(t, o)
		all := []store.Record{
			testRecord("u", store.User, 0, "good day"), testRecord("u", store.Tool, 0, "one"), testRecord("u", store.Tool, 1, "one"),
			testRecord("u", store.Assistant, 0, "hello"), testRecord("v", store.User, 0, "good day"),
		}
		all[1].Name, all[1].State = "shell", "completed"
		all[2].Name = "shell"
		addRecords(t, s, 5, all...)
		addRecords(t, other, 0, all...)
		addRecords(t, s, 0, all[2])

		// An older Codex gives its items other ids when it sends them again.
		again := make([]store.Record, len(all))
		for i, r := range all {
			r.Item, r.Replayed, again[i] = fmt.Sprint("item-", i), true, r
		}
		addRecords(t, other, 0, again...)
		more := testRecord("v", store.User, 1, "more")
		more.Replayed, more.Item = true, "item-9"
		addRecords(t, other, 1, again[0], more)

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

// Records are stored as one at a time in the order of the calls: a record is skipped if an earlier one of its
// turn, kind and name has its item, or its text if Codex sends it again.
func TestAddRecordsLaw(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		run := 0
		word := rapid.SampledFrom([]string{"a", "b", "A"})
		record := rapid.Custom(func(t *rapid.T) store.Record {
			return store.Record{
				Turn: word.Draw(t, "turn"), Kind: rapid.SampledFrom(store.Kinds[:2]).Draw(t, "kind"), Name: word.Draw(t, "name"),
				Item: rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "item"), Text: word.Draw(t, "text"), Replayed: rapid.Bool().Draw(t, "replayed"), Time: noon.UTC().Truncate(time.Microsecond),
			}
		})
		rapid.Check(t, func(t *rapid.T) {
			run++
			thread := fmt.Sprint("t", run)
			var want []store.Record
			for _, part := range rapid.SliceOf(rapid.SliceOf(record)).Draw(t, "records") {
				added := 0
				for i := range part {
					part[i].Thread = thread
					if r, isNew := numbered(want, part[i]); isNew {
						want = append(want, r)
						added++
					}
				}
				if n, err := s.AddRecords(t.Context(), part); n != added || err != nil {
					t.Fatalf("%d added, want %d: %v", n, added, err)
				}
			}
			got, err := s.Records(t.Context(), thread, "")
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Fatalf("%v -want +got\n%s", err, diff)
			}
		})
	})
}

// More records than one statement inserts are stored in their order.
func TestAddManyRecordsAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		want := make([]store.Record, 201)
		for i := range want {
			want[i] = testRecord("u", store.Tool, i, fmt.Sprint("text ", i))
		}
		if n, err := s.AddRecords(t.Context(), want); n != len(want) || err != nil {
			t.Fatal(n, err)
		}
		got, err := s.Records(t.Context(), "t", "u")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v -want +got\n%s", err, diff)
		}
	})
}

// numbered returns a record with its index after the stored ones, unless it equals one of them.
func numbered(stored []store.Record, r store.Record) (_ store.Record, isNew bool) {
	for _, old := range stored {
		if old.Turn != r.Turn || old.Kind != r.Kind {
			continue
		}
		r.Index++
		if old.Name == r.Name && (r.Item != "" && old.Item == r.Item || r.Replayed && old.Text == r.Text) {
			return r, false
		}
	}
	r.Replayed = false
	return r, true
}

// Records that several stores add at once are stored once and numbered without a gap.
func TestConcurrentAddRecords(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		var wg sync.WaitGroup
		var kept atomic.Int64
		for n := range 4 {
			s := open(t, o)
			wg.Go(func() {
				for i := range 20 {
					n, err := s.AddRecords(t.Context(), []store.Record{testRecord("u", store.User, i, "word"), testRecord("u", store.Tool, 20*n+i, "word")})
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
			t.Fatalf("%d records, %d added, %v", len(all), kept.Load(), err)
		}
		next := make(map[store.Kind]int)
		for _, r := range all {
			if r.Index != next[r.Kind] {
				t.Errorf("%s %d follows %d", r.Kind, r.Index, next[r.Kind]-1)
			}
			next[r.Kind]++
		}
	})
}

// The start and end of a compaction have one item and differ by name. AddRecords replaces
// characters that a database can't hold.
func TestAddRecordsCleansText(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		start, end := testRecord("u", store.Compaction, 0, ""), testRecord("u", store.Compaction, 1, "")
		start.Name, end.Name, end.Item = "start", "end", start.Item
		addRecords(t, s, 2, start, end)
		addRecords(t, s, 0, end, start)
		addRecords(t, s, 1, testRecord("w", store.User, 0, "a\x00b \xff 'quoted' \\ '':1"))
		got, err := s.Records(t.Context(), "t", "w")
		if err != nil || len(got) != 1 || got[0].Text != "a\uFFFDb \uFFFD 'quoted' \\ '':1" {
			t.Errorf("%+v %v", got, err)
		}
	})
}

func find(t testing.TB, s *store.Store, f store.SearchOptions) []string {
	t.Helper()
	all, err := s.Find(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	found := []string{}
	for _, one := range all {
		found = append(found, fmt.Sprintf("%s/%s/%d", one.Turn, one.Kind, one.Index))
	}
	return found
}

func TestFind(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		filler := strings.Repeat(" something else that is long", 40)
		elsewhere := testRecord("x", store.User, 9, "the pump elsewhere")
		elsewhere.Thread = "other"
		longer := testRecord("y", store.User, 10, "the pump of a longer id")
		longer.Thread = "other-1"
		addRecords(t, s, 7,
			testRecord("u", store.User, 1, "The pump reads a long line."+filler),
			testRecord("u", store.Assistant, 2, "Pump! The pump's line_end is lost: rpc/pump.go"),
			testRecord("u", store.Tool, 3, "no word of it"),
			testRecord("v", store.User, 4, "pumps, CAFÉ"),
			testRecord("v", store.Assistant, 5, "the café is closed"),
			elsewhere, longer,
		)
		for _, test := range []struct {
			search store.SearchOptions
			want   []string
		}{
			{store.SearchOptions{Query: "pump -elsewhere", Thread: "t"}, []string{"u/assistant/0", "u/user/0"}},
			{store.SearchOptions{Query: "PUMP", Thread: "other"}, []string{"x/user/0"}},
			{store.SearchOptions{Query: "pump", Kind: store.User, Thread: "t"}, []string{"u/user/0"}},
			{store.SearchOptions{Query: "pumps", Since: noon.Add(4 * time.Minute), Thread: "t"}, []string{"v/user/0"}},
			{store.SearchOptions{Query: "pump", Since: noon.Add(time.Hour)}, []string{}},
			{store.SearchOptions{Query: `"line end"`}, []string{"u/assistant/0"}},
			{store.SearchOptions{Query: "line_end rpc/pump.go"}, []string{"u/assistant/0"}},
			{store.SearchOptions{Query: `"end line"`}, []string{}},
			{store.SearchOptions{Query: "café closed"}, []string{"v/assistant/0"}},
			{store.SearchOptions{Query: `pump -"long line" or`}, []string{}},
			{store.SearchOptions{Query: "pump", Limit: 1, Kind: store.Assistant}, []string{"u/assistant/0"}},
			{store.SearchOptions{Query: `text : pump* NEAR( ' \ :* & | !`}, []string{}},
		} {
			if diff := cmp.Diff(test.want, find(t, s, test.search)); diff != "" {
				t.Errorf("%+v: -want +got\n%s", test.search, diff)
			}
		}
		found, err := s.Find(t.Context(), store.SearchOptions{Query: "reads", Limit: 1})
		if err != nil || len(found) != 1 || !strings.Contains(found[0].Snippet, "[reads] a long line.") || len(found[0].Snippet) > 200 || found[0].Score <= 0 {
			t.Errorf("found %+v %v", found, err)
		}
		for _, query := range []string{"", " ", "-", "-pump", `""`, "!?"} {
			if _, err := s.Find(t.Context(), store.SearchOptions{Query: query}); !errors.Is(err, store.ErrEmptyQuery) {
				t.Errorf("%q: %v", query, err)
			}
		}
		if _, err := s.Find(t.Context(), store.SearchOptions{Query: strings.Repeat("a ", 33)}); err == nil || !strings.Contains(err.Error(), "33 terms") {
			t.Errorf("33 terms: %v", err)
		}
	})
}

// Find accepts any text as a query.
func TestFindTakesAnyQuery(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		addRecords(t, s, 1, testRecord("u", store.User, 0, "the pump"))
		rapid.Check(t, func(t *rapid.T) {
			query := "pump " + rapid.StringN(0, 40, -1).Draw(t, "query")
			if _, err := s.Find(t.Context(), store.SearchOptions{Query: query, Thread: rapid.String().Draw(t, "thread")}); err != nil && !strings.Contains(err.Error(), "terms") {
				t.Fatalf("%q: %v", query, err)
			}
		})
	})
}

// Find returns the newest first of 1,000 matches or more, and the best first of fewer.
func TestFindRanksFewerThan1000(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		var all []store.Record
		for i := range 2100 {
			all = append(all, testRecord("u", store.User, i, "a pump fails now and then"))
		}
		all[50].Text = "pump, pump, pump"
		all[1500].Text = "a pump, a pump and a valve"
		all[1600].Text = "a valve of something that has a longer text than the other one has"
		addRecords(t, s, len(all), all...)
		for _, test := range []struct{ query, want string }{
			{"pump", "u/user/2099"},
			{"pump -fails", "u/user/50"},
			{"valve", "u/user/1500"},
		} {
			if got := find(t, s, store.SearchOptions{Query: test.query, Limit: 1}); len(got) != 1 || got[0] != test.want {
				t.Errorf("%s: found %q, want %s", test.query, got, test.want)
			}
		}
	})
}

// In SQLite, a word that many records have does not count for the order.
func TestFindRanksByRareWords(t *testing.T) {
	store.SetMaxCounted(t, 5)
	s := open(t, backends[0].fresh(t))
	var all []store.Record
	for i, text := range []string{"pump valve valve", "pump pump pump valve", "pump", "pump", "pump"} {
		all = append(all, testRecord("u", store.User, i, text))
	}
	addRecords(t, s, len(all), all...)
	for _, test := range []struct {
		query string
		want  []string
	}{
		{"pump valve", []string{"u/user/0", "u/user/1"}},
		{"valve", []string{"u/user/0", "u/user/1"}},
		{"pump", []string{"u/user/4", "u/user/3", "u/user/2", "u/user/1", "u/user/0"}},
	} {
		if diff := cmp.Diff(test.want, find(t, s, store.SearchOptions{Query: test.query})); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.query, diff)
		}
	}
}

// Find finds the newest 1,000 matches, in whichever way it reads the records.
func TestFindInManyRecords(t *testing.T) {
	const count = 3000
	each := map[string]int{"all": 1, "half": 2, "tenth": 10, "fiftieth": 50, "rare": 700, "none": count} // word: in each n-th record, but not in the first
	has := func(n int, word string) bool { return n > 0 && n%each[word] == 0 }
	var all []store.Record
	for n := range count {
		r := testRecord("u", []store.Kind{store.Tool, store.User, store.User}[n%3], n, "")
		for word := range each {
			if has(n, word) {
				r.Text += " " + word
			}
		}
		if n%400 == 0 {
			r.Thread = "seldom"
		}
		all = append(all, r)
	}
	onEach(t, func(t *testing.T, o store.Options) {
		store.SetWindow(t, 100)
		s := open(t, o)
		addRecords(t, s, count, all...)
		words := rapid.SampledFrom(slices.Sorted(maps.Keys(each)))
		rapid.Check(t, func(t *rapid.T) {
			wanted, unwanted := words.Draw(t, "wanted"), words.Draw(t, "unwanted")
			from := rapid.SampledFrom([]int{0, 1500, 2990}).Draw(t, "from")
			f := store.SearchOptions{
				Query: wanted + " -" + unwanted, Limit: count, Since: all[from].Time,
				Thread: rapid.SampledFrom([]string{"", "t", "seldom"}).Draw(t, "thread"),
				Kind:   rapid.SampledFrom([]store.Kind{"", store.Tool, store.Plan}).Draw(t, "kind"),
			}
			var want, got []string
			for n := count - 1; n >= from && len(want) < 1000; n-- {
				if r := all[n]; has(n, wanted) && !has(n, unwanted) && (f.Thread == "" || r.Thread == f.Thread) && (f.Kind == "" || r.Kind == f.Kind) {
					want = append(want, r.Item)
				}
			}
			found, err := s.Find(context.Background(), f)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range found {
				got = append(got, one.Item)
			}
			if len(want) < 1000 { // the order is that of the scores
				slices.Sort(got)
				slices.Sort(want)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%+v: -want +got\n%s", f, diff)
			}
		})
	})
}

// Find returns all records since a time, also if the clock was set back between them.
func TestFindSince(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		at := func(turn string, minutes int) store.Record { return testRecord(turn, store.User, minutes, "pump") }
		check := func(minutes int, want ...string) {
			t.Helper()
			got := find(t, s, store.SearchOptions{Query: "pump", Since: noon.Add(time.Duration(minutes) * time.Minute)})
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("since minute %d: -want +got\n%s", minutes, diff)
			}
		}
		addRecords(t, s, 5, at("ahead", 300), at("a", 0), at("b", 50), at("c", 70), at("d", 50))
		check(0, "a/user/0", "ahead/user/0", "b/user/0", "c/user/0", "d/user/0")
		check(50, "ahead/user/0", "b/user/0", "c/user/0", "d/user/0")
		check(51, "ahead/user/0", "c/user/0")
		check(71, "ahead/user/0")
		check(301, []string{}...)
	})
}

// A record that got the number of a deleted one is found by its own time.
func TestFindSinceAfterPurge(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		addRecords(t, s, 2, testRecord("a", store.User, 0, "pump"), testRecord("b", store.User, 70, "pump"))
		if _, err := s.PurgeRecords(t.Context(), noon.Add(100*time.Minute)); err != nil {
			t.Fatal(err)
		}
		addRecords(t, s, 1, testRecord("c", store.User, 75, "pump"))
		if got := find(t, s, store.SearchOptions{Query: "pump", Since: noon.Add(50 * time.Minute)}); len(got) != 1 {
			t.Errorf("found %q", got)
		}
	})
}

func TestPurgeRecords(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		var all []store.Record
		for i := range 5000 {
			all = append(all, testRecord(fmt.Sprint(i%7), store.User, i, "the word"))
		}
		addRecords(t, s, 5000, all...)
		n, err := s.PurgeRecords(t.Context(), noon.Add(4998*time.Minute))
		if n != 4998 || err != nil {
			t.Fatal(n, err)
		}
		if left, err := s.CountRecords(t.Context()); left != 2 || err != nil {
			t.Error(left, err)
		}
		if got := find(t, s, store.SearchOptions{Query: "word"}); len(got) != 2 {
			t.Errorf("found %q", got)
		}
		if n, err := s.PurgeRecords(t.Context(), noon); n != 0 || err != nil {
			t.Error(n, err)
		}
	})
}

func TestTranscriptsReadOnly(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		open(t, o).Close()
		o.ReadOnly = true
		s := open(t, o)
		if _, err := s.AddRecords(t.Context(), []store.Record{testRecord("u", store.User, 0, "x")}); !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("AddRecords returned %v", err)
		}
		if _, err := s.PurgeRecords(t.Context(), noon); !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("PurgeRecords returned %v", err)
		}
		if got := find(t, s, store.SearchOptions{Query: "x"}); len(got) != 0 {
			t.Errorf("found %q", got)
		}
	})
}
