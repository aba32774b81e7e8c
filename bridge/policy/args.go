package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"codex-bridge.example/bridge/argv"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/methods"
)

// ArgsDecision is the decision about one command line. Like a Decision, it is the same under audit
// and enforce.
type ArgsDecision struct {
	Verdict Verdict
	// Args are the arguments for Codex; nil under Deny. Pass changes two things: it adds a "--" before a prompt that
	// another version of Codex may read as a command, and it removes all other words from a request for help.
	Args []string
	// Changes are the removed flags, in order.
	Changes []ArgChange
	// Err is set under Deny.
	Err *ArgsError
}

// ArgChange is one removed flag.
type ArgChange struct {
	Flag   string `json:"flag"` // "-c mcp_servers.x.command"; a value may be a secret, and is left out
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
	Hint   string `json:"hint"`
}

// ArgsError refuses a command line.
type ArgsError struct {
	Argument string `json:"argument"` // the flag, or the command as it was understood
	Rule     string `json:"rule"`
	Reason   string `json:"reason"`
	Hint     string `json:"hint"`
}

// Error returns one line with the argument, the reason, the rule and the hint.
func (e *ArgsError) Error() string {
	return fmt.Sprintf("%s: %s (%s); %s", e.Argument, e.Reason, e.Rule, e.Hint)
}

// DecideArgs checks a command line. The first own arguments are codex.args; they are not checked,
// but parsing needs them. Other arguments count as a client's: an override must pass the rules of
// an overlay, and is removed as a whole if one of its keys does not.
//
// A request for help or the version passes without the client's flags and other words, which have no effect there: a flag
// that took more values than the bridge knows, or a new command, would make the line something else to Codex.
func (p *Policy) DecideArgs(args []string, own int) ArgsDecision {
	passed := ArgsDecision{Verdict: Pass, Args: args}
	if p.mode == config.Off {
		return passed
	}
	line := argv.Parse(args)
	if line.Info && !line.Generates() {
		passed.Args = line.OnlyInfo(own)
		return passed
	}
	d := &argsDecider{p: p, line: line, ownArgs: own}
	d.checkOwnArgs()
	if line.Proxy {
		d.decideFlags()
	} else {
		d.decideCommand()
	}
	switch {
	case d.err != nil:
		return ArgsDecision{Verdict: Deny, Err: d.err}
	case d.changes == nil:
		return ArgsDecision{Verdict: Pass, Args: d.remaining()}
	}
	return ArgsDecision{Verdict: Rewrite, Args: d.remaining(), Changes: d.changes}
}

// argsDecider decides one command line.
type argsDecider struct {
	p       *Policy
	line    argv.Line
	ownArgs int
	dropped []argv.Item
	prompts []argv.Item // words to write after "--"
	changes []ArgChange
	err     *ArgsError
}

// checkOwnArgs refuses a client's argument that the last flag of codex.args would take as its
// value, because nothing would check it.
func (c *argsDecider) checkOwnArgs() {
	for _, item := range c.line.Items {
		if item.At < c.ownArgs && item.At+item.Len > c.ownArgs {
			c.refuse(c.flagText(item), "codex.args", "its value is missing", "complete codex.args")
		}
	}
}

// decideFlags checks the flags and words around `app-server`.
func (c *argsDecider) decideFlags() {
	for _, item := range c.line.Items {
		if item.At < c.ownArgs {
			c.checkOwnFlag(item)
			continue
		}
		if c.checkUnderstood(item); c.err != nil {
			return
		}
		if c.decideFlag(item); c.err != nil {
			return
		}
	}
}

// checkOwnFlag refuses a flag of codex.args that would override PinArgs. Measured with Codex 0.169:
// --enable wins over -c in any order.
func (c *argsDecider) checkOwnFlag(item argv.Item) {
	if item.Name != "--enable" {
		return
	}
	if one, ok := c.p.findPin([]string{featuresKey, item.Value}); ok {
		c.refuse(c.flagText(item)+" "+ArgText(item.Value), "codex.args", one.reason, "remove it from codex.args, or add "+one.key+" in "+RuleKeys)
	}
}

// checkUnderstood refuses unknown flags and words. Codex 0.169.0 refuses most of them too, but
// another version may not.
func (c *argsDecider) checkUnderstood(item argv.Item) {
	shown := c.flagText(item)
	switch {
	case strings.HasPrefix(item.Name, "--dangerously"):
		// The check below covers this flag.
	case item.State == argv.Unknown:
		c.refuse(shown, RuleMode, "codex-bridge knows the flags of Codex "+methods.Measured+", and this is none of them here", "remove it; if a newer Codex has it, update codex-bridge")
	case item.State == argv.Invalid:
		c.refuse(shown, RuleMode, "its value is missing, or it takes none", "write it as codex --help does")
	case item.Name == "":
		c.refuse("the word "+ArgText(item.Value), RuleMode, "beside "+argv.AppServer+" takes no such word", "remove it")
	}
	if strings.HasPrefix(item.Name, "--dangerously") {
		c.refuse(shown, RuleMode, "it disables Codex's protection", "remove it")
	}
}

// remaining returns the arguments without the removed flags, and with "--" before the prompts.
func (c *argsDecider) remaining() []string {
	moved := slices.Concat(c.dropped, c.prompts)
	slices.SortFunc(moved, func(a, b argv.Item) int { return cmp.Compare(a.At, b.At) })
	kept, at := make([]string, 0, len(c.line.Args)+1), 0
	for _, item := range moved {
		kept = append(kept, c.line.Args[at:item.At]...)
		at = item.At + item.Len
	}
	rest := c.line.Args[at:]
	if len(c.prompts) == 0 {
		return append(kept, rest...)
	}
	// "--" may already follow, with a word that Codex then refuses as a second prompt.
	end := slices.Index(rest, "--")
	if end < 0 {
		end = len(rest)
	}
	kept = append(append(kept, rest[:end]...), "--")
	for _, item := range c.prompts {
		kept = append(kept, item.Value)
	}
	return append(kept, rest[min(end+1, len(rest)):]...)
}

func (c *argsDecider) drop(item argv.Item, what, rule, reason, hint string) {
	c.dropped = append(c.dropped, item)
	c.changes = append(c.changes, ArgChange{Flag: what, Rule: rule, Reason: reason, Hint: hint})
}

func (c *argsDecider) refuse(what, rule, reason, hint string) {
	if c.err == nil {
		c.err = &ArgsError{Argument: what, Rule: rule, Reason: reason, Hint: hint}
	}
}

// flagText returns a flag as the client wrote it, without its value.
func (c *argsDecider) flagText(item argv.Item) string {
	arg := c.line.Args[item.At]
	if strings.HasPrefix(arg, "--") {
		arg, _, _ = strings.Cut(arg, "=")
	} else if strings.HasPrefix(arg, "-") && item.State != argv.Unknown {
		arg = arg[:min(2, len(arg))]
	}
	return ArgText(arg)
}

// ArgText returns an argument for a message, cut after 60 bytes and quoted if needed.
func ArgText(text string) string {
	const most = 60
	shown := display.ClipTo(text, most)
	if quoted := fmt.Sprintf("%q", shown); quoted[1:len(quoted)-1] != text || strings.ContainsRune(text, ' ') {
		return quoted
	}
	return shown
}
