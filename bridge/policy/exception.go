package policy

import (
	"slices"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// UseExceptions returns the decision that logs the use of exceptions for a call that passes.
func UseExceptions(used []rules.Exception) Decision {
	return Decision{Verdict: Accept, Changes: ExceptionChanges(rules.Match{Exceptions: used})}
}

// ExceptionChanges returns a change for each exception of a match except its rule.
func ExceptionChanges(m rules.Match) (all []Change) {
	for _, one := range m.Exceptions {
		if one.Rule != m.Rule {
			all = append(all, Change{Field: "result", Rule: RuleRule, Reason: one.Rule.Why() + ": " + display.Clip(one.Part), Origin: one.Rule.Origin.String()})
		}
	}
	return all
}

// AddExceptions adds the exceptions of a decision by another policy to a list, each rule once.
func AddExceptions(list, other []rules.Exception) []rules.Exception {
	for _, one := range other {
		if !slices.ContainsFunc(list, func(e rules.Exception) bool {
			return e.Rule.Origin == one.Rule.Origin && e.Rule.Why() == one.Rule.Why()
		}) {
			list = append(slices.Clip(list), one)
		}
	}
	return list
}

// CommandExceptions returns the exceptions by which a command of the client passes; nil for another message.
func (p *Policy) CommandExceptions(m *rpc.Message, st State) []rules.Exception {
	if p.mode == config.Off || p.rules == nil || !RunsCommand(m.Method) || m.Truncated() {
		return nil
	}
	return p.matchClientCommand(m, st).Exceptions
}
