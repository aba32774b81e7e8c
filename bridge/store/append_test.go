package store_test

import (
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.FixedZone("", 3600))

func testDecision() decision.Record {
	return decision.Record{
		Time: noon, Client: "zed/1.2", Thread: "T", Turn: "U", Method: "turn/start", Verdict: "rewrite", Mode: "enforce",
		Rule: "policy.sandbox", Reason: "too much", Origin: "config.toml:3", Fields: []string{"params.a", "params.b"},
		Message: decision.Sum([]byte("{}")), Facts: `{"id":"call"}`,
	}
}

// Append writes one form of each decision, and Decisions returns it.
func TestAppend(t *testing.T) {
	long := strings.Repeat("ä", 3000)
	kept := testDecision()
	kept.Time = time.Date(2026, 3, 1, 11, 0, 0, 123456000, time.UTC)
	with := func(change func(*decision.Record)) decision.Record {
		d := testDecision()
		change(&d)
		return d
	}
	wants := func(change func(*decision.Record)) decision.Record {
		d := kept
		change(&d)
		return d
	}
	many := make([]string, 200)
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		for _, tt := range []struct {
			name      string
			give, get decision.Record
		}{
			{"all fields", testDecision(), kept},
			{"none", decision.Record{Time: noon}, decision.Record{Time: kept.Time, Fields: []string{}}},
			{"signs", with(func(d *decision.Record) {
				d.Reason, d.Fields = "<&>\"\\\n\u2028\x1b\x7f é 😀 '; --", []string{"\x1b", "</a>", "$1"}
			}),
				wants(func(d *decision.Record) {
					d.Reason, d.Fields = "<&>\"\\\n\u2028\x1b\x7f é 😀 '; --", []string{"\x1b", "</a>", "$1"}
				})},
			{"what PostgreSQL can't hold", with(func(d *decision.Record) { d.Client, d.Fields = "a\x00b\xff", []string{"\x00\xc3"} }),
				wants(func(d *decision.Record) { d.Client, d.Fields = "a\uFFFDb\uFFFD", []string{"\uFFFD\uFFFD"} })},
			{"long facts", with(func(d *decision.Record) { d.Facts = strings.Repeat("x", 65<<10) }), wants(func(d *decision.Record) { d.Facts = "" })},
			{"long", with(func(d *decision.Record) { d.Thread = long }), wants(func(d *decision.Record) { d.Thread = long[:4096] + "…" })},
			{"long, cut between two runes", with(func(d *decision.Record) { d.Thread = "a" + long }),
				wants(func(d *decision.Record) { d.Thread = "a" + long[:4094] + "…" })},
			{"many fields", with(func(d *decision.Record) { d.Fields = many }),
				wants(func(d *decision.Record) { d.Fields = append(many[:128:128], "…") })},
		} {
			t.Run(tt.name, func(t *testing.T) {
				if err := s.Append(t.Context(), tt.give); err != nil {
					t.Fatal(err)
				}
				last := readEntries(t, s, store.Filter{Limit: 1})
				if diff := cmp.Diff([]decision.Record{tt.get}, decisions(last)); diff != "" {
					t.Error(diff)
				}
			})
		}
		if head, err := s.Verify(t.Context()); err != nil || head.Seq != 8 {
			t.Error(head, err)
		}
	})
}

func TestAppendSetsTime(t *testing.T) {
	s := open(t, backends[0].fresh(t))
	before := time.Now().Truncate(time.Microsecond)
	if err := s.Append(t.Context(), decision.Record{}); err != nil {
		t.Fatal(err)
	}
	got := readEntries(t, s, store.Filter{})[0].Time
	if got.Before(before) || got.After(time.Now()) {
		t.Errorf("the time of a decision without a time is %v", got)
	}
}

// Append refuses content of messages, and years that the format of times can't hold.
func TestAppendRefusesContentAndYears(t *testing.T) {
	s := open(t, backends[0].fresh(t))
	for _, d := range []decision.Record{
		{Message: `{"method":"turn/start"}`},
		{Message: strings.ToUpper(decision.Sum(nil))},
		{Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		{Time: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		err := s.Append(t.Context(), d)
		if err == nil {
			t.Errorf("Append accepted %+v", d)
		} else if strings.Contains(err.Error(), "turn/start") {
			t.Errorf("the error shows the message: %v", err)
		}
	}
	if got := readEntries(t, s, store.Filter{}); len(got) != 0 {
		t.Error(got)
	}
}

func readEntries(t testing.TB, s *store.Store, f store.Filter) []decision.Entry {
	t.Helper()
	var all []decision.Entry
	for e, err := range s.Decisions(t.Context(), f) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func decisions(all []decision.Entry) []decision.Record {
	var ds []decision.Record
	for _, e := range all {
		ds = append(ds, e.Record)
	}
	return ds
}
