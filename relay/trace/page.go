package trace

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
var pageStyle string

//go:embed page.js
var pageScript string

//go:embed page.gohtml
var pageMarkup string

// pageTemplate is parsed on first use: most processes write no page.
var pageTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(pageMarkup)) })

// Write writes the page as HTML. The page loads and sends nothing. html/template escapes the texts
// of the trace, and a content security policy allows no script but that of the page.
func (p *Page) Write(out io.Writer) error {
	sum := sha256.Sum256([]byte(pageScript))
	type row struct {
		*Row
		At, Took, Shown string // Shown: the state, or how long it took
	}
	rows := make([]row, len(p.Rows))
	counts := make(map[string]int)
	for i, r := range p.Rows {
		took := formatDuration(r.End.Sub(r.Start))
		rows[i] = row{r, r.at(p.First), took, r.State}
		if r.State == "ok" {
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
	for _, k := range rowKinds {
		if counts[k] > 0 {
			kinds = append(kinds, kind{k, counts[k]})
		}
	}
	return pageTemplate().Execute(out, map[string]any{
		"M": p, "Rows": rows, "Kinds": kinds, "Style": template.CSS(pageStyle), "Script": template.JS(pageScript), //nolint:gosec // files of this package
		"Hash": "sha256-" + base64.StdEncoding.EncodeToString(sum[:]), "Began": p.First.UTC().Format(time.RFC3339),
		"Lasted": formatDuration(p.Last.Sub(p.First)), "Tokens": tokenChart(p),
	})
}

// chartLine is one line of the chart of tokens.
type chartLine struct {
	Name, Points string
	Last         float64
}

// tokenChart returns the tokens over time, as points in a box of 1,000 by 120.
func tokenChart(p *Page) []chartLine {
	if len(p.Usage) == 0 {
		return nil
	}
	lines := []chartLine{{Name: "total"}, {Name: "input"}, {Name: "output"}}
	highest := 1.0
	for _, u := range p.Usage {
		highest = max(highest, u.Total, u.Input, u.Output)
	}
	all := max(p.Last.Sub(p.First), time.Millisecond)
	for i := range lines {
		var points strings.Builder
		y := 120.0
		for _, u := range p.Usage {
			n := [...]float64{u.Total, u.Input, u.Output}[i]
			x := 1000 * float64(u.At.Sub(p.First)) / float64(all)
			fmt.Fprintf(&points, "%.1f,%.1f ", x, y) // a step
			y = 120 - 115*n/highest
			fmt.Fprintf(&points, "%.1f,%.1f ", x, y)
			lines[i].Last = n
		}
		fmt.Fprintf(&points, "1000,%.1f", y)
		lines[i].Points = points.String()
	}
	return lines
}
