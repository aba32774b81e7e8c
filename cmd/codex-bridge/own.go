package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// cli declares the bridge's own commands. All other commands are Codex's.
type cli struct {
	Demo       demoCmd       `cmd:"" help:"Run an offline conversation with the real Codex, and show what a policy does."`
	Init       initCmd       `cmd:"" help:"Write a commented configuration. It never overwrites a file."`
	Policy     policyCmd     `cmd:"" help:"Explain and test the policy."`
	Doctor     doctorCmd     `cmd:"" help:"Check Codex, the configuration and the folders: one line per check, with a suggested fix."`
	Methods    methodsCmd    `cmd:"" help:"List the methods of Codex, or compare those of another Codex."`
	Decisions  decisionsCmd  `cmd:"" help:"Show and verify the decision log."`
	Grants     grantsCmd     `cmd:"" help:"Show and revoke remembered approvals."`
	Tools      toolsCmd      `cmd:"" help:"Show your tools, and try one without a model."`
	Run        runCmd        `cmd:"" help:"Run one turn of a session, and print the reply."`
	Threads    threadsCmd    `cmd:"" help:"Show, clear, import and export the threads of sessions."`
	Image      imageCmd      `cmd:"" help:"Describe images, outside any conversation."`
	Acp        acpCmd        `cmd:"" help:"Run an agent of the Agent Client Protocol under the policy."`
	Serve      serveCmd      `cmd:"" help:"Serve several clients with one Codex."`
	Trace      traceCmd      `cmd:"" help:"Show and replay recorded traces."`
	History    historyCmd    `cmd:"" help:"Search transcripts."`
	Purge      purgeCmd      `cmd:"" help:"Remove traces, transcripts and agents' logs that are older than the configuration keeps them."`
	Completion completionCmd `cmd:"" help:"Print a completion script for a shell."`
	Man        manCmd        `cmd:"" hidden:"" help:"Print the manual page."`
	Version    versionCmd    `cmd:"" help:"Print the version of codex-bridge (\"--version\" prints that of Codex)."`
}

type policyCmd struct {
	Explain explainCmd    `cmd:"" help:"Read a message; print the verdict, the message that Codex would get, and the rule and reason of each change."`
	Test    policyTestCmd `cmd:"" help:"Run files of test cases for a policy."`
}

// ownCommands has the names of the commands of cli.
var ownCommands = []string{
	"demo", "init", "policy", "doctor", "methods", "decisions", "grants", "tools", "run", "threads", "image", "acp", "serve", "trace", "history", "purge", "completion", "man", "version",
}

func isOwn(name string) bool { return slices.Contains(ownCommands, name) }

// runOwn runs a command of cli and returns the exit status.
func runOwn(args []string) int {
	var c cli
	out := &safeWriter{w: os.Stdout}
	parser, err := kong.New(&c, kong.Name("codex-bridge"), kong.UsageOnError(),
		kong.Description("A proxy between an editor and \"codex app-server\" that enforces a policy.\n"+
			"\"codex-bridge app-server\" is the proxy; every command that is not listed here runs the real Codex."),
		kong.BindTo(os.Stdin, (*io.Reader)(nil)), kong.BindTo(os.Stdout, (*rawOutput)(nil)), kong.BindTo(out, (*io.Writer)(nil)))
	if err != nil {
		panic(err) // cli is declared wrongly
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "codex-bridge: %s; see codex-bridge %s --help\n", plain(err.Error()), args[0])
		return exitConfig
	}
	if err := errors.Join(ctx.Run(parser), out.flush()); err != nil {
		return report(err)
	}
	return 0
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
	for line := range strings.SplitSeq(strings.TrimSpace(err.Error()), "\n") {
		fmt.Fprintln(os.Stderr, "codex-bridge: "+plain(line))
	}
	return status(err)
}
