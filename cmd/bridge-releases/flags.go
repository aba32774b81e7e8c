package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// measureFlags writes into the rows of new flags how many values they take. The patch says one.
func (m *move) measureFlags(ctx context.Context) error {
	home, err := os.MkdirTemp(m.release.folder, "home-")
	if err != nil {
		return err
	}
	return edit(filepath.Join(m.root, "bridge", "methods", flagTable), func(text string) (string, error) {
		return withValues(text, m.to, func(command, flag string) string {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			args := strings.Fields(strings.NewReplacer("*", "app-server", "codex", "").Replace(command))
			cmd := exec.CommandContext(ctx, m.release.native, append(args, flag)...)
			cmd.Env = append(os.Environ(), "CODEX_HOME="+home)
			out, _ := cmd.CombinedOutput() // it fails, since the values are missing
			return missingValues(string(out), flag)
		}), ctx.Err()
	})
}

// withValues returns the table of flags with the values of the flags since a release.
func withValues(text, release string, values func(command, flag string) string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		cells := cellsOf(line)
		if strings.HasPrefix(line, "#") || len(cells) < 6 || cells[5] != release || cells[2] != "one" {
			continue
		}
		flag, _, _ := strings.Cut(cells[0], ", ")
		command, _, _ := strings.Cut(cells[1], ", ")
		if is := values(command, flag); is != "" {
			lines[i] = strings.Replace(line, "| one |", "| "+is+" |", 1)
		}
	}
	return strings.Join(lines, "")
}

// missingValues reads in Codex's error how many values a flag takes, as the table calls it; "" if the error is another one.
func missingValues(text, flag string) string {
	m := regexp.MustCompile(` is required for '` + regexp.QuoteMeta(flag) + ` (<[^']+)'`).FindStringSubmatch(text)
	switch {
	case m == nil:
		return ""
	case strings.HasSuffix(m[1], "..."):
		return "many"
	}
	return map[int]string{1: "one", 3: "three"}[strings.Count(m[1], "<")]
}
