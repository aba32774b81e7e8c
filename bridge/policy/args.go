package policy

import (
	"fmt"
	"strings"

	"codex-bridge/bridge/argv"
	"codex-bridge/bridge/config"
)

// ArgsDecision is the answer to one command line. Like a Decision it is the same
// under audit and under enforce.
type ArgsDecision struct {
	Verdict Verdict
	// Args are the arguments for codex; nil when denied. When the verdict is pass
	// they are those that came.
	Args []string
	// Changes are the flags that were taken out, in order.
	Changes []ArgChange
	// Err says why codex is not started, when denied.
	Err *ArgsError
}

// ArgChange is one flag that was taken out.
type ArgChange struct {
	Flag   string `json:"flag"` // "-c mcp_servers.x.command"; a value may be a secret, and is left out
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
	Hint   string `json:"hint"`
}

// ArgsError is the refusal of a command line.
type ArgsError struct {
	Argument string `json:"what"` // the flag, or the command as it was understood
	Rule     string `json:"rule"`
	Reason   string `json:"reason"`
	Hint     string `json:"hint"`
}

// Error is one line: what, why, by which rule, and what to do about it.
func (e *ArgsError) Error() string {
	return fmt.Sprintf("%s: %s (%s); %s", e.Argument, e.Reason, e.Rule, e.Hint)
}

// DecideArgs judges a command line. The first own arguments are the operator's
// and not judged; they are there because they lead to how the others are read.
//
// The command line counts as a client: an override is held to the rules of an
// overlay, and taken out as a whole where one of its keys does not pass.
func (p *Policy) DecideArgs(args []string, own int) ArgsDecision {
	passed := ArgsDecision{Verdict: Pass, Args: args}
	if p.mode == config.Off {
		return passed
	}
	line := argv.Parse(args)
	if line.Info {
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
		return passed
	}
	return ArgsDecision{Verdict: Rewrite, Args: d.remaining(), Changes: d.changes}
}

// argsCall is one decision about a command line in the making.
type argsDecider struct {
	p       *Policy
	line    argv.Line
	ownArgs int
	dropped []argv.Item
	changes []ArgChange
	err     *ArgsError
}

// seam refuses a client's argument that the last flag of the operator's would take
// for its value: nobody would have judged it.
func (c *argsDecider) checkOwnArgs() {
	for _, item := range c.line.Items {
		if item.At < c.ownArgs && item.At+item.Len > c.ownArgs {
			c.refuse(c.flagText(item), "codex.args", "its value is missing", "complete codex.args")
		}
	}
}

// flags judges what stands around `app-server`.
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

// ownFlag refuses a flag of the operator's that wins over PinArgs. Measured: --enable wins
// over -c, wherever they stand.
func (c *argsDecider) checkOwnFlag(item argv.Item) {
	if item.Name != "--enable" {
		return
	}
	if one, ok := c.p.findPin([]string{featuresKey, item.Value}); ok {
		c.refuse(c.flagText(item)+" "+argText(item.Value), "codex.args", one.reason, "take it out of codex.args, or name "+one.key+" in "+ruleKeys)
	}
}

// plain refuses what was not understood. Codex 0.169.0 refuses nearly all of it,
// too; another one may not.
func (c *argsDecider) checkUnderstood(item argv.Item) {
	shown := c.flagText(item)
	switch {
	case strings.HasPrefix(item.Name, "--dangerously"):
		// See below; known or not.
	case item.State == argv.Unknown:
		c.refuse(shown, ruleMode, "this flag is not known here, and what it does can't be judged", "leave it out, or put it into codex.args, which no rule holds")
	case item.State == argv.Invalid:
		c.refuse(shown, ruleMode, "its value is missing, or there is one where none belongs", "write it as codex --help does")
	case item.Name == "":
		c.refuse("the word "+argText(item.Value), ruleMode, "beside "+argv.AppServer+" there is no place for one", "leave it out")
	}
	if strings.HasPrefix(item.Name, "--dangerously") {
		c.refuse(shown, ruleMode, "it switches codex's safety off", "leave it out")
	}
}

// kept are the arguments without what was taken out.
func (c *argsDecider) remaining() []string {
	kept, at := make([]string, 0, len(c.line.Args)), 0
	for _, item := range c.dropped {
		kept = append(kept, c.line.Args[at:item.At]...)
		at = item.At + item.Len
	}
	return append(kept, c.line.Args[at:]...)
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

// shown is a flag as it was written, without its value.
func (c *argsDecider) flagText(item argv.Item) string {
	arg := c.line.Args[item.At]
	if strings.HasPrefix(arg, "--") {
		arg, _, _ = strings.Cut(arg, "=")
	} else if strings.HasPrefix(arg, "-") && item.State != argv.Unknown {
		arg = arg[:min(2, len(arg))]
	}
	return argText(arg)
}

// short is a text of the client's as a line shows it.
func argText(text string) string {
	const most = 60
	shown := text
	if len(shown) > most {
		shown = shown[:most] + "…"
	}
	if quoted := fmt.Sprintf("%q", shown); quoted[1:len(quoted)-1] != text || strings.ContainsRune(text, ' ') {
		return quoted
	}
	return shown
}
