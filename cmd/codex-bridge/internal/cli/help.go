package cli

import (
	"bytes"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/cmd/codex-bridge/internal/follow"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
)

// helpColumns is the width of a help where no terminal is narrower. Kong takes it in a pipe.
const helpColumns = 80

// description returns the first lines of the help, with a table of at most width columns.
func description(width int) string {
	var calls output.Table
	calls.Row("  codex-bridge app-server", "the proxy that an editor starts")
	calls.Row("  codex-bridge exec, review", "a turn under the policy, as Codex's own commands")
	calls.Row("  codex-bridge", "Codex's terminal interface; under the policy if it is enforced")
	calls.Row("  codex-bridge -- --help", "the help of Codex")
	return `Start it in place of "codex": it runs the real Codex behind your policy.` + "\n\n" + calls.Text(width) +
		"\n--version, and all commands that are not below, are Codex's."
}

// printHelp prints the help of kong, wrapped also where kong does not wrap, and the example of a command. That of a
// group is the one of its first command.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	out := ctx.Stdout
	var text bytes.Buffer
	ctx.Stdout = &text
	err := kong.DefaultHelpPrinter(options, ctx)
	ctx.Stdout = out
	if err != nil {
		return err
	}
	w := output.NewPrinter(out)
	w.Line("%s", strings.TrimSuffix(text.String(), "\n"))
	if node := ctx.Selected(); node != nil {
		for len(node.Children) > 0 {
			node = node.Children[0]
		}
		printExample(w, node.Tag.Get("example"))
	}
	return w.Failure()
}

// printExample prints an example in one line, which can be copied.
func printExample(p *output.Printer, text string) {
	p.Raw("\nExample:\n  %s", text)
}

type helpCmd struct {
	Command []string `arg:"" optional:"" help:"The command, such as \"policy test\"."`
}

// Run prints the help of a command, or of the program.
func (c helpCmd) Run(app *kong.Kong) error {
	if page, ok := codexPages[strings.Join(c.Command, " ")]; ok {
		w := output.NewPrinter(app.Stdout)
		for paragraph := range strings.SplitSeq(page.text, "\n") {
			for _, line := range follow.Wrap(paragraph, min(output.Width(), helpColumns)) {
				w.Raw("%s", line)
			}
		}
		printExample(w, page.example)
		return w.Failure()
	}
	ctx, err := traceArgs(app, append(slices.Clone(c.Command), "--help"))
	if err != nil {
		return exit.RefuseArgs(display.Line(err.Error()) + "; \"codex-bridge help\" lists the commands")
	}
	return ctx.PrintUsage(false)
}

// codexPages explain Codex's commands that the bridge runs under the policy.
var codexPages = map[string]struct{ text, example string }{
	"app-server": {`Usage: codex-bridge app-server [ARGUMENT ...]

Start the real "codex app-server" with these arguments, and speak its protocol on stdin and stdout. The bridge checks each message with the policy before Codex or the client gets it. Editors start this command.

"codex-bridge app-server --help" lists the arguments, which are those of Codex.`,
		`codex-bridge app-server`},
	"exec": {`Usage: codex-bridge exec [ARGUMENT ...] [PROMPT]

Run one turn, with the arguments and the output of "codex exec". If the policy is enforced, the turn runs under it, and arguments that the policy forbids are refused. If not, the real Codex runs.

"codex-bridge exec --help" lists the arguments, which are those of Codex.`,
		`codex-bridge exec --sandbox read-only "Explain this repository"`},
	"review": {`Usage: codex-bridge review [ARGUMENT ...] [PROMPT]

Review changes, with the arguments and the output of "codex review". If the policy is enforced, the turn runs under it, and arguments that the policy forbids are refused. If not, the real Codex runs.

"codex-bridge review --help" lists the arguments, which are those of Codex.`,
		`codex-bridge review --uncommitted`},
}
