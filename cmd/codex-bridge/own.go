package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/problem"
)

// cli declares the bridge's own commands. All other commands are Codex's. Each command without commands of
// its own has an example in its tag.
type cli struct {
	Init       initCmd       `cmd:"" group:"start" help:"Write a commented configuration. It never overwrites a file." example:"codex-bridge init --profile careful"`
	Doctor     doctorCmd     `cmd:"" group:"start" help:"Check Codex, the configuration and the folders, and suggest fixes." example:"codex-bridge doctor"`
	Demo       demoCmd       `cmd:"" group:"start" help:"Show what a policy does, offline, with the real Codex." example:"codex-bridge demo"`
	Policy     policyCmd     `cmd:"" group:"policy" help:"Explain and test the policy, and distribute it."`
	Methods    methodsCmd    `cmd:"" group:"policy" help:"List the methods of Codex, or compare those of another Codex."`
	Codex      codexCmd      `cmd:"" group:"policy" help:"Check whether a Codex works with this bridge."`
	Decisions  decisionsCmd  `cmd:"" group:"policy" help:"Show and verify the decision log."`
	Grants     grantsCmd     `cmd:"" group:"policy" help:"Show and revoke remembered approvals."`
	Approvals  approvalsCmd  `cmd:"" group:"policy" help:"Show and answer requests for a second person."`
	Run        runCmd        `cmd:"" group:"work" help:"Run one turn of a session, and print the reply." example:"codex-bridge run --session nightly \"Update the changelog\""`
	Threads    threadsCmd    `cmd:"" group:"work" help:"Show, clear, import and export the threads of sessions."`
	History    historyCmd    `cmd:"" group:"work" help:"Search transcripts."`
	Trace      traceCmd      `cmd:"" group:"work" help:"Show and replay recorded traces."`
	Tools      toolsCmd      `cmd:"" group:"work" help:"Show your tools, and try one without a model."`
	Image      imageCmd      `cmd:"" group:"work" help:"Describe images, outside any conversation."`
	Acp        acpCmd        `cmd:"" group:"work" help:"Run an agent of the Agent Client Protocol under the policy."`
	Serve      serveCmd      `cmd:"" group:"work" help:"Serve several clients with one Codex." example:"codex-bridge serve --listen unix:///run/user/1000/codex.sock"`
	Purge      purgeCmd      `cmd:"" group:"other" help:"Remove traces, transcripts and logs that are too old to keep." example:"codex-bridge purge"`
	Completion completionCmd `cmd:"" group:"other" help:"Print a completion script for a shell." example:"codex-bridge completion bash"`
	Man        manCmd        `cmd:"" hidden:"" group:"other" help:"Print the manual page." example:"codex-bridge man"`
	Version    versionCmd    `cmd:"" group:"other" help:"Print the bridge's version; \"--version\" prints that of Codex." example:"codex-bridge version"`
	Help       helpCmd       `cmd:"" group:"other" help:"Explain a command, with an example." example:"codex-bridge help policy test"`
}

// groups are the parts of the list of commands.
var groups = []kong.Group{{Key: "start", Title: "Start:"}, {Key: "policy", Title: "Policy:"}, {Key: "work", Title: "Conversations and tools:"}, {Key: "other", Title: "Other:"}}

type policyCmd struct {
	Explain  explainCmd       `cmd:"" help:"Read a message; print the verdict, the message that Codex would get, and the rule and reason of each change." example:"codex-bridge policy explain request.json"`
	Export   policyExportCmd  `cmd:"" help:"Print what of the policy Codex can enforce by itself." example:"codex-bridge policy export --requirements >requirements.toml"`
	Test     policyTestCmd    `cmd:"" help:"Run files of test cases for a policy." example:"codex-bridge policy test team-policy.toml"`
	Simulate simulateCmd      `cmd:"" help:"Compare a candidate policy with the current one over the recorded decisions and traces." example:"codex-bridge policy simulate --candidate new.toml --since 7d"`
	Suggest  suggestCmd       `cmd:"" help:"Propose the smallest rules that would have allowed recorded denials." example:"codex-bridge policy suggest --since 7d"`
	Publish  policyPublishCmd `cmd:"" help:"Sign a bundle of policy into a repository, for any web server or file share." example:"codex-bridge policy publish --repo public --key policy.key team-policy"`
	Pull     policyPullCmd    `cmd:"" help:"Get the bundle of policy now, and print its changes." example:"codex-bridge policy pull"`
	Status   policyStatusCmd  `cmd:"" help:"Show the bundle of policy: version, signer, age." example:"codex-bridge policy status"`
}

// ownCommands has the names of the commands of cli.
var ownCommands = []string{
	"demo", "init", "policy", "doctor", "methods", "codex", "decisions", "grants", "approvals", "tools", "run", "threads", "image", "acp", "serve", "trace", "history", "purge", "completion", "man", "version", "help",
}

