package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"codex-bridge.example/bridge/argv"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
)

const ruleCommands = "policy.commands"

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

// names reports whether the entry begins with these words, written out.
func (g commandGlob) names(words []string) bool {
	return len(g) >= len(words) && slices.Equal(g[:len(words)], words)
}

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

// OpenCommands returns the commands of Codex that policy.commands lets run without this policy and that are not
// harmless. Without their door the commands below it are not among them.
func (p *Policy) OpenCommands() []string {
	var open []string
	for _, row := range argv.Commands() {
		words := strings.Fields(row.Name)
		switch door := argv.FindDoor(words); {
		case door == row && p.names(words), door == nil && row.Verdict == argv.Listed && p.covers(words):
			open = append(open, row.Name)
		}
	}
	return open
}

// covers reports whether a pattern covers a command.
func (p *Policy) covers(words []string) bool {
	return slices.ContainsFunc(p.commands, func(g commandGlob) bool { return g.covers(words) })
}

// names reports whether a pattern writes these words out.
func (p *Policy) names(words []string) bool {
	return slices.ContainsFunc(p.commands, func(g commandGlob) bool { return g.names(words) })
}

// decideCommand checks a command line that does not start the proxy.
func (c *argsDecider) decideCommand() {
	for _, item := range c.line.Items {
		switch {
		case c.line.Command != "" && item.At > c.line.CommandAt: // see decideExec and decideRow
		case item.At >= c.ownArgs && item.State == argv.Unknown:
			// An unknown flag may take the command for its value.
			c.refuse(c.flagText(item), ruleCommands, "codex-bridge knows the flags of Codex "+methods.Measured+", and this is none of them, so it can't find the command", "write it after the command, or remove it; if a newer Codex has it, update codex-bridge")
		case item.Name == "" && c.line.Command != "" && item.At >= c.ownArgs:
			c.refuse("the word "+ArgText(item.Value), ruleCommands, "it precedes the command "+c.line.Command, "remove it")
		}
	}
	switch {
	case c.err != nil:
	case c.line.Interactive():
		c.decideInteractive()
	case c.line.Exec():
		c.decideExec()
	default:
		c.decideRow()
	}
}

// decideRow checks a command that Codex runs without this policy, by its row in the table of commands.
func (c *argsDecider) decideRow() {
	row, words := c.line.Row, c.line.Words()
	door := argv.FindDoor(words)
	switch {
	case row.Verdict == argv.Never:
		c.refuse("codex "+row.Name, RuleMode, "it "+row.Why, "use codex exec, which the bridge runs under this policy")
	case door != nil:
		c.requireNamed(door.Name, words, "it "+door.Why+", and only a pattern that writes it out allows it")
	case row.HasNested() && c.line.Next != "":
		c.requireNamed(strings.Join(words, " "), words, "codex-bridge does not know this command of Codex; a later codex-bridge may")
	case row.HasNested() && c.hasUnknown():
		c.refuse("codex "+row.Name, ruleCommands, "a flag after it is unknown, so the bridge can't find the command in it", "write the flag at the end, or remove it")
	case row.Verdict == argv.Bridged:
		c.refuse("codex "+row.Name, RuleMode, "the bridge does not know this form of it", "remove what follows it")
	case !c.line.Generates() && !c.p.covers(words):
		c.refuse("codex "+row.Name, ruleCommands, "it "+row.Why+" without this policy, and no pattern in "+c.p.commandList()+" covers it",
			fmt.Sprintf("to allow it, add %q to %s", row.Name, ruleCommands))
	}
	if c.err == nil {
		c.decideRowFlags(row)
	}
}

// hasUnknown reports whether an argument after the command is a flag that the bridge does not know.
func (c *argsDecider) hasUnknown() bool {
	return slices.ContainsFunc(c.line.Items, func(i argv.Item) bool { return i.At > c.line.CommandAt && i.State != argv.Valid })
}

// requireNamed refuses a command that no pattern writes out. name is the part that must be written out.
func (c *argsDecider) requireNamed(name string, words []string, reason string) {
	named := strings.Fields(name)
	if !slices.ContainsFunc(c.p.commands, func(g commandGlob) bool { return g.names(named) && g.covers(words) }) {
		c.refuse("codex "+ArgText(name), ruleCommands, reason, fmt.Sprintf("to allow it, add %q to %s", name, ruleCommands))
	}
}

