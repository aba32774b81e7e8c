package fleet_test

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/relay/fleet"
)

// day is the time of the first decision of decisions.
var day = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// decisions returns chains whose decisions have times, threads, methods and verdicts that differ.
func decisions() map[string][]store.Sealed {
	chains := make(map[string][]store.Sealed)
	for c := range 3 {
		head := decision.NoHead
		var all []store.Sealed
		for i := range 5 {
			content := fmt.Appendf(nil, `{"method":"m%d","previous":%q,"seq":%d,"thread":"t%d","time":%q,"verdict":"v%d"}`,
				i%2, head.Hash, i+1, c, day.Add(time.Duration(i*3+(c+i)%3)*time.Hour).Format(time.RFC3339), i%3)
			head = decision.Head{Seq: int64(i + 1), Hash: decision.Sum(content)}
			all = append(all, store.Sealed{Head: head, Content: content})
		}
		chains[strings.Repeat(fmt.Sprint(c), 32)] = all
	}
	return chains
}

// filters has filters with the number of decisions that they select.
var filters = []struct {
	filter store.Filter
	count  int
}{
	{store.Filter{}, 15},
	{store.Filter{Limit: 4}, 4},
	{store.Filter{Limit: 20}, 15},
	{store.Filter{Since: day.Add(9 * time.Hour)}, 6},
	{store.Filter{Thread: "t1"}, 5},
	{store.Filter{Method: "m1"}, 6},
	{store.Filter{Verdict: "v2"}, 3},
	{store.Filter{Thread: "t1", Method: "m0", Verdict: "v2", Limit: 1}, 1},
	{store.Filter{Thread: "none"}, 0},
}

// checkFound compares the found entries with the selected ones in the order of time.
func checkFound(t *testing.T, f store.Filter, count int, found iter.Seq2[fleet.Found, error]) {
	t.Helper()
	var want []string
	for e, err := range fleet.Find(sequence(entriesOf(decisions())), store.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		d, err := e.Entry.Entry()
		if err != nil {
			t.Fatal(err)
		}
		if !d.Time.Before(f.Since) && strings.Contains(d.Thread, f.Thread) && strings.Contains(d.Method, f.Method) && strings.Contains(d.Verdict, f.Verdict) {
			want = append(want, d.Time.Format(time.RFC3339)+e.Chain)
		}
	}
	if !slices.IsSorted(want) {
		t.Fatalf("not sorted: %q", want)
	}
	if f.Limit > 0 {
		want = want[max(0, len(want)-f.Limit):]
	}
	var got []string
	for e, err := range found {
		if err != nil {
			t.Fatal(err)
		}
		d, _ := e.Entry.Entry()
		got = append(got, d.Time.Format(time.RFC3339)+e.Chain)
	}
	if !slices.Equal(got, want) || len(got) != count {
		t.Errorf("%+v: found %q, not %q", f, got, want)
	}
}

// An export is searched in the order of time, whatever the order of its chains is. The limit keeps the newest.
func TestFindInAnExport(t *testing.T) {
	for _, test := range filters {
		entries := entriesOf(decisions())
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		checkFound(t, test.filter, test.count, fleet.Find(sequence(entries), test.filter))
	}
	failed := errors.New("no disk")
	for _, err := range fleet.Find(func(yield func(fleet.Entry, error) bool) { yield(fleet.Entry{}, failed) }, store.Filter{}) {
		if !errors.Is(err, failed) {
			t.Errorf("the error is %v", err)
		}
	}
}

// The machine of a chain is shown where it is known.
func TestFoundMachine(t *testing.T) {
	e := entriesOf(decisions())[0]
	for _, test := range []struct{ host, account, machine, begin string }{
		{"", "", "", `{"chain":"0`},
		{"laptop", "ada", "ada@laptop", `{"account":"ada","host":"laptop","chain":"0`},
	} {
		f := fleet.Found{Entry: e, Host: test.host, Account: test.account}
		if f.Machine() != test.machine || !strings.HasPrefix(string(f.Line()), test.begin) {
			t.Errorf("%q: %s", f.Machine(), f.Line())
		}
	}
}
