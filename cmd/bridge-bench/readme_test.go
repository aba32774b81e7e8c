//go:build linux

package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var overhead = regexp.MustCompile(`the median is at most ([0-9.]+) ms for a request, ([0-9.]+) ms for the start and ([0-9.]+) ms for a hook \(\[benchmarks\]`)

// The README and the questions claim the same overhead, not less than what the table of the benchmarks has.
func TestOverheadInReadme(t *testing.T) {
	claimed := overhead.FindStringSubmatch(readFile(t, "../../README.md"))
	if claimed == nil {
		t.Fatal("the README has no line about overhead")
	}
	if got := overhead.FindString(readFile(t, "../../docs/guides/faq.md")); got != claimed[0] {
		t.Errorf("faq.md says %q, the README %q", got, claimed[0])
	}
	measured := medians(readFile(t, "../../docs/internals/benchmarks.md"))
	for i, row := range []struct {
		name  string
		perMS float64 // of the unit of the row
	}{
		{"round trip of 250 B, pipes: added to no proxy", 1000},
		{"start to the first byte forwarded, added: real codex", 1},
		{"one hook, as the real codex measures it: p50 of 15, one by one", 1},
	} {
		limit, err := strconv.ParseFloat(claimed[i+1], 64)
		if err != nil {
			t.Fatal(err)
		}
		median, ok := measured[row.name]
		if median /= row.perMS; !ok || median > limit {
			t.Errorf("%s: %v ms, %v; the README says at most %v ms", row.name, median, ok, limit)
		}
	}
}

// The summary and the picture have the numbers of the table below them.
func TestSummaryIsThatOfTheTable(t *testing.T) {
	page := readFile(t, "../../docs/internals/benchmarks.md")
	rows := medians(page)
	if want := summary(rows); want == "" || !strings.Contains(page, want) {
		t.Errorf("the page lacks the summary of its table:%s", want)
	}
	if want := string(picture(rows)); want == "" || readFile(t, "../../docs/images/benchmarks.svg") != want {
		t.Errorf("docs/images/benchmarks.svg is not the picture of the table:\n%s", want)
	}
	if summary(map[string]float64{}) != "" || picture(map[string]float64{}) != nil {
		t.Error("a part of the report has a summary")
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
