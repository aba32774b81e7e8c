package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
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

// say prints an explanation.
func (s *stage) say(format string, args ...any) {
	fmt.Fprintf(s.o.Out, format+"\n", args...)
}

func (s *stage) good(format string, args ...any) {
	fmt.Fprintln(s.o.Out, s.paint(green, "  ok ")+fmt.Sprintf(format, args...))
}

func (s *stage) block(text string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		fmt.Fprintln(s.o.Out, "    "+line)
	}
}

// printSideBySide prints two messages side by side and marks the lines that differ.
func (s *stage) printSideBySide(leftTitle string, left []byte, rightTitle string, right []byte) {
	l, r := lines(left), lines(right)
	width := len(leftTitle)
	for _, line := range l {
		width = max(width, len([]rune(line)))
	}
	width = min(width, 60)
	fmt.Fprintf(s.o.Out, "    %s | %s\n", s.paint(bold, pad(leftTitle, width)), s.paint(bold, rightTitle))
	inLeft, inRight := set(l), set(r)
	for i := range max(len(l), len(r)) {
		a, b := at(l, i), at(r, i)
		left, right := pad(a, width), b
		if !inRight[trimLine(a)] {
			left = s.paint(red, left)
		}
		if !inLeft[trimLine(b)] {
			right = s.paint(green, right)
		}
		fmt.Fprintf(s.o.Out, "    %s | %s\n", left, right)
	}
}

func lines(message []byte) []string {
	var pretty bytes.Buffer
	if json.Indent(&pretty, bytes.TrimSpace(message), "", "  ") != nil {
		return []string{string(message)}
	}
	return strings.Split(pretty.String(), "\n")
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
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

func pad(text string, width int) string {
	n := len([]rune(text))
	if n > width {
		return string([]rune(text)[:width-3]) + "..."
	}
	return text + strings.Repeat(" ", width-n)
}
