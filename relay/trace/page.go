package trace

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"
	"time"

	"codex-bridge.example/bridge/display"
)

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// Write writes the page as HTML. The page loads and sends nothing. Texts of the trace are escaped,
// and a content security policy allows no script but that of the page.
//
// html/template would do the same, but a program with it keeps all exported methods of all types:
// templates find methods by name.
func (p *Page) Write(out io.Writer) error {
	w := &markup{bufio.NewWriter(out)}
	w.head(p)
	w.filters(p.Rows)
	w.tokens(tokenChart(p))
	w.add(`<main>
<h2>Time line</h2>
<p class="hint">Arrow keys or j and k move, Enter opens, / searches.</p>
`)
	for _, r := range p.Rows {
		w.row(r, p.First)
	}
	if len(p.Rows) == 0 {
		w.add("<p>Nothing happened in this trace.</p>\n")
	}
	w.add("</main>\n<script>").trusted(pageScript).add("</script>\n</body>\n</html>\n")
	return w.out.Flush()
}

// markup writes HTML. Its writer keeps the first error.
type markup struct{ out *bufio.Writer }

// add writes a format with values, each escaped for a text or for an attribute in double quotes, and with its
// invisible characters shown. A value belongs nowhere else.
func (w *markup) add(format string, values ...any) *markup {
	for i, v := range values {
		values[i] = html.EscapeString(display.Lines(fmt.Sprint(v)))
	}
	fmt.Fprintf(w.out, format, values...)
	return w
}

// trusted writes a file of this package, without escaping.
func (w *markup) trusted(file string) *markup {
	_, _ = w.out.WriteString(file) // Flush returns the error
	return w
}

func (w *markup) head(p *Page) {
	sum := sha256.Sum256([]byte(pageScript))
	title := cmp.Or(p.Title, p.Thread)
	w.add(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-%s'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%s · trace</title>
<style>`, base64.StdEncoding.EncodeToString(sum[:]), title).trusted(pageStyle)
	w.add("</style>\n</head>\n<body>\n<header>\n<h1>%s</h1>\n<p>Thread %s", title, p.Thread)
	if p.Name != "" {
		w.add(", %s in %s", p.Name, p.Workspace)
	}
	w.add(". Began %s, lasted %s, %s events.</p>\n</header>\n", p.First.UTC().Format(time.RFC3339), formatDuration(p.Last.Sub(p.First)), strconv.Itoa(p.Events))
}

// filters writes the boxes that select rows, with the number of rows of each kind.
func (w *markup) filters(rows []*Row) {
	counts := make(map[string]int)
	for _, r := range rows {
		counts[r.Kind]++
	}
	w.add(`<section id="filters" aria-label="Filters">` + "\n")
	for _, kind := range rowKinds {
		if counts[kind] == 0 {
			continue
		}
		w.add(`<label class="kind %s"><input type="checkbox" value="%s"`, kind, kind)
		if kind != "other" {
			w.add(" checked")
		}
		w.add("> %s <small>%s</small></label>\n", kind, strconv.Itoa(counts[kind]))
	}
	w.add(`<label><input type="checkbox" id="blocked"> only what was stopped</label>
<label>Search <input type="search" id="search" placeholder="press /"></label>
<span id="shown" role="status"></span>
</section>
`)
}

func (w *markup) tokens(lines []chartLine) {
	if len(lines) == 0 {
		return
	}
	w.add(`<section aria-label="Tokens">
<h2>Tokens</h2>
<svg viewBox="0 0 1000 124" preserveAspectRatio="none" role="img" aria-label="Tokens used over time">
`)
	for _, l := range lines {
		w.add(`<polyline class="%s" points="%s"/>`+"\n", l.Name, l.Points)
	}
	w.add("</svg>\n<p>")
	for _, l := range lines {
		w.add(`<span class="legend %s">%s %s</span> `, l.Name, l.Name, decimal(l.Last))
	}
	w.add("</p>\n</section>\n")
}

func (w *markup) row(r *Row, first time.Time) {
	took := formatDuration(r.End.Sub(r.Start))
	shown := r.State
	if shown == "ok" {
		shown = ""
		if r.End.After(r.Start) {
			shown = took
		}
	}
	w.add(`<details class="row %s %s" data-kind="%s" data-state="%s">`+"\n", r.Kind, r.State, r.Kind, r.State)
	w.add(`<summary><span class="at">%s</span><span class="tag">%s</span><span class="title">`, formatDuration(r.Start.Sub(first)), r.Kind)
	if r.Agent != "" {
		w.add("<b>%s</b> ", r.Agent)
	}
	w.add("%s", r.Title)
	for _, d := range r.Decisions {
		w.add(" <em>%s</em>", d)
	}
	w.add(`</span><span class="state">%s</span><span class="track"><span class="bar" style="margin-left:%s%%;width:%s%%"></span></span></summary>`+"\n",
		shown, decimal(r.Left), decimal(r.Width))
	w.add("<div class=\"body\">\n<p>%s, took %s.", r.State, took)
	if r.Turn != "" {
		w.add(" Turn %s.", r.Turn)
	}
	w.add("</p>\n")
	w.details(r)
	w.add("</div>\n</details>\n")
}

// details writes the parts of a row that are shown when it is open.
func (w *markup) details(r *Row) {
	if len(r.Decisions) > 0 {
		w.add("<h3>Decided</h3><ul>")
		for _, d := range r.Decisions {
			w.add("<li>%s</li>", d)
		}
		w.add("</ul>\n")
	}
	if r.Text != "" {
		w.add("<pre class=\"text\">%s\n%s</pre>\n", r.Title, r.Text)
	}
	for _, message := range r.JSON {
		w.add("<pre>%s</pre>\n", message)
	}
}

// decimal formats a number without an exponent.
func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

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
