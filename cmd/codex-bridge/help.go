package main

import (
	"bytes"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// helpColumns is the width of a help where no terminal is narrower. Kong takes it in a pipe.
const helpColumns = 80

// description returns the first lines of the help, with a table of at most width characters.
func description(width int) string {
	var calls table
	calls.row("  codex-bridge app-server", "the proxy that an editor starts")
	calls.row("  codex-bridge exec, review", "a turn under the policy, as Codex's own commands")
	calls.row("  codex-bridge", "Codex's terminal interface; under the policy if it is enforced")
	calls.row("  codex-bridge -- --help", "the help of Codex")
	return `Start it in place of "codex": it runs the real Codex behind your policy.` + "\n\n" + calls.text(width) +
		"\n--version, and all commands that are not below, are Codex's."
}

// printHelp prints the help of kong, wrapped also where kong does not wrap, and the example of a command.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	out := ctx.Stdout
	var text bytes.Buffer
	ctx.Stdout = &text
	err := kong.DefaultHelpPrinter(options, ctx)
	ctx.Stdout = out
	if err != nil {
		return err
	}
	w := &printer{w: out}
	w.line("%s", strings.TrimSuffix(text.String(), "\n"))
	if node := ctx.Selected(); node != nil && node.Tag.Get("example") != "" { // one line, which can be copied
		w.raw("\nExample:\n  %s", node.Tag.Get("example"))
	}
	return w.err
}

type helpCmd struct {
	Command []string `arg:"" optional:"" help:"The command, such as \"policy test\"."`
}

// Run prints the help of a command, or of the program.
func (c helpCmd) Run(app *kong.Kong) error {
	ctx, err := traceArgs(app, append(slices.Clone(c.Command), "--help"))
	if err != nil {
		return &refusedArgs{plain(err.Error()) + "; \"codex-bridge help\" lists the commands"}
	}
	return ctx.PrintUsage(false)
}
