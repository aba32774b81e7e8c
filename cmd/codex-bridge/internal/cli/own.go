// Package cli parses the bridge's own command line and runs its commands.
package cli

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
	"codex-bridge.example/cmd/codex-bridge/internal/codexcmd"
	"codex-bridge.example/cmd/codex-bridge/internal/doctor"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/cmd/codex-bridge/internal/featurecmd"
	"codex-bridge.example/cmd/codex-bridge/internal/headless"
	"codex-bridge.example/cmd/codex-bridge/internal/hub"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/cmd/codex-bridge/internal/policycmd"
	"codex-bridge.example/cmd/codex-bridge/internal/records"
	"codex-bridge.example/cmd/internal/core"
)

// Commands declares the bridge's own commands. All other commands are Codex's. Each command without commands of
// its own has an example in its tag.
type Commands struct {
	Init       initCmd              `cmd:"" group:"start" help:"Write a commented configuration. It never overwrites a file." example:"codex-bridge init --profile careful"`
	Doctor     doctor.Cmd           `cmd:"" group:"start" help:"Check Codex, the configuration and the folders, and suggest fixes." example:"codex-bridge doctor"`
	Demo       demoCmd              `cmd:"" group:"start" help:"Show what a policy does, offline, with the real Codex." example:"codex-bridge demo"`
	Policy     policyCmd            `cmd:"" group:"policy" help:"Explain and test the policy, and distribute it."`
	Methods    codexcmd.MethodsCmd  `cmd:"" group:"policy" help:"List the methods of Codex, or compare those of another Codex."`
	Codex      codexcmd.CodexCmd    `cmd:"" group:"policy" help:"Check whether a Codex works with this bridge."`
	Decisions  records.DecisionsCmd `cmd:"" group:"policy" help:"Show and verify the decision log."`
	Grants     records.GrantsCmd    `cmd:"" group:"policy" help:"Show and revoke remembered approvals."`
	Approvals  records.ApprovalsCmd `cmd:"" group:"policy" help:"Show and answer requests for a second person."`
	Run        headless.RunCmd      `cmd:"" group:"work" help:"Run one turn of a session, and print the reply." example:"codex-bridge run --session nightly \"Update the changelog\""`
	Threads    records.ThreadsCmd   `cmd:"" group:"work" help:"Show, clear, import and export the threads of sessions."`
	History    records.HistoryCmd   `cmd:"" group:"work" help:"Search transcripts."`
	Trace      records.TraceCmd     `cmd:"" group:"work" help:"Show and replay recorded traces."`
	Tools      featurecmd.ToolsCmd  `cmd:"" group:"work" help:"Show your tools, and try one without a model."`
	Image      featurecmd.ImageCmd  `cmd:"" group:"work" help:"Describe images, outside any conversation."`
	Acp        featurecmd.AcpCmd    `cmd:"" group:"work" help:"Run an agent of the Agent Client Protocol under the policy."`
	Serve      hub.ServeCmd         `cmd:"" group:"work" help:"Serve several clients with one Codex." example:"codex-bridge serve --listen unix:///run/user/1000/codex.sock"`
	Purge      records.PurgeCmd     `cmd:"" group:"other" help:"Remove traces, transcripts and logs that are too old to keep." example:"codex-bridge purge"`
	Completion completionCmd        `cmd:"" group:"other" help:"Print a completion script for a shell." example:"codex-bridge completion bash"`
	Man        manCmd               `cmd:"" hidden:"" group:"other" help:"Print the manual page." example:"codex-bridge man"`
	Version    versionCmd           `cmd:"" group:"other" help:"Print the bridge's version; \"--version\" prints that of Codex." example:"codex-bridge version"`
	Help       helpCmd              `cmd:"" group:"other" help:"Explain a command, with an example." example:"codex-bridge help policy test"`
}

// groups are the parts of the list of commands.
var groups = []kong.Group{{Key: "start", Title: "Start:"}, {Key: "policy", Title: "Policy:"}, {Key: "work", Title: "Conversations and tools:"}, {Key: "other", Title: "Other:"}}

