package table

import (
	"fmt"
	"slices"
)

// Row is one line of the report.
type Row struct {
	Key   string // words separated by slashes
	Title string // of the measurement; its rows share it
	What  string
	Unit  string // "×", "µs", "MiB", "ms", "MB/s", "ns", ""
	Goal  Goal
	Note  string // has a verb for each of the parts
}

// line is a Row with its measured values.
type line struct {
	Row
	values []float64
	parts  [][]float64
}

func (l *line) median() float64 { return Median(l.values) }

func (l *line) missed() bool { return l.Goal.missing(l.median()) > 0 }

// note returns the Note with the medians of the parts. It says if the row was not measured in every
// round.
func (l *line) note(rounds int) string {
	args := make([]any, len(l.parts))
	for i, part := range l.parts {
		args[i] = Median(part)
	}
	note := fmt.Sprintf(l.Note, args...)
	if len(l.values) >= rounds {
		return note
	}
	few := fmt.Sprintf("rounds: %d", len(l.values))
	if note == "" {
		return few
	}
	return note + "; " + few
}

func (l *line) number(v float64) string {
	format := "%.2f"
	switch l.Unit {
	case "":
		format = "%.3g"
	case "MB/s", "ns":
		format = "%.0f"
	case "µs", "ms", "MiB":
		format = "%.1f"
	}
	return fmt.Sprintf(format, v)
}

func (l *line) withUnit(v float64) string {
	if l.Unit == "" || l.Unit == "×" {
		return l.number(v) + l.Unit
	}
	return l.number(v) + " " + l.Unit
}

// measured returns the median, and the range if the values differ.
func (l *line) measured() string {
	low, high := slices.Min(l.values), slices.Max(l.values)
	if low == high {
		return l.withUnit(low)
	}
	return fmt.Sprintf("%s (%s–%s)", l.withUnit(l.median()), l.number(low), l.number(high))
}

func (l *line) target() string {
	switch l.Goal.kind {
	case atMost:
		return "≤" + l.withUnit(l.Goal.bound)
	case atLeast:
		return "≥" + l.withUnit(l.Goal.bound)
	}
	return "–"
}

func (l *line) verdict() string {
	switch {
	case l.Goal.kind == none:
		return ""
	case l.missed():
		return "missed by " + l.withUnit(l.Goal.missing(l.median()))
	}
	return "met"
}

// Median returns the middle value, or the mean of the two middle values. values must not be empty.
func Median(values []float64) float64 { return Quantile(values, 0.5) }

// Quantile returns the value below which the fraction q of the values is, with linear
// interpolation.
func Quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}
