// Package output prints for people and for programs: lines that are wrapped to a terminal, tables and errors. It escapes
// characters in texts of others that act on a terminal.
package output

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"codex-bridge.example/cmd/codex-bridge/internal/follow"
)

// Printer writes lines and keeps the first error. Lines for people are wrapped to fit a terminal or $COLUMNS.
type Printer struct {
	w   io.Writer
	err error
}

// NewPrinter returns a printer that writes to w.
func NewPrinter(w io.Writer) *Printer { return &Printer{w: w} }

// Failure returns the first error.
func (p *Printer) Failure() error { return p.err }

// Line prints lines for people. Where one is wrapped, its further lines are indented.
func (p *Printer) Line(format string, args ...any) {
	for line := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
		start := line[:len(line)-len(strings.TrimLeft(line, " #"))] // # begins a comment of TOML
		p.Raw("%s", wrapLine(line, start, start+"  ", Width()))
	}
}

// Item prints a text after a head, which has the columns before it. The further lines of the text are indented
// to its start, or by four columns if the head takes more than half of the width. If the text has several lines,
// the rest of one that is wrapped is indented by two more, so that it looks like no line of its own.
func (p *Printer) Item(head, text string) {
	width, start, indent := Width(), head, follow.Columns(head)
	if indent > width/2 {
		start, indent = strings.TrimRight(head, " "), 4
	}
	next := strings.Repeat(" ", indent)
	extra := ""
	if indent == follow.Columns(head) && strings.Contains(text, "\n") {
		extra = "  "
	}
	for line := range strings.SplitSeq(text, "\n") {
		before := line[:len(line)-len(strings.TrimLeft(line, " "))]
		p.Raw("%s", wrapLine(head+line, start, next+before+extra, width))
		head, start, extra = next, next, "  "
	}
}

// Raw prints a line as it is, for programs.
func (p *Printer) Raw(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// wrapLine breaks a line, after its start, at spaces into lines of at most width columns. A longer word stays
// whole, and so does a text in double quotes that fits a line, so that a path or a command can be copied.
// Further lines begin with next.
func wrapLine(line, start, next string, width int) string {
	var b strings.Builder
	const narrowest = 8
	least, room := len(start), max(width, narrowest)
	for follow.PrefixLen(line, room) < len(line) {
		at := breakOf(line, least, room)
		if at < 0 {
			break
		}
		b.WriteString(strings.TrimRight(line[:at], " ") + "\n" + next)
		line = strings.TrimLeft(line[at:], " ")
		least, room = 0, max(width-follow.Columns(next), narrowest)
	}
	b.WriteString(line)
	return b.String()
}

// breakOf returns the last space that leaves at most width columns before it, or else the next one, that follows a
// word after least bytes. It returns -1 if there is none before another word.
func breakOf(line string, least, width int) int {
	at, fits, end := -1, follow.PrefixLen(line, width), len(strings.TrimRight(line, " "))
	for i := least; i < end && (i <= fits || at < 0); i++ {
		switch {
		case line[i] == '"':
			i += max(0, strings.IndexByte(line[i+1:min(end, i+follow.PrefixLen(line[i:], width))], '"')+1)
		case line[i] == ' ' && i > 0 && line[i-1] != ' ':
			at = i
		}
	}
	return at
}

// PrintLine prints one line for people.
func PrintLine(out io.Writer, format string, args ...any) error {
	p := NewPrinter(out)
	p.Line(format, args...)
	return p.err
}

// PrintError prints an error or a warning to stderr. It wraps lines only for a terminal: editors log them.
func PrintError(format string, args ...any) {
	p := NewPrinter(os.Stderr)
	columns, _, err := term.GetSize(int(os.Stderr.Fd()))
	if err != nil {
		p.Raw(format, args...)
		return
	}
	width := MaxColumns
	if columns > 0 {
		width = min(columns, MaxColumns)
	}
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\t", "    ")
	for line := range strings.SplitSeq(text, "\n") {
		p.Raw("%s", wrapLine(line, "", "  ", width))
	}
}

// Count returns a number with what is counted, in the plural unless it is one.
func Count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// WriteJSON prints a value as indented JSON.
func WriteJSON(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// Day returns a time for people.
func Day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
