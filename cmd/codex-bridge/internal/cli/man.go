package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/alecthomas/kong"

	"codex-bridge.example/cmd/codex-bridge/internal/buildinfo"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
)

// manCmd prints the manual page of the commands of cli, for the packages of a release.
type manCmd struct{}

// Run prints the page in the language of man(7). The version and the date are those of the program, so
// two builds of a commit have the same page.
func (manCmd) Run(out io.Writer, app *kong.Kong) error {
	date, _, _ := strings.Cut(buildinfo.Date, "T")
	w := output.NewPrinter(out)
	w.Raw(`.TH CODEX\-BRIDGE 1 "%s" "codex\-bridge %s" "User Commands"`, roff(date), roff(buildinfo.Version))
	w.Raw(".ad l\n.SH NAME\n" + `codex\-bridge \- enforces a policy between an editor and Codex`)
	w.Raw(".SH SYNOPSIS\n.B codex\\-bridge app\\-server\n.RI [ ARGUMENT ...]\n.br\n.B codex\\-bridge\n.I COMMAND\n.RI [ ARGUMENT ...]")
	w.Raw(".SH DESCRIPTION")
	for line := range strings.SplitSeq(description(output.MaxColumns), "\n") {
		w.Raw("%s", roff(line))
	}
	w.Raw(".SH COMMANDS")
	for _, command := range app.Model.Leaves(true) {
		manCommand(w, command)
	}
	w.Raw(".SH SEE ALSO")
	w.Raw("%s", roff(`"codex-bridge COMMAND --help" prints the same for one command. The files and variables are in the folder docs/reference of the source.`))
	return w.Failure()
}

// manCommand prints a command with its arguments and flags.
func manCommand(w *output.Printer, command *kong.Node) {
	words := []string{strings.TrimPrefix(command.FullPath(), "codex-bridge ")}
	for _, arg := range command.Positional {
		words = append(words, arg.Summary())
	}
	w.Raw(".SS %s", roff(strings.Join(words, " ")))
	w.Raw("%s", roff(command.Help))
	for _, arg := range command.Positional {
		if arg.Help != "" {
			manEntry(w, arg.Summary(), arg.Help)
		}
	}
	for _, flag := range command.Flags {
		if flag.Name != "help" && !flag.Hidden {
			name := flag.String()
			if flag.Short != 0 {
				name = fmt.Sprintf("-%c, %s", flag.Short, strings.TrimPrefix(name, fmt.Sprintf("-%c, ", flag.Short)))
			}
			manEntry(w, name, flag.Help)
		}
	}
}

func manEntry(w *output.Printer, name, help string) {
	w.Raw(".TP\n.B %s", roff(name))
	w.Raw("%s", roff(help))
}

// roff escapes text for man(7): a minus stays a minus, no line begins a request, and all is ASCII. An ellipsis
// becomes three periods, because groff has none for a terminal without UTF-8.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ", "…", "...").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	var b strings.Builder
	for _, r := range text {
		if r > unicode.MaxASCII {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
