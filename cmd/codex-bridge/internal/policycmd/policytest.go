package policycmd

import (
	"errors"
	"fmt"
	"io"

	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/cmd/codex-bridge/internal/simulate"
)

// PolicyTestCmd is the command "codex-bridge policy test".
type PolicyTestCmd struct {
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
func (c PolicyTestCmd) Run(out io.Writer) error {
	var list []simulate.Case
	for _, file := range c.Files {
		more, err := simulate.ReadCases(file)
		if err != nil {
			return exit.RefuseArgs(err.Error())
		}
		list = append(list, more...)
	}
	b := &caseRunner{policies: make(map[string]*compiled)}
	results, failed, err := b.runAll(list)
	if err != nil {
		return err
	}
	w := output.NewPrinter(out)
	expired := b.notes(func(c *compiled) []string { return c.expired })
	hidden := b.notes(func(c *compiled) []string { return c.hidden })
	literal := b.notes(func(c *compiled) []string { return c.literal })
	if c.JSON {
		err = output.WriteJSON(out, map[string]any{"cases": results, "failed": failed, "expiredRules": expired, "hiddenRules": hidden, "literalOptions": literal})
	} else {
		for _, one := range results {
			printResult(w, one, c.Verbose)
		}
		for _, line := range expired {
			w.Line("expired: %s", line)
		}
		for _, line := range hidden {
			w.Line("hidden: %s", line)
		}
		for _, line := range literal {
			w.Line("options: %s", line)
		}
		w.Line("%s, %d failed", output.Count(len(list), "case"), failed)
	}
	if err = errors.Join(err, w.Failure()); err == nil && failed > 0 {
		return exit.Status(exit.Failed)
	}
	return err
}

// runAll runs cases. An error means that one can't be run.
func (b *caseRunner) runAll(list []simulate.Case) (results []caseResult, failed int, err error) {
	results = []caseResult{}
	for i := range list {
		one := &list[i]
		differ, err := b.run(one)
		if err != nil {
			return nil, 0, exit.RefuseArgs(fmt.Sprintf("%s:%d: %s: %v", one.File, one.Line, one.Name, err))
		}
		if len(differ) > 0 {
			failed++
		}
		results = append(results, caseResult{one.File, one.Line, one.Name, append([]string{}, differ...)})
	}
	return results, failed, nil
}

// printResult prints a case that has failed; if verbose is true, also one that has passed.
func printResult(p *output.Printer, one caseResult, verbose bool) {
	switch {
	case len(one.Differences) > 0:
		p.Item("FAIL  ", fmt.Sprintf("%s:%d: %s", one.File, one.Line, one.Name))
		for _, line := range one.Differences {
			p.Line("      %s", line)
		}
	case verbose:
		p.Item("ok    ", fmt.Sprintf("%s:%d: %s", one.File, one.Line, one.Name))
	}
}
