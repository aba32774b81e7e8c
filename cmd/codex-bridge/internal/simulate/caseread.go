package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"codex-bridge.example/bridge/toml"
	"codex-bridge.example/rpc"
)

// ReadCases reads a file: JSON Lines if its name ends in .jsonl, else TOML.
func ReadCases(file string) ([]Case, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	read := readTOML
	if filepath.Ext(file) == ".jsonl" {
		read = readLines
	}
	list, err := read(file, string(text))
	if err == nil && len(list) == 0 {
		err = &CaseError{file, 1, "no case; write [[case]], or one JSON object a line in a .jsonl file"}
	}
	return list, err
}

// readTOML reads [[case]] tables, and a policy for cases without one.
func readTOML(file, text string) ([]Case, error) {
	doc, err := toml.Values(text)
	if err != nil {
		line := 1
		if syntax, ok := errors.AsType[*toml.Error](err); ok {
			line = syntax.Line
		}
		return nil, &CaseError{file, line, err.Error()}
	}
	head := newCaseTable(doc)
	common := head.text("policy")
	tables := head.tables("case")
	if err := head.finish(); err != nil {
		return nil, &CaseError{file, 1, err.Error()}
	}
	lines := caseLines(text)
	list := make([]Case, 0, len(tables))
	for i, members := range tables {
		line := 1
		if len(lines) == len(tables) {
			line = lines[i]
		}
		c, err := parseCase(members)
		if err != nil {
			return nil, &CaseError{file, line, err.Error()}
		}
		if c.Policy == nil {
			c.Policy = common
		}
		c.File, c.Line = file, line
		list = append(list, c)
	}
	return list, nil
}

// caseLines returns the lines of the [[case]] headers, ignoring those in multi-line strings.
func caseLines(text string) []int {
	var lines []int
	open, n := "", 0
	for line := range strings.Lines(text) {
		n++
		if open == "" && strings.HasPrefix(strings.TrimSpace(line), "[[case]]") {
			lines = append(lines, n)
		}
		for rest := line; rest != ""; {
			at, mark := nextQuotes(rest, open)
			if at < 0 {
				break
			}
			rest = rest[at+len(mark):]
			if open == "" {
				open = mark
			} else {
				open = ""
			}
		}
	}
	return lines
}

// nextQuotes returns the next quotes that start or end a multi-line string.
func nextQuotes(line, open string) (at int, mark string) {
	if open != "" {
		return strings.Index(line, open), open
	}
	double, single := strings.Index(line, `"""`), strings.Index(line, "'''")
	if single >= 0 && (double < 0 || single < double) {
		return single, "'''"
	}
	return double, `"""`
}

// readLines reads one case per line.
func readLines(file, text string) ([]Case, error) {
	var list []Case
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		members, err := parseObject([]byte(line))
		if err != nil {
			return nil, &CaseError{file, n, err.Error()}
		}
		c, err := parseCase(members)
		if err != nil {
			return nil, &CaseError{file, n, err.Error()}
		}
		c.File, c.Line = file, n
		list = append(list, c)
	}
	return list, nil
}

// parseObject parses a strict JSON object: encoding/json would take the last of two equal keys.
func parseObject(text []byte) (map[string]any, error) {
	doc, err := rpc.ParseValue(text)
	if err != nil {
		return nil, err
	}
	if doc.Root().Kind() != rpc.Object {
		return nil, fmt.Errorf("a case is an object, not %v", doc.Root().Kind())
	}
	var members map[string]any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return members, dec.Decode(&members)
}
