//go:build linux

package main

import (
	"os"
	"slices"
	"testing"

	"codex-bridge.example/cmd/bridge-bench/internal/table"
	"codex-bridge.example/cmd/internal/scripted"
)

// TestMain also plays the stand-in for Codex, which the proxy starts.
func TestMain(m *testing.M) {
	if os.Getenv(envLoad) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// BenchmarkProxy runs rows of the report with short loads, so that benchstat can compare two commits. Each
// reports the median of the ratios to cat, to the stand-in for Codex, or to the bridge without features.
func BenchmarkProxy(b *testing.B) {
	dir, err := scripted.Folder("bridge-bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	processes := &bench{options: options{short: true}, dir: dir, buf: make([]byte, 1<<20)}
	if err := processes.prepare(nil); err != nil {
		b.Fatal(err)
	}
	for _, load := range []string{"deltas", "each"} {
		b.Run("pass/"+load, func(b *testing.B) {
			l, err := processes.loads.load(load)
			if err != nil {
				b.Fatal(err)
			}
			compare(b, "x-cat",
				func() (passResult, error) { return processes.passOnce(processes.startProxy, pipes, load, l, false) },
				func() (passResult, error) { return processes.passOnce(processes.startCats, pipes, load, l, false) })
		})
	}
	b.Run("trip", func(b *testing.B) {
		var ratios []float64
		for n := 0; b.Loop(); n++ {
			var ours, cats []float64
			err := alternate(n,
				func() (err error) { ours, err = processes.trips(processes.startProxy, pipes, 500); return },
				func() (err error) { cats, err = processes.trips(processes.startCats, pipes, 500); return })
			if err != nil {
				b.Fatal(err)
			}
			ratios = append(ratios, table.Median(ours)/table.Median(cats))
		}
		report(b, ratios, "x-cat")
	})
	b.Run("start", func(b *testing.B) {
		env := processes.env(idleLoad)
		var ratios []float64
		for n := 0; b.Loop(); n++ {
			var ours, alone float64
			err := alternate(n,
				func() (err error) {
					ours, err = processes.startOnce(processes.proxy, env, "ours", processes.self)
					return
				},
				func() (err error) {
					alone, err = processes.startOnce(processes.self, env, "alone", processes.self)
					return
				})
			if err != nil {
				b.Fatal(err)
			}
			ratios = append(ratios, ours/alone)
		}
		report(b, ratios, "x-codex")
	})
	for _, key := range []string{"trace", "transcript", "all"} {
		b.Run("features/"+key, func(b *testing.B) {
			f := features[slices.IndexFunc(features, func(f feature) bool { return f.key == key })]
			const load = "turns-each"
			l, err := processes.loads.load(load)
			if err != nil {
				b.Fatal(err)
			}
			compare(b, "x-bare",
				func() (passResult, error) { return processes.converse(f, load, l, false) },
				func() (passResult, error) { return processes.converse(feature{}, load, l, false) })
		})
	}
}

// compare measures a load twice in turns, and reports the ratio of the times and of the processor times.
func compare(b *testing.B, unit string, ours, reference func() (passResult, error)) {
	b.Helper()
	var times, cpu []float64
	for n := 0; b.Loop(); n++ {
		var our, other passResult
		err := alternate(n,
			func() (err error) { our, err = ours(); return },
			func() (err error) { other, err = reference(); return })
		if err != nil {
			b.Fatal(err)
		}
		times, cpu = append(times, ratio(our.took, other.took)), append(cpu, ratio(our.cpu, other.cpu))
	}
	report(b, times, unit)
	b.ReportMetric(table.Median(cpu), unit+"-cpu")
}

// report reports ratios in place of the time and memory of the benchmark itself.
func report(b *testing.B, ratios []float64, unit string) {
	b.Helper()
	for _, own := range []string{"ns/op", "B/op", "allocs/op"} {
		b.ReportMetric(0, own)
	}
	b.ReportMetric(table.Median(ratios), unit)
}
