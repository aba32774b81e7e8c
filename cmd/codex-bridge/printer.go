package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// printer writes lines and keeps the first error. Lines for people are wrapped to fit the output, also in a pipe.
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
// to its start; after a wide head by four, and all of the text may be there.
func (p *printer) item(head, text string) {
	width, start, indent := outputWidth(), head, utf8.RuneCountInString(head)
	if indent > width/2 {
		start, indent = strings.TrimRight(head, " "), 4
	}
	p.raw("%s", wrapLine(head+text, start, strings.Repeat(" ", indent), width))
}

// raw prints a line as it is, for programs.
func (p *printer) raw(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// wrapLine breaks a line, after its start, at spaces into lines of at most width characters. A longer word stays
// whole, so that a path can be found and copied. Further lines begin with next.
func wrapLine(line, start, next string, width int) string {
	var b strings.Builder
	rest, least := []rune(line), utf8.RuneCountInString(start)
	for len(rest) > width {
		at := breakOf(rest, least, width)
		if at < 0 {
			break
		}
		b.WriteString(strings.TrimRight(string(rest[:at]), " ") + "\n")
		rest, least = append([]rune(next), []rune(strings.TrimLeft(string(rest[at:]), " "))...), utf8.RuneCountInString(next)
	}
	return b.String() + string(rest)
}

// breakOf returns the last space up to width, or else the next one, that follows a word after least characters.
// It returns -1 if there is none before another word.
func breakOf(line []rune, least, width int) int {
	at := -1
	end := len([]rune(strings.TrimRight(string(line), " ")))
	for i := max(least, 1); i < end; i++ {
		if i > width && at >= 0 {
			break
		}
		if line[i] == ' ' && line[i-1] != ' ' {
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
