package config

import (
	"cmp"
	"slices"
	"strings"
)

// Notice is a restriction of a file that has no effect.
type Notice struct {
	Key    string
	Origin Origin
	Hint   string // a suggested fix; may be empty
}

const (
	toolHook = "pre_tool_use"
	hookHint = `add "` + toolHook + `" to hooks.events; the key needs a hook for each call`
)

// Unenforced returns a notice for each key that a file sets and that has no effect, in the order of
// layers and lines. Under enforce there is none: Load then adds the hook that a key needs.
func (c *Config) Unenforced() []Notice {
	list := c.needsToolHook()
	for key, o := range c.origins {
		switch {
		case c.asksAboutBridgeMethod(key):
			list = append(list, Notice{key, o, `set "deny"; the bridge does not ask about its own methods`})
		case strings.HasPrefix(key, "approvals.") && c.Policy.Mode != Enforce:
			list = append(list, Notice{key, o, ""})
		}
	}
	sortNotices(list)
	return list
}

// needsToolHook returns a notice for each restriction that needs a hook for each call of a tool, if there is
// none.
func (c *Config) needsToolHook() (list []Notice) {
	if c.hasToolHook() {
		return nil
	}
	for _, r := range c.Policy.Rules {
		if r.Decision != "allow" {
			list = append(list, Notice{"policy.rule", r.Origin, hookHint})
		}
	}
	for key, o := range c.origins {
		switch {
		case key == "policy.gate" && c.Policy.Gate, key == "policy.models" && c.Policy.Models != nil, key == "policy.efforts" && c.Policy.Efforts != nil,
			key == "policy.protected_paths" && !c.protectsDefaultsOnly():
			list = append(list, Notice{key, o, hookHint})
		}
	}
	sortNotices(list)
	return list
}

func sortNotices(list []Notice) {
	slices.SortFunc(list, func(a, b Notice) int {
		return cmp.Or(cmp.Compare(a.Origin.Layer, b.Origin.Layer), cmp.Compare(a.Origin.Line, b.Origin.Line), cmp.Compare(a.Key, b.Key))
	})
}

// hasToolHook reports whether a hook sees each call of a tool.
//
// Measured with Codex 0.169: even under untrusted it does not ask about each. It runs commands that
// the user's own rules allow, outside the sandbox, and tools that an MCP server calls read-only.
func (c *Config) hasToolHook() bool { return slices.Contains(c.Hooks.Events, toolHook) }

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
