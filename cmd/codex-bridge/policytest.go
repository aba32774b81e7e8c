package main

import (
	"fmt"
	"io"

	"codex-bridge.example/cmd/codex-bridge/internal/cases"
)

type policyTestCmd struct {
	Files   []string `arg:"" name:"file" help:"TOML files, or JSON Lines (.jsonl). See docs/reference/cli.md."`
	Verbose bool     `short:"v" help:"Also name the cases that pass."`
	JSON    bool     `help:"Print JSON: every case with its differences." name:"json"`
}

// caseResult is the result of a case. The JSON names are stable.
type caseResult struct {
	File        string   `json:"file"`
	Line        int      `json:"line"`
	Name        string   `json:"name"`
	Differences []string `json:"differences"`
}

// Run runs all cases of all files. It loads all files first, and fails if one does not load.
func (c policyTestCmd) Run(out io.Writer) error {
	var list []cases.Case
	for _, file := range c.Files {
		more, err := cases.Read(file)
		if err != nil {
			return &refusedArgs{err.Error()}
		}
		list = append(list, more...)
	}
	b := &caseRunner{policies: make(map[string]*compiled)}
	w, results, failed := &printer{w: out}, []caseResult{}, 0
	for i := range list {
		one := &list[i]
		differ, err := b.run(one)
		if err != nil {
			return &refusedArgs{fmt.Sprintf("%s:%d: %s: %v", one.File, one.Line, one.Name, err)}
		}
		if len(differ) > 0 {
			failed++
		}
		switch {
		case c.JSON:
			results = append(results, caseResult{one.File, one.Line, one.Name, append([]string{}, differ...)})
		case len(differ) > 0:
			w.line("FAIL  %s:%d: %s", one.File, one.Line, one.Name)
			for _, line := range differ {
				w.line("      %s", line)
			}
		case c.Verbose:
			w.line("ok    %s:%d: %s", one.File, one.Line, one.Name)
		}
	}
	if c.JSON {
		w.err = writeJSON(out, map[string]any{"cases": results, "failed": failed})
	} else {
		w.line("%s, %d failed", count(len(list), "case"), failed)
	}
	if w.err == nil && failed > 0 {
		return exitError(exitFailed)
	}
	return w.err
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
