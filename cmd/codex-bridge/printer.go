package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"codex-bridge.example/cmd/codex-bridge/internal/follow"
)

// printer writes lines and keeps the first error. Lines for people are wrapped to fit a terminal or $COLUMNS.
type printer struct {
	w   io.Writer
	err error
}

// line prints lines for people. Where one is wrapped, its further lines are indented.
func (p *printer) line(format string, args ...any) {
	for line := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
		start := line[:len(line)-len(strings.TrimLeft(line, " #"))] // # begins a comment of TOML
		p.raw("%s", wrapLine(line, start, start+"  ", outputWidth()))
	}
}

// item prints a text after a head, which has the columns before it. The further lines of the text are indented
// to its start, or by four columns if the head takes more than half of the width. If the text has several lines,
// the rest of one that is wrapped is indented by two more, so that it looks like no line of its own.
func (p *printer) item(head, text string) {
	width, start, indent := outputWidth(), head, follow.Columns(head)
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
		p.raw("%s", wrapLine(head+line, start, next+before+extra, width))
		head, start, extra = next, next, "  "
	}
}

// raw prints a line as it is, for programs.
func (p *printer) raw(format string, args ...any) {
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

// printLine prints one line for people.
func printLine(out io.Writer, format string, args ...any) error {
	p := &printer{w: out}
	p.line(format, args...)
	return p.err
}

// printError prints an error or a warning to stderr. It wraps lines only for a terminal: editors log them.
func printError(format string, args ...any) {
	p := &printer{w: os.Stderr}
	columns, _, err := term.GetSize(int(os.Stderr.Fd()))
	if err != nil {
		p.raw(format, args...)
		return
	}
	width := maxColumns
	if columns > 0 {
		width = min(columns, maxColumns)
	}
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\t", "    ")
	for line := range strings.SplitSeq(text, "\n") {
		p.raw("%s", wrapLine(line, "", "  ", width))
	}
}
