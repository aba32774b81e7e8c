package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"codex-bridge.example/rpc"
)

// Defaults are the values of Codex's configuration for fields that a client omits, as config/read
// returns them.
type Defaults struct {
	// Cwd is the cwd of the config/read request; "" for none, so that no project configuration
	// counts.
	Cwd           string
	Approval      json.RawMessage         // approval_policy: a string or {"granular": {…}}; nil: null
	Reviewer      string                  // approvals_reviewer; "": null
	Sandbox       string                  // sandbox_mode; "": null
	Permissions   string                  // default_permissions; "": null, or sandbox_mode counts
	Replaced      string                  // the user's own profile in whose place Sandbox or Permissions counts; "" if none
	BeatsMode     bool                    // Sandbox or Permissions count beside sandbox_mode in a request's overlay
	BeatsProfile  bool                    // and beside default_permissions
	Profiles      map[string]*UserProfile // of the table permissions, by name
	Servers       map[string]bool         // names in the table mcp_servers
	WritableRoots []string                // sandbox_workspace_write.writable_roots
	Network       bool                    // sandbox_workspace_write.network_access
	NoTmpdir      bool                    // sandbox_workspace_write.exclude_tmpdir_env_var
	NoSlashTmp    bool                    // sandbox_workspace_write.exclude_slash_tmp
	Model         string                  // model; "": null
	Effort        string                  // model_reasoning_effort; "": null
	Projects      Projects
	StateFolder   string    // sqlite_home, where Codex keeps its databases; "": null
	Disabled      *Defaults // Sandbox and Permissions of a project that Codex does not trust yet; nil: none
	// ReservedProfile is the name of a permissions profile in that configuration that the bridge
	// reserves for its own; "" if there is none.
	ReservedProfile string
	// Managed has the values of the machine's managed_config.toml that matter, by key; see managed.go.
	Managed map[string]json.RawMessage
}

// ParseDefaults reads the result of config/read with includeLayers. It returns an error for an
// unknown form, so that a later Codex's form does not count as empty.
func ParseDefaults(result rpc.Value) (*Defaults, error) {
	cfg := result.Get("config")
	if cfg.Kind() != rpc.Object {
		return nil, fmt.Errorf("config/read: config is %v", cfg.Kind())
	}
	d := &Defaults{}
	for _, f := range [...]struct {
		key string
		to  *string
	}{
		{"approvals_reviewer", &d.Reviewer}, {"sandbox_mode", &d.Sandbox},
		{"default_permissions", &d.Permissions}, {"model", &d.Model}, {"model_reasoning_effort", &d.Effort},
		{"sqlite_home", &d.StateFolder},
	} {
		v := cfg.Get(f.key)
		text, ok := v.Text()
		if !ok && !IsUnset(v) {
			return nil, fmt.Errorf("config/read: %s is %v", f.key, v.Kind())
		}
		*f.to = text
	}
	if d.Permissions != "" && d.Sandbox != "" && sandboxWins(result.Get("layers")) {
		d.Permissions = ""
	}
	if v := cfg.Get("approval_policy"); !IsUnset(v) {
		d.Approval = CloneRaw(v)
	}
	for name := range cfg.Get(permissionsKey).Members() {
		if name == bridgeProfile || strings.HasPrefix(name, bridgeProfile+"-") {
			d.ReservedProfile = name
		}
		if d.Profiles == nil {
			d.Profiles = map[string]*UserProfile{}
		}
		d.Profiles[name] = parseUserProfile(cfg.Get(permissionsKey), name)
	}
	servers := cfg.Get(mcpServersKey)
	if servers.Kind() != rpc.Object && !IsUnset(servers) {
		return nil, fmt.Errorf("config/read: %s is %v", mcpServersKey, servers.Kind())
	}
	d.Servers = make(map[string]bool)
	for name := range servers.Members() {
		d.Servers[name] = true
	}
	d.parseRank(result.Get("layers"))
	d.parseReplaced(result.Get("layers"))
	d.parseDisabled(result.Get("layers"))
	d.refuseProjectProfiles(result.Get("layers"))
	if err := d.parseWorkspaceWrite(cfg.Get("sandbox_workspace_write")); err != nil {
		return nil, err
	}
	if err := d.parseProjects(result); err != nil {
		return nil, err
	}
	d.parseManaged(result)
	return d, nil
}

func (d *Defaults) parseWorkspaceWrite(v rpc.Value) error {
	if IsUnset(v) {
		return nil
	}
	network, roots := v.Get("network_access"), v.Get("writable_roots")
	var ok bool
	if d.Network, ok = network.Bool(); !ok && !IsUnset(network) {
		return fmt.Errorf("config/read: sandbox_workspace_write.network_access is %v", network.Kind())
	}
	for key, to := range map[string]*bool{"exclude_tmpdir_env_var": &d.NoTmpdir, "exclude_slash_tmp": &d.NoSlashTmp} {
		if *to, ok = v.Get(key).Bool(); !ok && !IsUnset(v.Get(key)) {
			return fmt.Errorf("config/read: sandbox_workspace_write.%s is %v", key, v.Get(key).Kind())
		}
	}
	if v.Kind() != rpc.Object || roots.Kind() != rpc.Array && !IsUnset(roots) {
		return fmt.Errorf("config/read: sandbox_workspace_write has an unknown shape")
	}
	for e := range roots.Elements() {
		text, ok := e.Text()
		if !ok {
			return fmt.Errorf("config/read: sandbox_workspace_write.writable_roots contains %v", e.Kind())
		}
		d.WritableRoots = append(d.WritableRoots, text)
	}
	return nil
}

