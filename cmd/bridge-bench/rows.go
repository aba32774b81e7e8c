//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"
)

// row is one line of the report.
type row struct {
	key    string
	title  string // of what is measured; the rows of one measurement share it
	what   string
	unit   string // "×", "µs", "MiB", "ms", "MB/s", "ns", ""
	goal   float64
	free   bool // there is no goal; the row is there to be known
	atMost bool // else at least
	// note has a verb for each of the parts.
	note   string
	values []float64 // one a round
	parts  [][]float64
}

// add adds the value of one round to a row, and what it was made of. The first
// round makes the row.
func (b *bench) add(r row, value float64, parts ...float64) {
	i := slices.IndexFunc(b.rows, func(old *row) bool { return old.key == r.key })
	if i < 0 {
		i = len(b.rows)
		r.parts = make([][]float64, len(parts))
		b.rows = append(b.rows, &r)
	}
	old := b.rows[i]
	old.values = append(old.values, value)
	for n, part := range parts {
		old.parts[n] = append(old.parts[n], part)
	}
}

func (r *row) median() float64 { return median(r.values) }

func (r *row) met() bool {
	if r.atMost {
		return r.median() <= r.goal
	}
	return r.median() >= r.goal
}

func median(values []float64) float64 { return quantile(values, 0.5) }

func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 == len(sorted) {
		return sorted[low]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}

// remark is the note with the medians of the parts.
func (r *row) remark() string {
	args := make([]any, len(r.parts))
	for i, part := range r.parts {
		args[i] = median(part)
	}
	return fmt.Sprintf(r.note, args...)
}

func (r *row) number(v float64) string {
	format := "%.2f"
	switch r.unit {
	case "":
		format = "%.3g"
	case "MB/s", "ns":
		format = "%.0f"
	case "µs", "ms", "MiB":
		format = "%.1f"
	}
	return fmt.Sprintf(format, v)
}

func (r *row) withUnit(v float64) string { return strings.TrimSpace(r.number(v) + " " + r.unit) }

// measured is the median, and the range where the rounds differ.
func (r *row) measured() string {
	low, high := slices.Min(r.values), slices.Max(r.values)
	if low == high {
		return r.withUnit(low)
	}
	return fmt.Sprintf("%s (%s–%s)", r.withUnit(r.median()), r.number(low), r.number(high))
}

func (r *row) target() string {
	switch {
	case r.free:
		return "–"
	case r.atMost:
		return "≤ " + r.withUnit(r.goal)
	}
	return "≥ " + r.withUnit(r.goal)
}

func (r *row) verdict() string {
	switch {
	case r.free:
		return ""
	case r.met():
		return "met"
	case r.atMost:
		return "missed by " + r.withUnit(r.median()-r.goal)
	}
	return "missed by " + r.withUnit(r.goal-r.median())
}
