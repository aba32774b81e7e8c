package policy

import (
	"encoding/json"
	"strings"

	"codex-bridge.example/bridge/display"
)

// Notice returns what a change takes away from a client that does not know the bridge, as a sentence
// for its user, and the kind of change. It returns two empty texts if the client loses nothing that it
// sent, unless the change narrows what Codex's configuration says.
func (c Change) Notice() (kind, sentence string) {
	if !c.Narrows && (c.From == nil || !c.restricts()) {
		return "", ""
	}
	field := strings.TrimPrefix(c.Field, "params.")
	if names := strings.SplitN(field, ".", 4); names[0] == "config" && len(names) == 4 {
		field = strings.Join(names[:3], ".") // one server, not each of its members
	}
	field = display.Clip(field) // the client chooses the names of config
	sentence = "codex-bridge has removed " + field
	if c.To != nil {
		sentence = "codex-bridge has changed " + field
		var text string
		if json.Unmarshal(c.To, &text) == nil {
			sentence += " to " + display.Clip(text)
		}
	}
	if field == "runtimeWorkspaceRoots" || field == "environments" {
		sentence = "codex-bridge has removed workspace roots"
	}
	reason, gated := strings.CutSuffix(c.Reason, "; "+gatedReason)
	if gated {
		sentence = "codex-bridge asks before each command"
	}
	sentence += ": " + strings.TrimSuffix(reason, ".") + ". The setting is " + c.Rule
	if c.Origin != "" {
		sentence += " in " + c.Origin
	}
	kind, _, _ = strings.Cut(c.Rule+" "+field, "[") // without the number of an element
	return kind, sentence + "."
}

// Notice returns a sentence for the user about a removed flag; origin is the place of its rule.
func (c ArgChange) Notice(origin string) string {
	return "codex-bridge has removed " + display.Clip(c.Flag) + " from the command line: " + strings.TrimSuffix(c.Reason, ".") + ". The setting is " + c.Rule + " in " + origin + "."
}

// restricts reports whether the change replaces or removes a value that the policy does not allow.
func (c Change) restricts() bool {
	switch c.Rule {
	case RuleApproval, RuleReviewers, RuleSandbox, RuleNetwork, RuleModels, RuleEfforts, RuleKeys, RuleUser:
		return true
	case RuleRoots: // otherwise it is the canonical path of the same folder
		return c.To == nil || strings.HasPrefix(c.Field, "params.sandboxPolicy")
	}
	return false
}
