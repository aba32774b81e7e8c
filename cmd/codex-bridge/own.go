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

// Version is set by the release build.
var Version = "dev"

// cli are our own commands. Everything else is codex's.
type cli struct {
	Demo       demoCmd       `cmd:"" help:"Run a whole conversation, offline, against the real codex, and show what a policy does to it."`
	Init       initCmd       `cmd:"" help:"Write a commented starter configuration; never over one that is there."`
	Policy     policyCmd     `cmd:"" help:"Look at what the policy does to a message."`
	Doctor     doctorCmd     `cmd:"" help:"Check codex, the configuration and the folders; one line per check, with a suggested fix."`
	Methods    methodsCmd    `cmd:"" help:"List every method of codex: what it does, what becomes of it under the configuration at hand, and why."`
	Decisions  decisionsCmd  `cmd:"" help:"Look at the log of what was changed or refused, and verify it."`
	Grants     grantsCmd     `cmd:"" help:"Look at the approvals that are remembered in the state, and revoke them."`
	Tools      toolsCmd      `cmd:"" help:"Look at the host's tools, and try one without a model."`
	Run        runCmd        `cmd:"" help:"Run one turn of a session, and print the reply."`
	Threads    threadsCmd    `cmd:"" help:"Look at the threads that sessions have, and why; forget them, take them over from a file, write them to one."`
	Image      imageCmd      `cmd:"" help:"Have codex describe images, beside any conversation."`
	Acp        acpCmd        `cmd:"" help:"Have an agent that speaks the Agent Client Protocol do a task, under the policy."`
	Trace      traceCmd      `cmd:"" help:"Look at what was captured of conversations, and play it again."`
	History    historyCmd    `cmd:"" help:"Search what was said in threads, where the configuration keeps it."`
	Purge      purgeCmd      `cmd:"" help:"Take away what is older than the configuration keeps it: traces and transcripts."`
	Completion completionCmd `cmd:"" help:"Print what a shell completes these commands by."`
	Version    versionCmd    `cmd:"" help:"Print the version of codex-bridge (\"--version\" is codex's own)."`
}

type policyCmd struct {
	Explain explainCmd    `cmd:"" help:"Read one message and print the verdict, what codex would get, and the rule and reason of every change."`
	Test    policyTestCmd `cmd:"" help:"Run files of cases: a message or a command line, and what must become of it."`
}

// ownCommands are the commands of cli.
var ownCommands = []string{
	"demo", "init", "policy", "doctor", "methods", "decisions", "grants", "tools", "run", "threads", "image", "acp", "trace", "history", "purge", "completion", "version",
}

func isOwn(name string) bool { return slices.Contains(ownCommands, name) }

// runOwn runs one of our own commands and returns the exit status.
func runOwn(args []string) int {
	var c cli
	out := &safeWriter{w: os.Stdout}
	parser, err := kong.New(&c, kong.Name("codex-bridge"), kong.UsageOnError(),
		kong.Description("A proxy between an editor and \"codex app-server\" that holds the conversation to a policy.\n"+
			"\"codex-bridge app-server\" is the proxy; every command that is not listed here becomes the real codex."),
		kong.BindTo(os.Stdin, (*io.Reader)(nil)), kong.BindTo(os.Stdout, (*rawOutput)(nil)), kong.BindTo(out, (*io.Writer)(nil)))
	if err != nil {
		panic(err) // the declaration above is broken
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

// silent is an error that has been told already.
type silent int

func (s silent) Error() string { return "" }

// report prints what went wrong, a line a problem, and returns the exit status of
// the contract.
func report(err error) int {
	var told silent
	if errors.As(err, &told) {
		return int(told)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(err.Error()), "\n") {
		fmt.Fprintln(os.Stderr, "codex-bridge: "+plain(line))
	}
	return status(err)
}

type versionCmd struct{}

func (versionCmd) Run(out io.Writer) error {
	fmt.Fprintln(out, "codex-bridge "+Version)
	return nil
}