// decideRowFlags checks the arguments of such a command. Those of a harmless one must all be in the table.
// Those of others are the operator's choice, but for overrides of the configuration.
func (c *argsDecider) decideRowFlags(row *argv.Command) {
	words := 0
	for _, item := range c.line.Items {
		after := item.At > c.line.CommandAt
		switch {
		case item.At < c.ownArgs, !after && item.Flag.IsUnchecked(argv.InTerminal):
		case !after || isOverride(item.Name):
			if c.checkUnderstood(item); c.err == nil {
				c.decideFlag(item)
			}
		case row.Verdict != argv.Harmless:
		case item.Name == "":
			if words++; words > 1 || !row.TakesWord() {
				c.refuse("the word "+ArgText(item.Value), ruleCommands, "codex "+row.Name+" takes no such word", "remove it")
			}
		case item.State != argv.Valid:
			c.refuse(c.flagText(item), ruleCommands, "it is not among the arguments of codex "+row.Name+" that the bridge knows as harmless", "remove it")
		}
	}
	if row.Verdict != argv.Harmless {
		c.refuseOverrides(c.line.Args[c.line.CommandAt+1:])
	}
}

func isOverride(name string) bool {
	return name == "--config" || name == "--enable" || name == "--disable"
}

// refuseOverrides refuses an override among the arguments of a command whose flags the table does not have.
// A text that begins as an override is checked, also where it may be the value of a flag, up to the "--" that
// ends Codex's flags.
func (c *argsDecider) refuseOverrides(args []string) {
	for i, arg := range args {
		if arg == "--" {
			return
		}
		item := argv.Override(args, i)
		if item.Name == "" {
			continue
		}
		probe := &argsDecider{p: c.p, line: argv.Line{Args: args}}
		if probe.checkUnderstood(item); probe.err == nil {
			probe.decideFlag(item)
		}
		switch {
		case probe.err != nil:
			c.refuse(probe.err.Argument, probe.err.Rule, probe.err.Reason, probe.err.Hint+"; write -- before words that are not for Codex")
		case probe.changes != nil:
			change := probe.changes[0]
			c.refuse(change.Flag, change.Rule, change.Reason, change.Hint+"; write -- before words that are not for Codex")
		}
	}
}

// decideInteractive checks Codex's terminal interface, which the bridge connects to an app-server
// under this policy (see argv.Line.WithRemote). A single word is a prompt in Codex 0.169. Another
// version may read it as a command, as mcp-server was, so the bridge writes -- before it.
func (c *argsDecider) decideInteractive() {
	for _, item := range c.line.Items {
		switch {
		case item.At < c.ownArgs:
		case item.Name != "" && !item.Flag.IsUnchecked(argv.InTerminal):
			if c.checkUnderstood(item); c.err == nil {
				c.decideFlag(item)
			}
		case item.Name == "" && c.line.Command == "" && !strings.ContainsAny(item.Value, " \t\n"):
			c.prompts = append(c.prompts, item)
		}
	}
	for _, arg := range c.line.Args[c.ownArgs:] { // also after the command, where they are not parsed
		name, _, _ := strings.Cut(arg, "=")
		switch {
		case strings.HasPrefix(name, "--remote"):
			c.refuse(ArgText(name), RuleMode, "it names an app-server without this policy", "remove it: codex-bridge connects Codex to one under this policy")
		case strings.HasPrefix(name, "--dangerously"), name == "--yolo":
			c.refuse(ArgText(name), RuleMode, "it disables Codex's protection", "remove it")
		}
	}
}

// decideExec checks exec and review, which the bridge runs as a client of an app-server under this
// policy.
func (c *argsDecider) decideExec() {
	for i, item := range c.line.Items {
		if item.At < c.ownArgs || item.Name == "" || item.State == argv.Valid && item.Flag.IsUnchecked(argv.InExec) {
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
			c.refuse(c.flagText(item), RuleMode, "without it the next word would be an image", "remove it, or write it before --image")
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
