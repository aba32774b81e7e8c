//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"codex-bridge.example/cmd/bridge-bench/internal/table"
)

// goRow is a row with a metric of a Go benchmark, such as "Pump/mixed ns/line". scale converts it to the
// unit of the row. parts are the metrics in the note.
type goRow struct {
	table.Row
	metric string
	scale  float64
	parts  []string
}

var (
	pumpRows = []goRow{
		{table.Row{Key: "pump/allocs", Title: "a message that passes", What: "allocations", Goal: table.AtMost(0), Note: "per 4,000 messages of mixed methods"}, "Pump/mixed allocs/op", 1, nil},
		{table.Row{Key: "pump/time", Title: "a message that passes", What: "found and decided in", Unit: "ns", Note: "250 B, without system calls"}, "Pump/mixed ns/line", 1, nil},
	}
	turnRows = []goRow{
		{table.Row{Key: "parse/message", Title: "strict parse of a turn/start", What: "speed", Unit: "MB/s", Goal: table.AtLeast(300), Note: "%.0f ns"}, "Turn/parse MB/s", 1, []string{"Turn/parse ns/op"}},
		{table.Row{Key: "parse/message/allocs", Title: "strict parse of a turn/start", What: "allocations", Goal: table.AtMost(3)}, "Turn/parse allocs/op", 1, nil},
		{table.Row{Key: "parse/decide", Title: "strict parse and decision of a turn/start", What: "speed", Unit: "MB/s", Goal: table.AtLeast(300), Note: "%.0f ns"}, "Turn/decide MB/s", 1, []string{"Turn/decide ns/op"}},
		{table.Row{Key: "parse/decide/allocs", Title: "strict parse and decision of a turn/start", What: "allocations", Goal: table.AtMost(3)}, "Turn/decide allocs/op", 1, nil},
		{table.Row{Key: "parse/big", Title: "strict parse of 64 KiB of pasted text", What: "speed", Unit: "MB/s", Note: "%.0f ns"}, "Turn/parse-64KiB MB/s", 1, []string{"Turn/parse-64KiB ns/op"}},
	}
	ruleRows = []goRow{
		{table.Row{Key: "rules/command", Title: "a command against 1,000 rules", What: "decided in", Unit: "µs", Goal: table.AtMost(50)}, "ManyRules/command ns/op", 1e-3, nil},
		{table.Row{Key: "rules/patch", Title: "a patch against 1,000 rules", What: "decided in", Unit: "µs", Goal: table.AtMost(50)}, "ManyRules/patch ns/op", 1e-3, nil},
		{table.Row{Key: "rules/tool", Title: "a tool against 1,000 rules", What: "decided in", Unit: "µs", Goal: table.AtMost(50)}, "ManyRules/tool ns/op", 1e-3, nil},
	}
)

// goBenchmarks measures rows by the Go benchmarks of a package, which .ci/compare.sh compares between commits.
func goBenchmarks(pkg, pattern string, rows []goRow) func(b *bench, n int) error {
	return func(b *bench, _ int) error {
		cmd := exec.Command("go", "test", "-C", b.root, "-run", "^$", "-bench", pattern, "-benchmem", "-benchtime", "100ms", pkg)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("the benchmarks of %s: %w\n%s", pkg, err, out)
		}
		metrics := parseMetrics(out)
		for _, r := range rows {
			values := make([]float64, 0, 1+len(r.parts))
			for _, name := range append([]string{r.metric}, r.parts...) {
				value, ok := metrics[name]
				if !ok {
					return fmt.Errorf("the benchmarks of %s do not report %s:\n%s", pkg, name, out)
				}
				values = append(values, value)
			}
			b.table.Add(r.Row, values[0]*r.scale, values[1:]...)
		}
		return nil
	}
}

// cores is the end of a benchmark's name.
var cores = regexp.MustCompile(`-[0-9]+$`)

// parseMetrics returns the metrics in the output of go test.
func parseMetrics(out []byte) map[string]float64 {
	metrics := make(map[string]float64)
	for line := range bytes.Lines(out) {
		fields := strings.Fields(string(line))
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := cores.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), "")
		for i := 2; i+1 < len(fields); i += 2 {
			if value, err := strconv.ParseFloat(fields[i], 64); err == nil {
				metrics[name+" "+fields[i+1]] = value
			}
		}
	}
	return metrics
}