// Level returns the highest level of a thread without sandbox and permissions, and whether a
// profile gives it; false if unknown.
func (d *Defaults) level() (l Level, profiled, ok bool) {
	if d.Permissions != "" {
		// Measured with Codex 0.169: it wins over sandbox_mode.
		if l, ok = BuiltinProfileLevel(d.Permissions); !ok && d.Profiles[d.Permissions] != nil {
			l, ok = d.Profiles[d.Permissions].level(), true
		}
		return l, true, ok
	}
	if d.Sandbox == "" {
		// Measured with Codex 0.169: the default is read-only, in a trusted folder workspace-write.
		return WorkspaceWrite, false, true
	}
	l, ok = ParseMode(d.Sandbox)
	return l, false, ok
}

// requiredKey is a key that a thread's overlay must have.
type requiredKey struct {
	key     string
	raw     []byte
	rule    string
	reason  string
	present bool // the client's overlay has it
	// withModel reports that the key is needed only if the overlay also has a model.
	withModel bool
}

// requiredKeys are the keys that a thread's overlay must have, in the order in which the bridge writes them.
type requiredKeys []requiredKey

func (k *requiredKeys) add(key requiredKey) { *k = append(*k, key) }

// find returns the key of a name; nil if it is not required.
func (k requiredKeys) find(name string) *requiredKey {
	for i := range k {
		if k[i].key == name {
			return &k[i]
		}
	}
	return nil
}

// opensDefaultNetwork reports whether Codex's configuration allows a network that the policy
// forbids.
func (c *request) opensDefaultNetwork() bool { return c.st.Defaults.Network && !c.p.network }

// allowedDefaultRoots returns the writable roots of Codex's configuration that the policy allows,
// and whether it has others.
//
// It omits a root inside or around the workspace, because a command could replace the inner folder
// by a link. A root inside the workspace is writable anyway. It also omits a root around one that the bridge removes:
// of that Codex alone protects .git and the like.
func (c *folders) allowedDefaultRoots() (kept []string, loose bool) {
	workspace := c.openingFolder()
	removed := c.removedRoots
	for _, path := range c.st.Defaults.WritableRoots {
		at, err := c.st.Canonical(path)
		switch {
		case err != nil:
		case c.isAllowedRoot(at) && c.overlappingWritable(at) == "" && c.otherPolicyFile(at) == "" && (at == workspace || workspace == "" || !Overlaps(at, workspace)):
			kept = append(kept, at)
		default:
			removed = append(slices.Clip(removed), at)
		}
	}
	kept = slices.DeleteFunc(kept, func(outer string) bool {
		return slices.ContainsFunc(removed, func(root string) bool { return isInside([]string{outer}, root) })
	})
	return kept, !slices.Equal(kept, c.st.Defaults.WritableRoots)
}

// requireDefaults adds overlay keys against values of Codex's configuration that the policy
// forbids.
//
// Measured with Codex 0.169: its network_access and writable_roots count in every workspace-write
// thread without a profile. The writable roots also stay with a read-only thread and count after a
// turn raises it to workspace-write.
func (c *overlayRule) requireDefaults() {
	d, p := c.st.Defaults, c.p
	if d != nil && d.ReservedProfile != "" {
		c.refuse(rpc.CodeRefused, "params", RuleProtected, "Codex's configuration has a permissions profile "+d.ReservedProfile+", a name that the bridge reserves",
			"rename the profile [permissions."+d.ReservedProfile+"]")
		return
	}
	if d != nil && (c.refuseManaged() || c.refuseStateFolder()) {
		return
	}
	// The bridge's profile replaces a builtin one, and a second policy reads it as a workspace-write.
	leaks := p.letsWrite() && (!c.sandbox.builtinProfile || c.ownProfile)
	if d == nil {
		c.wantIf(c.spec.startsThread && (leaks || p.efforts != nil), WantConfiguration)
		return
	}
	if !c.spec.startsThread && c.sandbox.mode == "" {
		// Measured with Codex 0.169: with such a key in the overlay of a cold resume, Codex ignores
		// the stored sandbox and takes its default.
		leaks = false
	}
	if leaks && c.sandbox.level == WorkspaceWrite && c.opensDefaultNetwork() {
		c.keys.add(requiredKey{
			key: "sandbox_workspace_write.network_access", raw: []byte("false"), rule: RuleNetwork,
			reason: "Codex's configuration allows the network",
		})
	}
	if kept, loose := c.allowedDefaultRoots(); leaks && (loose || c.fewerRoots) {
		c.keys.add(requiredKey{
			key: "sandbox_workspace_write.writable_roots", raw: jsonArray(kept), rule: RuleRoots,
			reason: "Codex's configuration has writable roots that the policy or the client does not allow",
		})
	}
	if d.Effort != "" && !p.AllowsEffort(d.Effort) {
		if len(p.efforts) == 0 {
			c.refuseEffort("if omitted, Codex would use its default " + d.Effort + ", which is not in " + p.EffortList())
			return
		}
		c.keys.add(requiredKey{
			key: "model_reasoning_effort", raw: JSONString(p.efforts[0]), rule: RuleEfforts,
			reason: "if omitted, Codex would use its default " + d.Effort + ", which is not in " + p.EffortList(),
			// Measured with Codex 0.169: a resume takes the effort from the overlay only if that
			// names a model.
			withModel: !c.spec.usesDefaults && IsUnset(c.params.Get("model")),
		})
	}
}
