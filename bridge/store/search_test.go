package store_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"codex-bridge/bridge/search"
	"codex-bridge/bridge/store"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Words that stand in very many records are found and ranked as they are in few: the same
// records, with the same scores where their texts have one length.
func TestRankedLikeFew(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		round := 0
		rapid.Check(t, func(t *rapid.T) {
			round++
			rankedLikeFew(t, s, fmt.Sprint("t", round))
		})
	})
}

func rankedLikeFew(t *rapid.T, s *store.Store, thread string) {
	if _, err := s.DB().ExecContext(t.Context(), "DELETE FROM transcript"); err != nil {
		t.Fatal(err)
	}
	if s.Indexed() {
		if _, err := s.DB().ExecContext(t.Context(), "INSERT INTO transcript_words (transcript_words) VALUES ('delete-all')"); err != nil {
			t.Fatal(err)
		}
	}
	const length = 6
	word := rapid.SampledFrom([]string{"pump", "pumps", "line", "line", "line", "long", "buffer"})
	var records []store.Record
	for i := range rapid.IntRange(1, 40).Draw(t, "records") {
		text := strings.Join(rapid.SliceOfN(word, length, length).Draw(t, "text"), " ")
		r := record("u", rapid.SampledFrom([]store.Kind{store.User, store.Tool}).Draw(t, "kind"), i, text)
		r.Thread = thread
		records = append(records, r)
	}
	if n, err := s.Keep(t.Context(), records); n != len(records) || err != nil {
		t.Fatal(n, err)
	}
	term := rapid.SampledFrom([]string{"pump", "pum*", "line", "buffer", `"line long"`, `"line line"`, "-buffer", `"line pum"*`})
	text := strings.Join(append(rapid.SliceOfN(term, 0, 2).Draw(t, "terms"), "line"), " ")
	q, err := search.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	f := store.Search{Query: q, Limit: 100, Kind: rapid.SampledFrom([]store.Kind{"", store.User}).Draw(t, "of kind")}
	var found [2]map[string]float64
	for i, large := range []int64{1_000_000, 0} {
		s.Large(large)
		all, err := s.Find(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(all, func(a, b store.Found) int { return cmp.Compare(b.Score, a.Score) }) {
			t.Fatalf("%s: the best do not come first: %+v", text, all)
		}
		found[i] = make(map[string]float64)
		for _, one := range all {
			found[i][fmt.Sprint(one.Kind, one.Index)] = math.Round(one.Score*1e9) / 1e9
		}
	}
	if diff := gocmp.Diff(found[0], found[1]); diff != "" {
		t.Fatalf("%s: -among few +among many\n%s", text, diff)
	}
}

// However long texts are, of fewer than 2,000 all are ranked.
func TestRankedLong(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		filler := strings.Repeat(" something", 2000)
		records := []store.Record{record("best", store.User, 0, "pump pump pump"+filler)}
		for i := range 230 { // of 20 KB each
			records = append(records, record("u", store.User, i+1, "a pump"+filler))
		}
		keep(t, s, len(records), records...)
		for _, large := range []int64{1_000_000, 0} {
			s.Large(large)
			if got := find(t, s, "pump", store.Search{Limit: 1}); len(got) != 1 || !strings.HasPrefix(got[0], "best/") {
				t.Errorf("large from %d: found %q", large, got)
			}
		}
	})
}

// Of more that fit than are ranked the newest are, and of them the best come first.
func TestRankedMany(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		var records []store.Record
		for i := range 2600 {
			kind, text := store.User, fmt.Sprintf("The pump of %d fails now and then.", i)
			if i%8 == 1 {
				kind = store.Tool
			}
			switch i {
			case 100:
				text = "pump pump fails now fails now"
			case 2500:
				text = "Pump, pumps: it fails now, fails now"
			case 1500:
				text = "A pump, and it fails now"
			}
			records = append(records, record("u", kind, i, text))
		}
		keep(t, s, len(records), records...)
		for _, c := range []struct {
			text string
			f    store.Search
			want int // the record that comes first
		}{
			{"pump fails", store.Search{}, 2500},
			{`"fails now"`, store.Search{}, 2500},
			{"pum*", store.Search{Since: noon.Add(100 * time.Minute), Kind: store.User}, 2500},
			{"pump -it", store.Search{}, 2599},                                // all are as good
			{"pump", store.Search{Since: noon.Add(2550 * time.Minute)}, 2599}, // fewer than are ranked
			{"pump 100", store.Search{}, -1},
			{"pump 2400", store.Search{}, 2400},
		} {
			for _, large := range []int64{1_000_000, 2000, 0} {
				s.Large(large)
				c.f.Query = parse(t, c.text)
				all, err := s.Find(t.Context(), c.f)
				if err != nil {
					t.Fatal(err)
				}
				got := -1
				if len(all) > 0 {
					got = int(math.Round(all[0].Time.Sub(noon).Minutes()))
				}
				if got != c.want {
					t.Errorf("%s, large from %d: %d comes first, want %d", c.text, large, got, c.want)
				}
			}
		}
	})
}

func parse(t testing.TB, text string) search.Query {
	t.Helper()
	q, err := search.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return q
}
