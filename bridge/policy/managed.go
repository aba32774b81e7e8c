package policy

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"codex-bridge.example/rpc"
)

// managedLayer begins the types of the layers that win over a thread's configuration. Measured with
// Codex 0.169 and 0.171: so does /etc/codex/managed_config.toml, but not a profile of the thread or its model.
// Its approval_policy and sandbox_mode are also in configRequirements/read.
const managedLayer = "legacyManagedConfig"

// parseManaged reads the keys of the managed layers that the bridge sets for a thread: features,
// projects and sandbox_workspace_write. Measured with Codex 0.169: hooks of these layers run beside the bridge's, and
// hooks.state there does not disable those.
func (d *Defaults) parseManaged(result rpc.Value) {
	d.Managed = make(map[string]json.RawMessage)
	add := func(key string, v rpc.Value) {
		if _, said := d.Managed[key]; !said && !IsUnset(v) { // an earlier layer wins
			d.Managed[key] = CloneRaw(v)
		}
	}
	for layer := range result.Get("layers").Elements() {
		if kind, _ := layer.Get("name").Get("type").Text(); !strings.HasPrefix(kind, managedLayer) {
			continue
		}
		cfg := layer.Get("config")
		for name, v := range cfg.Get(featuresKey).Members() {
			add(featuresKey+"."+name, v)
		}
		add(projectsKey, cfg.Get(projectsKey))
		for _, name := range []string{"network_access", "writable_roots"} {
			add(workspaceWriteKey+"."+name, cfg.Get(workspaceWriteKey).Get(name))
		}
	}
}

// refuseManaged refuses the request if the machine's managed configuration has another value for a
// key than the thread needs, and reports whether it did. Codex may continue a goal or a queue of the
// thread before the bridge could check its hooks.
func (c *overlayRule) refuseManaged() bool {
	for _, key := range slices.Sorted(maps.Keys(c.st.Defaults.Managed)) {
		if c.conflictsManaged(key, string(c.st.Defaults.Managed[key])) {
			c.refuse(rpc.CodeRefused, "params", RuleMode, "managed_config.toml of this machine sets "+key+", which wins over what the bridge sets for a thread",
				"remove "+key+" from it, if you manage the machine")
			return true
		}
	}
	return false
}

func (c *overlayRule) conflictsManaged(key, value string) bool {
	switch key {
	case "features.hooks", "features.codex_hooks":
		return value != "true"
	case projectsKey: // under "user" it counts as the user's own trust
		return c.p.trust == trustNever && strings.Contains(value, `"`+string(trusted)+`"`)
	case workspaceWriteKey + ".network_access":
		return value == "true" && !c.p.network && c.sandbox.level == WorkspaceWrite && c.takesManagedSandbox()
	case workspaceWriteKey + ".writable_roots": // also roots of a read-only thread
		_, loose := c.allowedDefaultRoots()
		return loose && c.takesManagedSandbox()
	}
	_, pinned := c.p.findPin(strings.Split(key, "."))
	return pinned && value != string(featureOff)
}

// takesManagedSandbox reports whether sandbox_workspace_write of a managed layer counts in a new thread. In a
// resumed one the sandbox of Codex's response decides.
func (c *overlayRule) takesManagedSandbox() bool {
	return c.spec.startsThread && c.p.letsWrite() && !c.sandbox.builtinProfile && !c.ownProfile
}
