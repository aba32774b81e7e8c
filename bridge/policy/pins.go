package policy

import (
	"slices"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/rpc"
)

// pinnedFeatures are features of Codex that act outside the policy's rules. The bridge disables
// them on Codex's command line. A full key in policy.config_keys lifts a pin; a glob does not.
// docs/internals/doors.md lists all features.
var pinnedFeatures = []struct{ feature, reason string }{
	// Measured with Codex 0.169: a skill of the repository names a command in agents/openai.yaml.
	// Codex writes it into the user's config.toml as an MCP server and starts it outside the
	// sandbox, without a question under approval never and full access.
	{"skill_mcp_dependency_install", "it lets a skill of the repository add and start an MCP server"},
}

const featuresKey = "features"

// featureOff is the value of a pinned feature.
var featureOff = []byte("false")

// pin is a feature that this policy disables.
type pin struct{ key, reason string }

func (p *Policy) compilePins(cfg config.Policy) error {
	for _, one := range pinnedFeatures {
		if key := "features." + one.feature; !slices.Contains(cfg.ConfigKeys, key) {
			p.pins = append(p.pins, pin{key, one.reason})
			p.pinArgs = append(p.pinArgs, "-c", key+"=false")
		}
	}
	return nil
}

// PinArgs returns the arguments that disable the pinned features. They must follow all others.
// Measured with Codex 0.169: the last -c of a key wins.
func (p *Policy) PinArgs() []string {
	if p.mode != config.Enforce {
		return nil
	}
	return slices.Clip(p.pinArgs)
}

// findPin returns the pin for the key at path. It also matches look-alikes of the key.
func (p *Policy) findPin(path []string) (one pin, ok bool) {
	if len(path) < 2 || methods.FoldName(path[0]) != featuresKey {
		return pin{}, false
	}
	for _, one := range p.pins {
		if methods.FoldName(path[1]) == methods.FoldName(strings.TrimPrefix(one.key, featuresKey+".")) {
			return one, true
		}
	}
	return pin{}, false
}

// PinReason returns why a feature of Codex stays disabled; "" if it may be enabled.
func (p *Policy) PinReason(feature string) string {
	one, _ := p.findPin([]string{featuresKey, feature})
	return one.reason
}

// requirePins adds the pinned features to a thread's overlay if Codex was started without PinArgs.
func (c *overlayRule) requirePins() {
	if !c.st.Unpinned {
		return
	}
	for _, one := range c.p.pins {
		c.keys.add(requiredKey{key: one.key, raw: featureOff, rule: RuleKeys, reason: one.reason})
	}
}

// addNestedPins disables the pinned features in a nested features table. Measured with Codex 0.169:
// such a table replaces the command line's features.
func (c *request) addNestedPins(features rpc.Value) {
	for _, one := range c.p.pins {
		if name := strings.TrimPrefix(one.key, featuresKey+"."); !features.Get(name).Exists() {
			c.set(features, name, "config."+one.key, featureOff, RuleKeys, one.reason)
		}
	}
}

// decidePinnedLeaf sets a pinned key of an overlay to false, and drops a look-alike.
func (c *request) decidePinnedLeaf(object rpc.Value, key string, m rpc.Value, name string, one pin, want *requiredKey) (kept bool) {
	if name != one.key {
		c.drop(object, key, "config."+name, RuleKeys, "the policy never allows it: "+one.reason)
		return false
	}
	if on, isBool := m.Bool(); on || !isBool {
		c.set(object, key, "config."+name, featureOff, RuleKeys, "the policy never allows it: "+one.reason)
	}
	if want != nil && key == one.key {
		want.present = true
	}
	return true
}
