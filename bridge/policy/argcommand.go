package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"codex-bridge.example/bridge/argv"
	"codex-bridge.example/bridge/config"
)

const ruleCommands = "policy.commands"

// bypassing are the commands that serve or reach an app-server without this policy. A pattern for
// every command does not include them.
var bypassing = []string{"remote-control", "stdio-to-uds"}

// commandGlob is one entry of policy.commands: one glob for each word. It covers commands that
// start with matching words.
type commandGlob []string

func (g commandGlob) covers(words []string) bool {
	if len(g) > len(words) {
		return false
	}
	for i := range g {
		if !config.Match(g[i], words[i]) {
			return false
		}
	}
	return true
}

// matchesAll reports whether the first glob matches every command.
func (g commandGlob) matchesAll() bool { return strings.Trim(g[0], "*") == "" }

func (p *Policy) compileCommands(cfg config.Policy) error {
	for _, text := range cfg.Commands {
		g := commandGlob(strings.Fields(text))
		for _, word := range g {
			if !doublestar.ValidatePattern(word) {
				return fmt.Errorf("%s: %q is not a glob", ruleCommands, text)
			}
		}
		if len(g) == 0 {
			return fmt.Errorf("%s: an empty pattern", ruleCommands)
		}
		p.commands = append(p.commands, g)
	}
	return nil
}

// AllowsAllCommands reports whether policy.commands allows every command of Codex except those
// around the policy.
func (p *Policy) AllowsAllCommands() bool {
	return slices.ContainsFunc(p.commands, func(g commandGlob) bool { return len(g) == 1 && g.matchesAll() })
}

// decideCommand checks a command line that does not start the proxy.
func (c *argsDecider) decideCommand() {
	words := []string{c.line.Command}
	if c.line.Second != "" {
		words = append(words, c.line.Second)
	}
	for _, item := range c.line.Items {
		switch {
		case c.line.Exec() && item.At > c.line.CommandAt: // see decideExec
		case item.At >= c.ownArgs && item.State == argv.Unknown:
			// An unknown flag may take the command for its value.
			c.refuse(c.flagText(item), ruleCommands, "the flag is unknown, so the bridge can't find the command", "write it after the command, or remove it")
		case item.Name == "" && c.line.Command != "" && item.At >= c.ownArgs:
			c.refuse("the word "+argText(item.Value), ruleCommands, "it precedes the command "+c.line.Command, "remove it")
		}
	}
	switch {
	case c.err != nil:
	case c.line.Interactive():
		c.decideInteractive()
	case c.line.Exec():
		c.decideExec()
	case c.line.Command == argv.AppServer:
		c.requireNamed(words, 2, "it would start or reach an app-server without this policy")
	case slices.Contains(bypassing, c.line.Command):
		c.requireNamed(words, 1, "it would start or reach an app-server without this policy")
	default:
		c.requireAllowed(words)
	}
}

// allows reports whether a pattern covers a command.
func (c *argsDecider) allows(words []string) bool {
	return slices.ContainsFunc(c.p.commands, func(g commandGlob) bool { return g.covers(words) })
}

// requireAllowed refuses a command that no pattern covers.
func (c *argsDecider) requireAllowed(words []string) {
	if !c.allows(words) {
		c.refuse("codex "+words[0], ruleCommands, "it runs without this policy, and no pattern in "+c.p.commandList()+" covers it",
			fmt.Sprintf("to allow it, add %q to %s", words[0], ruleCommands))
	}
}

// requirePrompt refuses a single word that may be a command and that no pattern covers.
func (c *argsDecider) requirePrompt(word string) {
	if !c.allows([]string{word}) {
		c.refuse("the prompt "+argText(word), ruleCommands, "another version of Codex may read a single word as a command, and no pattern in "+c.p.commandList()+" covers it",
			fmt.Sprintf("write -- before it, or add %q to %s", word, ruleCommands))
	}
}

// requireNamed refuses a command that no specific pattern covers: one of at least `least` words
// whose first glob does not match every command.
func (c *argsDecider) requireNamed(words []string, least int, reason string) {
	meant := func(g commandGlob) bool { return len(g) >= least && !g.matchesAll() && g.covers(words) }
	if !slices.ContainsFunc(c.p.commands, meant) {
		text := strings.Join(words[:least], " ")
		c.refuse("codex "+argText(text), ruleCommands, reason+"; a pattern for every command does not cover it",
			fmt.Sprintf("to allow it, add %q to %s", text, ruleCommands))
	}
}

// terminalFlags are those of Codex's terminal interface that need no check: it sends the folder, the
// images and what a profile says to the app-server, and takes no --add-dir and --worktree with
// --remote (measured with Codex 0.169).
var terminalFlags = []string{"--cd", "--image", "--profile", "--add-dir", "--worktree"}

// decideInteractive checks Codex's terminal interface, which the bridge connects to an app-server
// under this policy (see argv.Line.WithRemote). A single word is a prompt in Codex 0.169. Another
// version may read it as a command, as mcp-server was, so the policy must allow it as one.
func (c *argsDecider) decideInteractive() {
	for _, item := range c.line.Items {
		switch {
		case item.At < c.ownArgs:
		case item.Name != "" && !slices.Contains(terminalFlags, item.Name):
			if c.checkUnderstood(item); c.err == nil {
				c.decideFlag(item)
			}
		case item.Name == "" && c.line.Command == "" && !strings.ContainsAny(item.Value, " \t\n"):
			c.requirePrompt(item.Value)
		}
	}
	for _, arg := range c.line.Args[c.ownArgs:] { // also after the command, where they are not parsed
		name, _, _ := strings.Cut(arg, "=")
		switch {
		case strings.HasPrefix(name, "--remote"):
			c.refuse(argText(name), ruleMode, "it names an app-server without this policy", "remove it: codex-bridge connects Codex to one under this policy")
		case strings.HasPrefix(name, "--dangerously"), name == "--yolo":
			c.refuse(argText(name), ruleMode, "it disables Codex's protection", "remove it")
		}
	}
}

// execFlags are those of exec and review that need no check: the bridge handles them, or makes them
// fields of requests that the policy checks.
var execFlags = []string{
	"--all", "--approve-for-me", "--base", "--cd", "--color", "--commit", "--cyber-access-program", "--ephemeral", "--image", "--json", "--last", "--model",
	"--output-last-message", "--output-schema", "--skip-git-repo-check", "--thread-source", "--title", "--uncommitted",
}

// decideExec checks exec and review, which the bridge runs as a client of an app-server under this
// policy.
func (c *argsDecider) decideExec() {
	for i, item := range c.line.Items {
		if item.At < c.ownArgs || item.Name == "" || item.State == argv.Valid && slices.Contains(execFlags, item.Name) {
			continue
		}
		if c.checkUnderstood(item); c.err != nil {
			return
		}
		before := len(c.dropped)
		c.decideFlag(item)
		next := item.At + item.Len
		// Codex takes all words after --image as images.
		if len(c.dropped) > before && i > 0 && c.line.Items[i-1].Name == "--image" && next < len(c.line.Args) && !strings.HasPrefix(c.line.Args[next], "-") {
			c.refuse(c.flagText(item), ruleMode, "without it the next word would be an image", "remove it, or write it before --image")
		}
	}
}

func (p *Policy) commandList() string {
	list := make([]string, len(p.commands))
	for i, g := range p.commands {
		list[i] = strings.Join(g, " ")
	}
	return ruleCommands + " [" + strings.Join(list, ", ") + "]"
}
