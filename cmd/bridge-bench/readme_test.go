//go:build linux

package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	overhead    = regexp.MustCompile(`the median is at most ([0-9.]+) ms for a request, ([0-9.]+) ms for the start and ([0-9.]+) ms for a hook \(\[benchmarks\]`)
	firstNumber = regexp.MustCompile(`^-?[0-9.]+`)
)

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

// medians returns the medians of a report by the titles and names of its rows.
func medians(page string) map[string]float64 {
	all := make(map[string]float64)
	title := ""
	for line := range strings.Lines(page) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		if cells[1] != "" {
			title = cells[1]
		}
		if median, err := strconv.ParseFloat(firstNumber.FindString(cells[3]), 64); err == nil {
			all[title+": "+cells[2]] = median
		}
	}
	return all
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
