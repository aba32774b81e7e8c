package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"
	"time"
)

//go:embed page.css
var style string

//go:embed page.js
var script string

//go:embed page.gohtml
var markup string

// tmpl is read when a page is written: most starts of the program write none.
var tmpl = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(markup)) })

// Write writes the page of a trace.
func Write(out io.Writer, m *Model) error {
	sum := sha256.Sum256([]byte(script))
	type row struct {
		*Row
		At, Took, Shown string
	}
	rows := make([]row, len(m.Rows))
	counts := make(map[string]int)
	for i, r := range m.Rows {
		took := short(r.End.Sub(r.Start))
		rows[i] = row{r, r.at(m.First), took, r.State}
		if r.State == "ok" { // nothing has to be said of it but how long it took
			rows[i].Shown = ""
			if r.End.After(r.Start) {
				rows[i].Shown = took
			}
		}
		counts[r.Kind]++
	}
	type kind struct {
		Name  string
		Count int
	}
	var kinds []kind
	for _, k := range Kinds {
		if counts[k] > 0 {
			kinds = append(kinds, kind{k, counts[k]})
		}
	}
	return tmpl().Execute(out, map[string]any{
		"M": m, "Rows": rows, "Kinds": kinds, "Style": template.CSS(style), "Script": template.JS(script), //nolint:gosec // our own files
		"Hash": "sha256-" + base64.StdEncoding.EncodeToString(sum[:]), "Began": m.First.UTC().Format(time.RFC3339),
		"Lasted": short(m.Last.Sub(m.First)), "Tokens": chart(m),
	})
}

// line is one line of the chart of tokens.
type line struct {
	Name, Points string
	Last         float64
}

// chart draws what the model had used over time, in a box of 1,000 by 120.
func chart(m *Model) []line {
	if len(m.Usage) == 0 {
		return nil
	}
	lines := []line{{Name: "total"}, {Name: "input"}, {Name: "output"}}
	most := 1.0
	for _, u := range m.Usage {
		most = max(most, u.Total, u.Input, u.Output)
	}
	all := max(m.Last.Sub(m.First), time.Millisecond)
	for i := range lines {
		var points strings.Builder
		y := 120.0
		for _, u := range m.Usage {
			n := [...]float64{u.Total, u.Input, u.Output}[i]
			x := 1000 * float64(u.At.Sub(m.First)) / float64(all)
			fmt.Fprintf(&points, "%.1f,%.1f ", x, y) // a step: nothing is known in between
			y = 120 - 115*n/most
			fmt.Fprintf(&points, "%.1f,%.1f ", x, y)
			lines[i].Last = n
		}
		fmt.Fprintf(&points, "1000,%.1f", y)
		lines[i].Points = points.String()
	}
	return lines
}