// isOwn reports whether an argument list is for cli.
func isOwn(args []string) bool {
	return slices.Contains(ownCommands, args[0]) || args[0] == "-h" || args[0] == "--help"
}

func newParser(c *cli) (*kong.Kong, error) {
	width := min(outputWidth(), helpColumns)
	text := description(max(50, width-2)) // kong indents a table by two more
	return kong.New(c, kong.Name("codex-bridge"), kong.Description(text), kong.ExplicitGroups(groups), kong.Help(printHelp),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: width}))
}

// traceArgs returns the commands and flags of an argument list, before their values are set.
func traceArgs(app *kong.Kong, args []string) (*kong.Context, error) {
	ctx, err := kong.Trace(app, args)
	if err == nil {
		err = ctx.Error
	}
	return ctx, err
}

// parseArgs parses an argument list into cli, or returns done after printing a help. With an error, ctx has the
// commands up to it.
//
// Kong.Parse and Context.Run would find methods by name. The linker then keeps all exported methods of all
// types, which are a sixth of the program.
func parseArgs(app *kong.Kong, args []string) (ctx *kong.Context, done bool, err error) {
	if ctx, err = traceArgs(app, args); err != nil {
		return ctx, false, err
	}
	if slices.ContainsFunc(ctx.Path, func(p *kong.Path) bool { return p.Flag != nil && p.Flag == app.Model.HelpFlag }) {
		return ctx, true, ctx.PrintUsage(false)
	}
	if err := ctx.Reset(); err != nil {
		return ctx, false, err
	}
	if err := ctx.Resolve(); err != nil {
		return ctx, false, err
	}
	if _, err := ctx.Apply(); err != nil {
		return ctx, false, err
	}
	return ctx, false, ctx.Validate()
}

// runSelected runs the selected command of cli.
func runSelected(ctx *kong.Context, in io.Reader, out *safeWriter, raw rawOutput) error {
	switch c := ctx.Selected().Target.Interface().(type) {
	case interface{ Run(io.Writer) error }:
		return c.Run(out)
	case interface{ Run(rawOutput) error }:
		return c.Run(raw)
	case interface {
		Run(io.Reader, io.Writer) error
	}:
		return c.Run(in, out)
	case interface {
		Run(io.Reader, rawOutput) error
	}:
		return c.Run(in, raw)
	case interface {
		Run(io.Writer, *kong.Kong) error
	}:
		return c.Run(out, ctx.Kong)
	case interface{ Run(*kong.Kong) error }:
		return c.Run(ctx.Kong)
	}
	panic(ctx.Command() + " can't be run") // cli is declared wrongly
}

// runOwn runs a command of cli and returns the exit status.
func runOwn(args []string) int {
	if slices.Equal(args, []string{"codex"}) {
		args = []string{"codex", "--help"}
	}
	var c cli
	parser, err := newParser(&c)
	if err != nil {
		panic(err) // cli is declared wrongly
	}
	ctx, done, err := parseArgs(parser, args)
	switch {
	case done && err == nil:
		return 0
	case done:
		return report(err)
	case err != nil:
		printError("codex-bridge: %s", wrongCall(ctx, err, args[0]))
		return exitConfig
	}
	p := startWaiting(ctx.Selected().FullPath())
	defer p.stop()
	raw := &checkedWriter{w: p.writer(os.Stdout)}
	out := &safeWriter{w: raw}
	err = errors.Join(runSelected(ctx, p.reader(os.Stdin), out, raw), out.flush())
	if err == nil {
		err = raw.failure()
	}
	if err != nil {
		p.stop()
		return report(err)
	}
	return 0
}

// nameOfArgument is how kong begins an error about an argument without a flag, which says little.
var nameOfArgument = regexp.MustCompile(`^\[?<[\w-]+>( \.\.\.)?\]?: (stat )?`)

// wrongCall describes an error of parseArgs, with the command whose help has more.
func wrongCall(ctx *kong.Context, err error, command string) string {
	if ctx != nil && ctx.Selected() != nil {
		command = strings.TrimPrefix(ctx.Selected().FullPath(), "codex-bridge ")
	}
	problem, see := nameOfArgument.ReplaceAllString(display.Line(err.Error()), ""), "; see"
	if strings.HasSuffix(problem, "?") { // a suggestion
		see = " See"
	}
	return fmt.Sprintf("%s%s \"codex-bridge %s --help\"", problem, see, command)
}

// exitError is an exit status for an error that was already printed.
type exitError int

func (s exitError) Error() string { return "" }

// report prints an error, one line per problem, and returns the exit status.
func report(err error) int {
	var exit exitError
	if errors.As(err, &exit) {
		return int(exit)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(problem.Text(err)), "\n") {
		printError("codex-bridge: %s", display.Line(line))
	}
	return status(err)
}
