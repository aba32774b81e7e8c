package main

import (
	"fmt"
	"strings"
)

// readEquivalents reads the list of mutants that no test can kill. A mutant is four lines or
// more, apart from the next by an empty line:
//
//	FILE FUNCTION
//	- the line as it is
//	+ the line with the change
//	why it makes no difference, on as many lines as it takes
//
// Lines that begin with # are remarks. The reasons are returned by mutant.
func readEquivalents(text string) (map[key]string, error) {
	all := make(map[key]string)
	var lines []string
	take := func(end int) error {
		if lines == nil {
			return nil
		}
		at := fmt.Errorf("line %d: want \"FILE FUNCTION\", \"- OLD\", \"+ NEW\" and a reason", end-len(lines)+1)
		if len(lines) < 4 {
			return at
		}
		file, function, _ := strings.Cut(lines[0], " ")
		before, okOld := strings.CutPrefix(lines[1], "- ")
		after, okNew := strings.CutPrefix(lines[2], "+ ")
		if !okOld || !okNew {
			return at
		}
		k := key{file, strings.TrimSpace(function), strings.TrimSpace(before), strings.TrimSpace(after)}
		if _, ok := all[k]; ok {
			return fmt.Errorf("line %d: it is listed twice", end-len(lines)+1)
		}
		all[k] = strings.Join(lines[3:], " ")
		lines = nil
		return nil
	}
	n := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			if err := take(n); err != nil {
				return nil, err
			}
		} else if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
		n++
	}
	return all, take(n)
}
