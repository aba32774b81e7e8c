package table

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Table has the rows of a report, in the order of their first measurement.
type Table struct {
	Rounds int // planned number
	lines  []*line
}

// Add adds the value of one round to a row, with the parts it was computed from. The first call
// creates the row; later ones have as many parts.
func (t *Table) Add(r Row, value float64, parts ...float64) {
	i := slices.IndexFunc(t.lines, func(old *line) bool { return old.Key == r.Key })
	if i < 0 {
		i = len(t.lines)
		t.lines = append(t.lines, &line{Row: r, parts: make([][]float64, len(parts))})
	}
	l := t.lines[i]
	l.values = append(l.values, value)
	for n, part := range parts {
		l.parts[n] = append(l.parts[n], part)
	}
}

// titles returns the titles of the lines; an empty title repeats the one before.
func (t *Table) titles() []string {
	all := make([]string, len(t.lines))
	last := ""
	for i, l := range t.lines {
		if l.Title != last {
			all[i], last = l.Title, l.Title
		}
	}
	return all
}

// Terminal writes the table in columns.
func (t *Table) Terminal(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "what\t\tmeasured\tgoal\t\t")
	for i, title := range t.titles() {
		l := t.lines[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", title, l.What, l.measured(), l.target(), l.verdict(), l.note(t.Rounds))
	}
	return w.Flush()
}

// Markdown writes the table, and each missed goal with the reason that why returns for its key. The
// cells have no padding, to keep the page short, and a reader opens the table to see it.
func (t *Table) Markdown(out io.Writer, why func(key string) string) {
	fmt.Fprintf(out, "## All measurements\n\n<details>\n<summary>All rows: %d</summary>\n\n", len(t.lines))
	fmt.Fprintln(out, "|what||median (range)|goal|note|\n|---|---|---|---|---|")
	for i, title := range t.titles() {
		l := t.lines[i]
		goal := ""
		if l.Goal.kind != none {
			goal = strings.TrimSuffix(l.target(), " "+l.Unit) // the median has the unit
		}
		if l.missed() {
			goal = "**" + goal + "**"
		}
		fmt.Fprintf(out, "|%s|%s|%s|%s|%s|\n", title, l.What, l.measured(), goal, l.note(t.Rounds))
	}
	fmt.Fprintln(out, "\n</details>\n\n## Missed goals")
	missed, last := false, ""
	for _, l := range t.lines {
		if l.missed() {
			missed = true
			reason := why(l.Key)
			if reason == last {
				reason = "The reason is the same."
			} else {
				last = reason
			}
			fmt.Fprintf(out, "\n**%s: %s**: %s, goal %s. %s\n", l.Title, l.What, l.withUnit(l.median()), l.target(), reason)
		}
	}
	if !missed {
		fmt.Fprintln(out, "\nNone, in this run.")
	}
}
