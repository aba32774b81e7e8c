package config

import (
	"cmp"
	"slices"
	"strings"
)

// Notice is a key of a file that has no effect.
type Notice struct {
	Key    string
	Origin Origin
	// Restriction is true if the key would refuse something. Under enforce, the bridge must not start.
	Restriction bool
	Hint        string // a suggested fix other than to remove the key; may be empty
}

const hookHint = `add "pre_tool_use" to hooks.events; the key needs a hook for each call`

// Unenforced returns a notice for each key that a file sets and that has no effect, in the order of
// layers and lines. It ignores the mode, except for keys that work under enforce only.
func (c *Config) Unenforced() []Notice {
	var list []Notice
	add := func(key string, o Origin, restriction bool, hint string) {
		list = append(list, Notice{key, o, restriction, hint})
	}
	for _, r := range c.Policy.Rules {
		if r.Decision != "allow" && !c.decidesEachCall() {
			add("policy.rule", r.Origin, true, hookHint)
		}
	}
	for key, o := range c.origins {
		switch {
		case key == "policy.gate" && c.Policy.Gate && !c.hasToolHook(),
			key == "policy.protected_paths" && !c.decidesEachCall() && !c.protectsDefaultsOnly():
			add(key, o, true, hookHint)
		case c.asksAboutBridgeMethod(key):
			add(key, o, true, `set "deny"; the bridge does not ask about its own methods`)
		case strings.HasPrefix(key, "approvals.") && c.Policy.Mode != Enforce:
			add(key, o, false, "")
		}
	}
	slices.SortFunc(list, func(a, b Notice) int {
		return cmp.Or(cmp.Compare(a.Origin.Layer, b.Origin.Layer), cmp.Compare(a.Origin.Line, b.Origin.Line), cmp.Compare(a.Key, b.Key))
	})
	return list
}

// hasToolHook reports whether a hook sees each call of a tool.
func (c *Config) hasToolHook() bool { return slices.Contains(c.Hooks.Events, "pre_tool_use") }

// decidesEachCall reports whether the bridge sees each call, by a hook or because Codex asks about
// each.
func (c *Config) decidesEachCall() bool {
	return c.hasToolHook() || slices.Equal(c.Policy.Approval, []string{"untrusted"})
}

// protectsDefaultsOnly reports whether the default protects all protected paths: Codex's sandbox
// does so without the bridge.
func (c *Config) protectsDefaultsOnly() bool {
	defaults := Default().Policy.ProtectedPaths
	return !slices.ContainsFunc(c.Policy.ProtectedPaths, func(path string) bool { return !slices.Contains(defaults, path) })
}

// asksAboutBridgeMethod reports whether a key is "ask" for a method of the bridge.
func (c *Config) asksAboutBridgeMethod(key string) bool {
	for method, decision := range c.Policy.Methods {
		if decision == "ask" && strings.HasPrefix(method, "bridge/") && key == Key("policy", "methods", method) {
			return true
		}
	}
	return false
}