type policyCmd struct {
	Explain  policycmd.ExplainCmd       `cmd:"" help:"Read a message; print the verdict, the message that Codex would get, and the rule and reason of each change." example:"codex-bridge policy explain request.json"`
	Export   policycmd.PolicyExportCmd  `cmd:"" help:"Print what of the policy Codex can enforce by itself." example:"codex-bridge policy export --requirements >requirements.toml"`
	Test     policycmd.PolicyTestCmd    `cmd:"" help:"Run files of test cases for a policy." example:"codex-bridge policy test team-policy.toml"`
	Simulate policycmd.SimulateCmd      `cmd:"" help:"Compare a candidate policy with the current one over the recorded decisions and traces." example:"codex-bridge policy simulate --candidate new.toml --since 7d"`
	Suggest  policycmd.SuggestCmd       `cmd:"" help:"Propose the smallest rules that would have allowed recorded denials." example:"codex-bridge policy suggest --since 7d"`
	Publish  policycmd.PolicyPublishCmd `cmd:"" help:"Sign a bundle of policy into a repository, for any web server or file share." example:"codex-bridge policy publish --repo public --key policy.key team-policy"`
	Pull     policycmd.PolicyPullCmd    `cmd:"" help:"Get the bundle of policy now, and print its changes." example:"codex-bridge policy pull"`
	Status   policycmd.PolicyStatusCmd  `cmd:"" help:"Show the bundle of policy: version, signer, age." example:"codex-bridge policy status"`
}

// Names has the names of the commands of cli.
var Names = []string{
	"demo", "init", "policy", "doctor", "methods", "codex", "decisions", "grants", "approvals", "tools", "run", "threads", "image", "acp", "serve", "trace", "history", "purge", "completion", "man", "version", "help",
}

// IsOwn reports whether an argument list is for cli.
func IsOwn(args []string) bool {
	return slices.Contains(Names, args[0]) || args[0] == "-h" || args[0] == "--help"
}

func newParser(c *Commands) (*kong.Kong, error) {
	width := min(output.Width(), helpColumns)
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
func runSelected(ctx *kong.Context, in io.Reader, out *output.SafeWriter, raw output.Unescaped) error {
	switch c := ctx.Selected().Target.Interface().(type) {
	case interface{ Run(io.Writer) error }:
		return c.Run(out)
	case interface{ Run(output.Unescaped) error }:
		return c.Run(raw)
	case interface {
		Run(io.Reader, io.Writer) error
	}:
		return c.Run(in, out)
	case interface {
		Run(io.Reader, output.Unescaped) error
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

// Run runs a command of cli and returns the exit status.
func Run(args []string) int {
	if slices.Equal(args, []string{"codex"}) {
		args = []string{"codex", "--help"}
	}
	var c Commands
	parser, err := newParser(&c)
	if err != nil {
		panic(err) // cli is declared wrongly
	}
	ctx, done, err := parseArgs(parser, args)
	switch {
	case done && err == nil:
		return 0
	case done:
		return Report(err)
	case err != nil:
		output.PrintError("codex-bridge: %s", wrongCall(ctx, err, args[0]))
		return exit.Config
	}
	p := output.StartWaiting(ctx.Selected().FullPath())
	defer p.Stop()
	raw := output.NewCheckedWriter(p.Writer(os.Stdout))
	out := output.NewSafeWriter(raw)
	err = errors.Join(runSelected(ctx, p.Reader(os.Stdin), out, raw), out.Flush())
	if err == nil {
		err = raw.Failure()
	}
	if err != nil {
		p.Stop()
		return Report(err)
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

// Report prints an error, one line per problem, and returns the exit status.
func Report(err error) int {
	var exit exit.Status
	if errors.As(err, &exit) {
		return int(exit)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(problem.Text(err)), "\n") {
		output.PrintError("codex-bridge: %s", display.Line(line))
	}
	return status(err)
}

// status returns the exit status for an error.
func status(err error) int {
	if errors.As(err, new(*hub.ListenError)) {
		return exit.Config
	}
	return core.ExitStatus(err)
}
