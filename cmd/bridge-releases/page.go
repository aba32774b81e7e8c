package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge.example/bridge/codex"
)

// pageFile is the page with the results. Its table is their only store.
const pageFile = "docs/internals/releases.md"

// tableHead is above the rows of a table of results.
const tableHead = "release | Codex alone | without a configuration | enforced\n---|---|---|---\n"

// row has the results of a release.
type row struct {
	version string
	cells   string // between bars
}

func (r row) String() string { return r.version + " | " + r.cells }

// record puts the row of a release in place of its former one on the page.
func record(root string, one row) error {
	return edit(filepath.Join(root, pageFile), func(text string) (string, error) {
		head, rows, err := parsePage(text)
		if err != nil {
			return "", err
		}
		rows = slices.DeleteFunc(rows, func(r row) bool { return r.version == one.version })
		return head + table(append(rows, one)), nil
	})
}

// parsePage returns the text before the table of a page, and the rows of the table, which ends the page.
func parsePage(text string) (head string, rows []row, err error) {
	head, lines, ok := strings.Cut(text, tableHead)
	if !ok {
		return "", nil, errors.New("the page has no table of results")
	}
	for line := range strings.Lines(lines) {
		versions, cells, ok := strings.Cut(strings.TrimSpace(line), " | ")
		if !ok {
			return "", nil, fmt.Errorf("%q is no row of results", line)
		}
		for version := range strings.SplitSeq(versions, ", ") {
			if !stable.MatchString(version) {
				return "", nil, fmt.Errorf("%q is no release", version)
			}
			rows = append(rows, row{version, cells})
		}
	}
	return head, rows, nil
}

// table returns a table with the newest release first. Successive releases with the same results share a row.
func table(rows []row) string {
	rows = slices.SortedFunc(slices.Values(rows), func(a, b row) int { return codex.CompareVersions(b.version, a.version) })
	var b strings.Builder
	b.WriteString(tableHead)
	for i, r := range rows {
		b.WriteString(r.version)
		if i+1 < len(rows) && rows[i+1].cells == r.cells {
			b.WriteString(", ")
		} else {
			b.WriteString(" | " + r.cells + "\n")
		}
	}
	return b.String()
}
