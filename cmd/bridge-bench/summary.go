//go:build linux

package main

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// pictureFile is beside the folder of the report.
const pictureFile = "../images/benchmarks.svg"

var firstNumber = regexp.MustCompile(`^-?[0-9.]+`)

// medians returns the medians of a report by the titles and names of its rows.
func medians(page string) map[string]float64 {
	all := make(map[string]float64)
	title := ""
	for line := range strings.Lines(page) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		if cells[1] != "" {
			title = cells[1]
		}
		if median, err := strconv.ParseFloat(firstNumber.FindString(cells[3]), 64); err == nil {
			all[title+": "+cells[2]] = median
		}
	}
	return all
}

const stream = "pass-through, 1,000,000 notifications of 250 B, pipes: "

// summary returns the numbers that users ask for first, or "" if not all of them were measured.
func summary(rows map[string]float64) string {
	var b strings.Builder
	b.WriteString("\n## In short\n\nwhat | median\n---|---\n")
	for _, number := range []struct{ text, row, format string }{
		{"added to a request and its response of 250 bytes", "round trip of 250 B, pipes: added to no proxy", "%.0f µs"},
		{"added to a tool call that a hook judges", "one hook, as the real codex measures it: p50 of 15, one by one", "%.0f ms"},
		{"added to the start of Codex", "start to the first byte forwarded, added: real codex", "%.0f ms"},
		{"time for a million notifications, against two `cat`", stream + "time", "%.2f×"},
		{"memory when idle", "idle: resident memory", "%.0f MiB"},
	} {
		median, ok := rows[number.row]
		if !ok {
			return ""
		}
		fmt.Fprintf(&b, "%s | "+number.format+"\n", number.text, median)
	}
	if picture(rows) != nil {
		fmt.Fprintf(&b, "\n![Time for a stream of notifications against two cat processes, on a logarithmic scale: codex-bridge takes about as long, programs that parse with encoding/json or a JSON-RPC library many times as long.](%s)\n", pictureFile)
	}
	return b.String()
}

const pictureHead = `<svg xmlns="http://www.w3.org/2000/svg" width="440" viewBox="0 0 440 %d" role="img" aria-labelledby="title">
  <title id="title">Time for a stream of notifications, against two cat processes</title>
  <style>
    svg { color-scheme: light dark }
    text { font: 15px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
    .page { fill: #ffffff } .bar { fill: #8c959f } .bridge { fill: #0969da } .value { font-weight: 600 }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f3f6 }
      .page { fill: #0d1117 } .bar { fill: #6e7681 } .bridge { fill: #58a6ff }
    }
  </style>
  <rect class="page" width="440" height="%[1]d" rx="10"/>
  <text x="16" y="28">Time for a stream of notifications, against two cat</text>
  <text x="16" y="48">(on a logarithmic scale)</text>
`

// picture returns a drawing of the proxy beside its peers, or nil if they were not measured.
func picture(rows map[string]float64) []byte {
	bars := []struct{ name, row string }{
		{"codex-bridge", "time"},
		{"socat", "socat"},
		{"a Go program that copies", "a copying Go program"},
		{"go.lsp.dev/jsonrpc2", "go.lsp.dev/jsonrpc2 (100,000 lines)"},
		{"encoding/json", "encoding/json (100,000 lines)"},
		{"creachadair/jrpc2", "creachadair/jrpc2 (100,000 lines)"},
	}
	var b strings.Builder
	fmt.Fprintf(&b, pictureHead, 68+len(bars)*46)
	for i, bar := range bars {
		ratio, ok := rows[stream+bar.row]
		if !ok {
			return nil
		}
		class := "bar"
		if i == 0 {
			class = "bridge"
		}
		// 4 pixels are 1× or less, 340 are 200×.
		width := 4 + max(0, 336*math.Log(ratio)/math.Log(200))
		fmt.Fprintf(&b, "  <text x=\"16\" y=\"%d\">%s</text>\n  <rect class=\"%s\" x=\"16\" y=\"%d\" width=\"%.0f\" height=\"14\" rx=\"3\"/>\n  <text class=\"value\" x=\"%.0f\" y=\"%d\">%.2f×</text>\n",
			76+i*46, bar.name, class, 83+i*46, width, 24+width, 95+i*46, ratio)
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}
