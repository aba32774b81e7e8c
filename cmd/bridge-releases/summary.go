package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/cmd/internal/releasediff"
)

// maxListed bounds the lines of one list of the summary: GitHub accepts 65,536 characters.
const maxListed = 100

// summary describes the move, in Markdown.
func (m *move) summary() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "The tables are moved from Codex %s to %s.", m.from, m.to)
	if len(m.skipped) > 0 {
		fmt.Fprintf(&b, " Skipped, but for the conversations: %s. `since` and `until` of the rows do not count them.", strings.Join(m.skipped, ", "))
	}
	b.WriteString("\n\nA person has to judge the rows below. Until then the policy refuses the new methods, commands and flags, and removes the new fields. " +
		"Tests of `bridge/methods`, `bridge/argv` and `bridge/policy` fail at rows with `TODO` or `" + methods.Unjudged + "`; that is intended. The other tests should pass.\n")
	if err := m.failure(); err != nil {
		fmt.Fprintf(&b, "\n**Not everything worked:**\n\n```\n%s\n```\n", strings.ReplaceAll(err.Error(), "```", "'''"))
	}
	fmt.Fprintf(&b, "\n## Differences\n\n%s.\n", releasediff.Summary(m.changes))
	for _, part := range releasediff.Unread(m.names) {
		fmt.Fprintf(&b, "\nThe %s are not compared: %s\n", part.Name, code(part.Why))
	}
	b.WriteString("\n## To judge\n")
	rows, err := unjudgedRows(filepath.Join(m.root, "bridge", "methods"), m.to)
	if err != nil {
		return "", err
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		list(&b, "Rows of `bridge/methods/"+name+"`", rows[name])
	}
	nothing := len(rows) == 0
	for _, kind := range withoutRow {
		var lines []string
		for _, c := range m.changes {
			if c.Kind == kind.kind && needsJudgement(c, rows) {
				lines = append(lines, strings.Join(strings.Fields(c.String()), " "))
			}
		}
		list(&b, kind.title, lines)
		nothing = nothing && len(lines) == 0
	}
	if nothing {
		b.WriteString("\nNothing.\n")
	}
	fmt.Fprintf(&b, "\n## Conversations\n\n`TestCanary`:\n\n%s", table(m.rows))
	b.WriteString("\n## Steps\n\nstep | time\n---|---\n")
	for _, s := range m.steps {
		result := s.took.String()
		if s.err != nil {
			result += ", failed"
		}
		fmt.Fprintf(&b, "%s | %s\n", s.name, result)
	}
	return b.String(), nil
}

func list(b *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n\n", title)
	for _, line := range lines[:min(len(lines), maxListed)] {
		fmt.Fprintf(b, "- [ ] %s\n", code(line))
	}
	if more := len(lines) - maxListed; more > 0 {
		fmt.Fprintf(b, "- [ ] and %d more\n", more)
	}
}

// code returns a text as code.
func code(text string) string { return "`" + strings.ReplaceAll(text, "`", "'") + "`" }

// flagTable is the table of flags, in which an empty rule means that the policy refuses the flag.
const flagTable = "flags.txt"

// unjudgedRows returns the rows that a person has to judge, by file.
func unjudgedRows(folder, release string) (map[string][]string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return nil, err
	}
	all := make(map[string][]string)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if rows := unjudged(filepath.Base(file), string(text), release); rows != nil {
			all[filepath.Base(file)] = rows
		}
	}
	return all, nil
}

// unjudged returns the rows of a table that a person has to judge: those that say so, and new flags without a rule.
func unjudged(name, text, release string) (rows []string) {
	for line := range strings.Lines(text) {
		cells := cellsOf(line)
		switch {
		case len(cells) < 3 || strings.HasPrefix(line, "#"):
		case strings.Contains(cells[len(cells)-1], "TODO"), slices.Contains(cells, methods.Unjudged),
			name == flagTable && len(cells) > 5 && cells[3] == "" && cells[5] == release:
			rows = append(rows, strings.Join(cells, " | "))
		}
	}
	return rows
}

// withoutRow has the kinds of names for which the tables have no new row, and what to do about them.
var withoutRow = []struct {
	kind  releasediff.Kind
	title string
}{
	{releasediff.Field, "Fields of types, which `bridge/policy` judges"},
	{releasediff.ResponseField, "Fields of a client's responses, which `bridge/policy` judges"},
	{releasediff.Type, "Types"},
	{releasediff.EnumValue, "Values"},
	{releasediff.HookEvent, "Hook events"},
	{releasediff.RequirementField, "Requirements"},
	{releasediff.Flag, "Flags: look whether the rule of `bridge/methods/flags.txt` fits"},
	{releasediff.CommandFlag, "Flags of commands: those of harmless commands are in `bridge/methods/commands.txt`"},
	{releasediff.ConfigKey, "Configuration keys, for `bridge/methods/keys.txt`"},
	{releasediff.Feature, "Features: look whether the control of `bridge/methods/features.txt` fits"},
	{releasediff.DefaultModel, "The default model"},
	{releasediff.Model, "Models"},
	{releasediff.Tool, "Tools that the model is offered"},
	{releasediff.ToolParameter, "Parameters of these tools"},
}

// needsJudgement reports whether a person has to look at a change that has no row of its own. Names that are gone stay
// in the tables.
func needsJudgement(c releasediff.Change, rows map[string][]string) bool {
	switch {
	case strings.HasPrefix(c.Change, "gone "):
		return c.Kind == releasediff.Tool || c.Kind == releasediff.ToolParameter
	case c.Kind == releasediff.Field:
		return c.Side == nil
	case c.Kind == releasediff.Feature:
		return strings.HasPrefix(c.Change, "changed ")
	case c.Kind == releasediff.Flag:
		return !slices.ContainsFunc(rows[flagTable], func(row string) bool {
			flag, _, _ := strings.Cut(row, " | ")
			return flag == strings.TrimSuffix(c.Name, "=")
		})
	}
	return true
}

// cellsOf returns the cells of a row, without the space around them.
func cellsOf(line string) []string {
	cells := strings.Split(line, "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}
