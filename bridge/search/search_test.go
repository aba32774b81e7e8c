package search_test

import (
	"errors"
	"strings"
	"testing"

	"codex-bridge/bridge/search"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"Good day, Anna!":           "good day anna",
		"max_event = 256KiB":        "max event 256kib",
		"src/main.go:12":            "src main go 12",
		"Grüße CAFÉ cafe\u0301 ﬁne": "gruße cafe cafe fine",
		"会議は3時":                     "会 議 は 3 時",
		"a\x00b \xff c":             "a b c",
		strings.Repeat("x", 70):     strings.Repeat("x", 64),
	} {
		if got := search.Words(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, fts5, tsquery string }{
		{"Flaky pump", `(words : ("flaky" AND "pump") AND facets : "kuser")`, `('flaky') & ('pump')`},
		{`"long line" -cat pum*`, `(words : ("long line" AND "pum"*) AND facets : "kuser") NOT words : "cat"`, `('long' <-> 'line') & ('pum':*) & !('cat')`},
		{`"open`, `(words : ("open") AND facets : "kuser")`, `('open')`},
		{`main.go" OR NEAR(`, `(words : ("main go" AND "or near") AND facets : "kuser")`, `('main' <-> 'go') & ('or' <-> 'near')`},
		{`"long li"* ' ; \ ++ -- -"`, `(words : ("long li"*) AND facets : "kuser")`, `('long' <-> 'li':*)`},
	} {
		q, err := search.Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if diff := cmp.Diff([]string{c.fts5, c.tsquery}, []string{q.FTS5("kuser"), q.TSQuery()}); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.text, diff)
		}
	}
	for _, text := range []string{"", " ", "-", "-cat", `""`, "!?"} {
		if _, err := search.Parse(text); !errors.Is(err, search.ErrNothing) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := search.Parse(strings.Repeat("a ", 33)); err == nil || !strings.Contains(err.Error(), "33 terms") {
		t.Errorf("33 terms: %v", err)
	}
}

func TestVector(t *testing.T) {
	if got, want := search.Vector("b a, A b! c"), `'a':2,3 'b':1,4 'c':5`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got := search.Vector(strings.Repeat("x ", 20_000) + "y")
	if !strings.HasSuffix(got, "'y':16383") || strings.Count(got, ",") != 255 {
		t.Errorf("a long text: %d places, …%s", strings.Count(got, ",")+1, got[len(got)-20:])
	}
}

func TestSnippet(t *testing.T) {
	long := strings.Repeat("nothing here ", 40)
	for _, c := range []struct{ query, text, want string }{
		{"pump", "The Pump\nfails.", "The [Pump] fails."},
		{"pu*", "puma and pump", "[puma] and [pump]"},
		{`"long line"`, "line long, long line.", "line long, [long] [line]."},
		{"ハ", "a ㌀ b", "a [㌀] b"}, // one character, four words
		{"アハート", "a ㌀ b", "a [㌀] b"},
		{"absent", "㌀㌀", "㌀㌀"},
		{"absent", "a b", "a b"},
		{"absent", "…", ""},
		{"pump line", "pump. " + long + "the pump reads a line " + long,
			"… here nothing here nothing here the [pump] reads a [line] nothing here nothing here nothing here nothing here nothing here nothing here nothing here …"},
	} {
		q, err := search.Parse(c.query)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, q.Snippet(c.text)); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.query, diff)
		}
	}
}

// Every word of a text is found in it, and shown.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Filter(func(text string) bool { return search.Words(text) != "" }).Draw(t, "text")
		words := strings.Fields(search.Words(text))
		word := rapid.SampledFrom(words).Draw(t, "word")
		q, err := search.Parse(word)
		if err != nil {
			t.Fatalf("%q: %v", word, err)
		}
		if again := search.Words(word); again != word {
			t.Fatalf("%q has the words %q", word, again)
		}
		if got := q.Snippet(text); !strings.Contains(got, "[") {
			t.Fatalf("%q is not shown in %q: %q", word, text, got)
		}
		if !strings.Contains(search.Vector(text), "'"+word+"':") {
			t.Fatalf("%q is not in the vector of %q", word, text)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(`"long line" -cat pum*`)
	f.Fuzz(func(t *testing.T, text string) {
		q, err := search.Parse(text)
		if err != nil {
			return
		}
		if n := strings.Count(q.FTS5(), `"`); n%2 != 0 {
			t.Errorf("%q: %s", text, q.FTS5())
		}
	})
}
