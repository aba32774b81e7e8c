//go:build linux

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChoose(t *testing.T) {
	all, err := choose("")
	if err != nil || len(all) != len(measurements) {
		t.Fatalf("%d of %d selected: %v", len(all), len(measurements), err)
	}
	for only, want := range map[string][]string{
		"parse":                       {"parse"},
		"trip":                        {"trip/pipes", "trip/socketpairs"},
		"pass/long/pipes":             {"pass/long/pipes"},
		"stream,pass/deltas,pass":     {"pass/deltas/pipes", "pass/long/pipes", "pass/deltas/socketpairs", "pass/long/socketpairs", "pass/each/pipes", "pass/each/socketpairs", "pass/huge/pipes", "stream"},
		"features/turns,hook":         {"features/turns", "hook"},
		"features/turns-each,history": {"features/turns-each", "history"},
	} {
		chosen, err := choose(only)
		if diff := cmp.Diff(want, namesOf(chosen)); diff != "" || err != nil {
			t.Errorf("-only %s: %v (-want +got):\n%s", only, err, diff)
		}
	}
	for _, only := range []string{"nothing", "pass,nothing", "pas", "pass/", "parse,"} {
		if _, err := choose(only); err == nil {
			t.Errorf("-only %s is no error", only)
		}
	}
}

// No name starts with the words of another one: otherwise it can't be selected alone.
func TestNames(t *testing.T) {
	names := namesOf(measurements)
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			t.Errorf("%s is not unique", name)
		}
		for _, other := range names {
			if strings.HasPrefix(other, name+"/") {
				t.Errorf("%s can't be selected without %s", name, other)
			}
		}
	}
}

func namesOf(ms []measurement) []string {
	names := make([]string, len(ms))
	for i, m := range ms {
		names[i] = m.name
	}
	return names
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 10_050: "10,050", 1_000_000: "1,000,000", 2_000_003: "2,000,003"} {
		if got := formatThousands(n); got != want {
			t.Errorf("%d is written %s, want %s", n, got, want)
		}
	}
}

func TestParseMetrics(t *testing.T) {
	out := `goos: linux
BenchmarkTurn/parse-64KiB-2         	       1	     31612 ns/op	2101.00 MB/s	       0 B/op	       3 allocs/op
BenchmarkTool                       	      10	       250.5 ns/op
PASS
ok  	codex-bridge.example/bridge/policy	0.2s
`
	want := map[string]float64{
		"Turn/parse-64KiB ns/op": 31612, "Turn/parse-64KiB MB/s": 2101, "Turn/parse-64KiB B/op": 0, "Turn/parse-64KiB allocs/op": 3, "Tool ns/op": 250.5,
	}
	if diff := cmp.Diff(want, parseMetrics([]byte(out))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
