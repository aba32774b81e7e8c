package table_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"codex-bridge.example/cmd/bridge-bench/internal/table"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3}, 3},
		{[]float64{9, 1, 3}, 3},
		{[]float64{4, 1, 3, 2}, 2.5},
		{[]float64{7, 7, 1, 7, 100}, 7},
	} {
		if got := table.Median(tt.values); got != tt.want {
			t.Errorf("Median(%v) = %v, want %v", tt.values, got, tt.want)
		}
	}
}

func TestQuantile(t *testing.T) {
	hundred := make([]float64, 101)
	for i := range hundred {
		hundred[100-i] = float64(i)
	}
	for q, want := range map[float64]float64{0: 0, 0.25: 25, 0.5: 50, 0.99: 99, 0.995: 99.5, 1: 100} {
		if got := table.Quantile(hundred, q); got != want {
			t.Errorf("Quantile(0…100, %v) = %v, want %v", q, got, want)
		}
	}
}

// At least the fraction q of the values is not above the quantile. Quantile does not change the
// values, and grows with q.
func TestQuantileLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 50).Draw(t, "values")
		before := append([]float64(nil), values...)
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		at := table.Quantile(values, q)
		if diff := cmp.Diff(before, values); diff != "" {
			t.Fatalf("the values changed:\n%s", diff)
		}
		below, above := 0, 0
		for _, v := range values {
			if v <= at {
				below++
			}
			if v >= at {
				above++
			}
		}
		last := float64(len(values) - 1)
		if float64(below) < q*last || float64(above) < (1-q)*last {
			t.Fatalf("of %d values %d are not above the quantile %v (%v), and %d not below", len(values), below, q, at, above)
		}
		if more := rapid.Float64Range(q, 1).Draw(t, "more"); table.Quantile(values, more) < at {
			t.Fatalf("the quantile %v is below the quantile %v", more, q)
		}
	})
}

// TestReport has each kind of row: met and missed, at the bound, with and without a goal, with
// parts, and not measured in each round.
func TestReport(t *testing.T) {
	report := table.Table{Rounds: 3}
	pass := table.Row{Title: "pass-through", Unit: "×", Goal: table.AtMost(0.67), Note: "%.2f GB/s, cat %.2f GB/s"}
	pass.Key, pass.What = "pass/pipes/time", "time"
	for _, v := range []float64{0.9, 0.5, 0.6} { // the mean would miss the goal
		report.Add(pass, v, 2*v, 1)
	}
	pass.Key, pass.What = "pass/pipes/cpu", "processor time"
	for _, v := range []float64{0.9, 0.8, 0.1} { // the mean would meet it
		report.Add(pass, v, 1, v)
	}
	bound := table.Row{Key: "bound", Title: "at the bound", What: "time", Unit: "ms", Goal: table.AtMost(10)}
	speed := table.Row{Key: "speed/met", Title: "strict parse", What: "speed", Unit: "MB/s", Goal: table.AtLeast(300)}
	slow := table.Row{Key: "speed/missed", Title: "strict parse", What: "of long ones", Unit: "MB/s", Goal: table.AtLeast(300)}
	counted := table.Row{Key: "allocs", Title: "a message that passes", What: "allocations", Goal: table.AtMost(0)}
	free := table.Row{Key: "free", Title: "to be known", What: "p50", Unit: "µs"}
	for i := range 3 {
		report.Add(bound, 10)
		report.Add(speed, float64(300+i))
		report.Add(slow, float64(299-i))
		report.Add(counted, 0)
		report.Add(free, 1.25)
	}
	once := table.Row{Key: "once", Title: "measured once", What: "memory", Unit: "MiB", Goal: table.AtMost(64)}
	report.Add(once, 65)
	once.Key, once.Note = "twice", "highest RSS"
	report.Add(once, 1)
	report.Add(once, 2)

	var markdown, terminal bytes.Buffer
	report.Markdown(&markdown, func(key string) string { return "Because of " + key + "." })
	if err := report.Terminal(&terminal); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/report.md", markdown.Bytes())
	golden(t, "testdata/report.txt", terminal.Bytes())
}

func TestNothingMissed(t *testing.T) {
	report := table.Table{Rounds: 1}
	report.Add(table.Row{Key: "a", Title: "a", What: "time", Unit: "×", Goal: table.AtMost(1)}, 1)
	var out bytes.Buffer
	report.Markdown(&out, func(key string) string { t.Errorf("unexpected call for %s", key); return "" })
	golden(t, "testdata/met.md", out.Bytes())
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
