package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/bridge/userrules"
)

// examineUserRules reports what the user's own Codex rules may do under an enforced policy.
func examineUserRules(cfg *config.Config) []finding {
	if cfg.Policy.Mode != config.Enforce {
		return nil
	}
	const name = "codex rules"
	if !slices.Contains(cfg.Hooks.Events, "pre_tool_use") {
		return []finding{{name, Warn, "your own Codex rules let commands out of the sandbox without a question: no hook sees them", `set "pre_tool_use" in hooks.events`}}
	}
	set := new(userrules.Reader).Read(guard.RuleFolders(guard.WorldOf(cfg.Codex))...)
	lets := set.Allowing()
	switch shell := set.AllowingShell(); {
	case set.Err != nil:
		return []finding{{name, Broken, set.Err.Error(), "fix the rules: until then no command runs"}}
	case shell != nil:
		return []finding{{name, Warn, shell.String() + " lets a shell, and any command that it runs, out of the sandbox", "remove it: until then only commands of plain words run"}}
	case len(lets) == 0:
		return []finding{{name, Fine, "no rule of yours lets a command out of the sandbox", ""}}
	}
	return []finding{{name, Fine, fmt.Sprintf("%d of your rules let commands out of the sandbox, the first is %s; through the bridge these commands run inside", len(lets), lets[0].String()), ""}}
}

// examineRules warns about rules that have expired, that an earlier rule hides, whose options have other spellings, whose
// wildcards match tools without a hook, or that allow nothing for kinds of agents' tools.
func examineRules(cfg *config.Config, now time.Time) []finding {
	var all []finding
	for _, line := range cfg.Policy.ExpiredRules(now) {
		all = append(all, finding{"rules", Warn, line, "remove the rule, or agree on a later until"})
	}
	for _, line := range HiddenRules(&cfg.Policy, now) {
		all = append(all, finding{"rules", Warn, line, "write the stricter rule first, or narrow the earlier one"})
	}
	for _, line := range LiteralOptions(&cfg.Policy) {
		all = append(all, finding{"rules", Warn, line, "write a rule for each spelling, or without options"})
	}
	for _, rule := range cfg.Policy.Rules {
		if names := rules.Unseen(rule.Tool); len(names) > 0 {
			all = append(all, finding{
				"rules", Warn, fmt.Sprintf("%s: tool = %q also matches %s, for which Codex calls no hook: there the rule does nothing", rule.Origin, rule.Tool, strings.Join(names, ", ")),
				"docs/reference/tool-names.md says what to use instead",
			})
		}
		if kinds := toolcall.KindsNotAllowed(rule); len(kinds) > 0 {
			all = append(all, finding{
				"rules", Warn, fmt.Sprintf("%s: tool = %q also names %s: for such calls of agents the rule does nothing, because their command and files decide", rule.Origin, rule.Tool, strings.Join(kinds, ", ")),
				"write an allow rule with command or path, and escalated = true",
			})
		}
	}
	return all
}

// HiddenRules returns a line for each rule about one tool of an MCP server that has no effect, because an earlier rule
// allows the tool.
func HiddenRules(p *config.Policy, now time.Time) (lines []string) {
	set, err := rules.New(p.RuleLayers())
	if err != nil {
		return nil // such a policy does not load
	}
	for _, one := range set.At(now).HiddenRules() {
		lines = append(lines, fmt.Sprintf("%s: the %s rule for tool %q has no effect: Codex calls this tool %s, which an earlier rule for tool %q allows (%s)",
			one.Rule.Origin, one.Rule.Decision, one.Rule.Tool, one.Name, one.By.Tool, one.By.Origin))
	}
	return lines
}

// LiteralOptions returns a line for each deny or ask rule whose options may have spellings that the rule does not match.
func LiteralOptions(p *config.Policy) (lines []string) {
	set, err := rules.New(p.RuleLayers())
	if err != nil {
		return nil // such a policy does not load
	}
	for _, one := range set.LiteralOptions() {
		lines = append(lines, fmt.Sprintf("%s: the %s rule for command %q matches %s only as written: the bridge does not know this of %s, which may take other spellings",
			one.Rule.Origin, one.Rule.Decision, one.Rule.Command, strings.Join(one.Options, " "), one.Program))
	}
	return lines
}
