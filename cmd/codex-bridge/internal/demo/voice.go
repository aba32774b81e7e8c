package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"codex-bridge.example/cmd/codex-bridge/internal/follow"
)

// The colours of the demo, by meaning.
const (
	bold  = "1"
	faint = "2"
	red   = "31"
	green = "32"
	blue  = "36"
)

func (s *stage) paint(color, text string) string {
	if !s.o.Color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

func (s *stage) title(n int, text string) {
	fmt.Fprintf(s.o.Out, "\n%s\n", s.paint(bold, fmt.Sprintf("%d. %s", n, text)))
}

// columns is the width of the demo in characters.
const columns = 80

// say prints an explanation, a paragraph.
func (s *stage) say(format string, args ...any) {
	s.indented("", strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " "))
}

func (s *stage) indented(indent, text string) {
	for _, line := range follow.Wrap(text, columns-len(indent)) {
		fmt.Fprintln(s.o.Out, indent+line)
	}
}

func (s *stage) good(format string, args ...any) {
	for i, line := range follow.Wrap(fmt.Sprintf(format, args...), columns-5) {
		mark := "     "
		if i == 0 {
			mark = s.paint(green, "  ok ")
		}
		fmt.Fprintln(s.o.Out, mark+line)
	}
}

// block prints lines as they are, but for those that are too long.
func (s *stage) block(text string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		s.wrapped("    ", line)
	}
}

// wrapped prints a line with its own indentation on each of the lines that it takes.
func (s *stage) wrapped(indent, line string) {
	text := strings.TrimLeft(line, " ")
	indent += line[:len(line)-len(text)]
	for i, part := range follow.Wrap(text, columns-len(indent)-2) {
		if i == 1 {
			indent += "  "
		}
		fmt.Fprintln(s.o.Out, indent+part)
	}
}

// printDifference prints two messages one after the other, and marks the lines that only one of them has.
func (s *stage) printDifference(firstTitle string, first []byte, secondTitle string, second []byte) {
	a, b := lines(first), lines(second)
	for _, one := range []struct {
		title, mark, color string
		lines              []string
		other              map[string]bool
	}{{firstTitle, "- ", red, a, set(b)}, {secondTitle, "+ ", green, b, set(a)}} {
		fmt.Fprintln(s.o.Out, "    "+s.paint(bold, one.title))
		for _, line := range one.lines {
			mark, color := "  ", ""
			if !one.other[trimLine(line)] {
				mark, color = one.mark, one.color
			}
			text := strings.TrimLeft(line, " ")
			indent := line[:len(line)-len(text)]
			for _, part := range follow.Wrap(text, columns-6-len(indent)) {
				part = mark + indent + part
				if color != "" {
					part = s.paint(color, part)
				}
				fmt.Fprintln(s.o.Out, "    "+part)
			}
		}
	}
}

func lines(message []byte) []string {
	var pretty bytes.Buffer
	if json.Indent(&pretty, bytes.TrimSpace(message), "", "  ") != nil {
		return []string{string(message)}
	}
	return strings.Split(pretty.String(), "\n")
}

// trimLine returns a line without its indentation and comma.
func trimLine(line string) string { return strings.TrimRight(strings.TrimSpace(line), ",") }

func set(list []string) map[string]bool {
	all := map[string]bool{"": true}
	for _, line := range list {
		all[trimLine(line)] = true
	}
	return all
}
