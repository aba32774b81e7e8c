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
		if r.Decision != "allow" && !c.hasToolHook() {
			add("policy.rule", r.Origin, true, hookHint)
		}
	}
	for key, o := range c.origins {
		switch {
		case c.hasToolHook():
		case key == "policy.gate" && c.Policy.Gate, key == "policy.models" && len(c.Policy.Models) > 0, key == "policy.efforts" && len(c.Policy.Efforts) > 0,
			key == "policy.protected_paths" && !c.asksAboutPatches() && !c.protectsDefaultsOnly():
			add(key, o, true, hookHint)
		}
		switch {
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
//
// Measured with Codex 0.169: even under untrusted it does not ask about each. It runs commands that
// the user's own rules allow, outside the sandbox, and tools that an MCP server calls read-only.
func (c *Config) hasToolHook() bool { return slices.Contains(c.Hooks.Events, "pre_tool_use") }

// asksAboutPatches reports whether Codex asks about each patch.
func (c *Config) asksAboutPatches() bool {
	return slices.Equal(c.Policy.Approval, []string{"untrusted"})
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
