package policy

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/rpc"
)

// isNarrowest reports whether value, as JSON, can only narrow what Codex may do as the value of
// key. It compares text, so that a value with another spelling does not pass.
func (p *Policy) isNarrowest(key, value string) bool {
	row := findOverride(strings.Split(key, "."))
	if row == nil || row.narrowest != value || value == "" {
		return false
	}
	return key != approvalPolicyKey || p.AcceptsApprovalName("untrusted")
}

// findLoss returns the row that says why an override must not be lost; nil if the bridge may remove it.
func findLoss(path []string, value string) *override {
	for n := len(path); n > 0; n-- {
		row := findOverride(path[:n])
		switch {
		case row == nil:
		case n == len(path) && (row.isRemovable(value) || row.key == otherFeatures && knownFeatures()[path[1]]):
			return nil
		default:
			return row
		}
	}
	return nil
}

// isRemovable reports whether the loss of the value only narrows.
func (o *override) isRemovable(value string) bool {
	return slices.Contains(o.removable, value) || slices.Contains(o.removable, anyValue) || o.narrowest == "false" && value == "true" || o.narrowest == "true" && value == "false"
}

// keyToAllow returns the key that policy.config_keys needs for an override of a lost key.
func (o *override) keyToAllow(path []string) string {
	at := strings.Count(o.key, ".") + 1
	if o.key == "model_providers" && len(path) > at {
		at++ // the provider
	}
	return strings.Join(path[:at], ".")
}

// refuseLoss refuses a request for an overlay key that the bridge would have to remove, if that
// would send data to another place or weaken something. It returns false if the key may go.
func (c *request) refuseLoss(path []string, m rpc.Value) bool {
	row := findLoss(path, string(m.Raw()))
	if row == nil || c.definesServer(path) {
		return false
	}
	c.lost = true
	c.refuse(rpc.CodeRefused, "params.config."+strings.Join(path, "."), RuleKeys, notAllowedKey+", and "+row.loss, "add "+ArgText(row.keyToAllow(path))+" to "+RuleKeys+", or remove it")
	return true
}

// notAllowedKey is the reason for a removed key.
const notAllowedKey = "no pattern in " + RuleKeys + " allows it"

// readOverlay applies the narrowest values of an overlay to the fields and the defaults that they
// stand for, so that the bridge does not send a looser field in their place.
//
// Measured with Codex 0.169: a field of the request wins over the overlay, and the overlay over the
// configuration and, for the sandbox, over the thread's. With a key of sandbox_workspace_write in the
// overlay of a resume, Codex takes its default in place of the stored sandbox.
//
// It narrows State.Defaults by what the overlay has.
func readOverlay(c *request) (found overlaySettings) {
	overlay := c.params.Get("config")
	found.readOnly = overlay.Get("sandbox_mode").Is(ReadOnly.String()) || overlay.Get(defaultPermissionsKey).Is(builtinProfiles[ReadOnly])
	found.workspaceWrite = overlay.Get("sandbox_mode").Is(WorkspaceWrite.String()) || overlay.Get(defaultPermissionsKey).Is(builtinProfiles[WorkspaceWrite])
	found.beaten = !found.readOnly && c.isOverlayBeaten(overlay)
	found.user = overlay.Get("approvals_reviewer").Is("user")
	if v := overlay.Get(approvalPolicyKey); !IsUnset(v) {
		found.approval = v
	}
	if c.st.Defaults == nil {
		return found
	}
	d := *c.st.Defaults
	found.configuredRoots = d.WritableRoots
	table := overlay.Get(workspaceWriteKey)
	has := func(key string) bool {
		name := workspaceWriteKey + "." + key
		return c.p.isNarrowest(name, string(overlay.Get(name).Raw())) || c.p.isNarrowest(name, string(table.Get(key).Raw()))
	}
	d.Network = d.Network && !has("network_access")
	d.NoTmpdir = d.NoTmpdir || has("exclude_tmpdir_env_var")
	d.NoSlashTmp = d.NoSlashTmp || has("exclude_slash_tmp")
	if has("writable_roots") {
		d.WritableRoots = nil
	} else {
		d.WritableRoots = c.keptRoots(d.WritableRoots, overlay.Get(workspaceWriteKey+".writable_roots"), table.Get("writable_roots"))
		found.fewerRoots = len(d.WritableRoots) < len(c.st.Defaults.WritableRoots)
	}
	c.st.Defaults = &d
	return found
}

// overlaySettings are settings of the overlay that stand for fields of the request.
type overlaySettings struct {
	readOnly        bool      // it asks for a read-only sandbox
	workspaceWrite  bool      // it asks for workspace-write
	beaten          bool      // Codex's default counts in place of its sandbox
	user            bool      // it asks for the user as reviewer
	approval        rpc.Value // its approval policy
	fewerRoots      bool      // it asks for fewer writable roots than Codex's configuration
	configuredRoots []string  // writable roots of Codex's configuration, without regard to the request
}

// isOverlayBeaten reports whether the overlay has a sandbox, and Codex's command line or the machine's
// managed configuration have one that wins over it.
func (c *request) isOverlayBeaten(overlay rpc.Value) bool {
	mode, profile := !IsUnset(overlay.Get(sandboxModeKey)), !IsUnset(overlay.Get(defaultPermissionsKey))
	if !mode && !profile || !IsUnset(c.params.Get("sandbox")) || !IsUnset(c.params.Get(permissionsKey)) {
		return false
	}
	d := c.st.Defaults
	if d == nil {
		c.want(WantConfiguration)
		return false
	}
	return d.BeatsProfile || d.BeatsMode && !profile
}

// keptRoots returns the roots that are in each of the lists, also by another path. A value that is not a list
// counts as missing.
func (c *request) keptRoots(roots []string, lists ...rpc.Value) []string {
	return slices.DeleteFunc(slices.Clone(roots), func(root string) bool {
		return slices.ContainsFunc(lists, func(list rpc.Value) bool {
			return list.Kind() == rpc.Array && !slices.ContainsFunc(slices.Collect(list.Elements()), func(v rpc.Value) bool {
				return c.isSameFolder(root, TextOf(v))
			})
		})
	})
}

// isSameFolder reports whether two paths lead to one folder.
func (c *request) isSameFolder(a, b string) bool {
	if a == b {
		return true
	}
	if !filepath.IsAbs(b) { // Codex has its own start for it
		return false
	}
	at, err := c.st.Canonical(a)
	if err != nil {
		return false
	}
	other, err := c.st.Canonical(b)
	return err == nil && at == other
}

const (
	workspaceWriteKey = "sandbox_workspace_write"
	approvalPolicyKey = "approval_policy"
	mcpServersKey     = "mcp_servers"
)

// isNarrowestKey reports whether a key of the overlay may remain because m can only narrow.
func (c *request) isNarrowestKey(name string, m rpc.Value) bool {
	return c.spec.opensThread && c.p.isNarrowest(name, string(m.Raw())) && !c.definesServer(strings.Split(name, "."))
}

// definesServer reports whether path is a key of an MCP server that only the overlay starts or connects to, and may
// not. Then the bridge removes the whole server, with its limits. Those of a server that the configuration has, too,
// count: Codex merges both.
func (c *request) definesServer(path []string) bool {
	if len(path) < 3 || path[0] != mcpServersKey {
		return false
	}
	overlay, name := c.params.Get("config"), path[1]
	dotted := mcpServersKey + "." + name
	for _, transport := range []string{"command", "url"} {
		for _, v := range []rpc.Value{overlay.Get(mcpServersKey).Get(name).Get(transport), overlay.Get(dotted).Get(transport), overlay.Get(dotted + "." + transport)} {
			if !IsUnset(v) {
				return !c.p.allowsKey([]string{mcpServersKey, name, transport}) && !c.hasServer(name)
			}
		}
	}
	return false
}

// hasServer reports whether Codex's configuration has the MCP server, or may have it: on a command line that is not
// known.
func (c *request) hasServer(name string) bool {
	switch d := c.st.Defaults; {
	case d != nil:
		return d.Servers[name]
	case !c.spec.opensThread:
		return true
	}
	c.want(WantConfiguration)
	return false
}

// narrowsBelow reports whether the nested key at path, which the policy does not allow, may remain
// because m can only narrow.
// A pinned feature becomes false.
func (c *request) narrowsBelow(object rpc.Value, key string, m rpc.Value, path []string) bool {
	name := strings.Join(path, ".")
	if !c.spec.opensThread || !slices.Equal(path, strings.Split(name, ".")) {
		return false
	}
	if one, pinned := c.p.findPin(path); pinned {
		return one.key == name && c.decidePinnedLeaf(object, key, m, name, one, nil)
	}
	if !c.isNarrowestKey(name, m) {
		return false
	}
	return path[0] == workspaceWriteKey || !c.p.allowsKey(path) && forbiddenReason(path, true) == ""
}

// addDotted adds nested keys that can only narrow to the overlay in dotted form.
//
// Measured with Codex 0.169: a nested table replaces what -c sets in the same table, but a dotted
// key does not. A table with an allowed key stays nested, because beside a table a dotted key is
// lost at random.
func (c *overlayRule) addDotted(names []string) {
	for _, name := range names {
		raw := featureOff
		if row := keys().byKey[name]; row != nil {
			raw = []byte(row.narrowest)
		}
		if c.dotted.find(name) == nil {
			c.dotted.add(requiredKey{
				key: name, raw: raw, rule: RuleKeys,
				reason: "the bridge writes the dotted form, because a nested table would replace values of Codex's command line",
			})
		}
	}
}

// fieldKeys are the keys that stand for a field of a request. The request's own value of such a key always counts.
var fieldKeys = []string{sandboxModeKey, defaultPermissionsKey, approvalPolicyKey, "approvals_reviewer"}

// ReplacedOverride says what becomes of an override of a client's command line, where a request's overlay
// would replace it: by another value of the key, or, if by is nil, by a table without the key. Without an
// enforced policy Codex decides.
//
// A value that only narrows is kept, unless the policy allows the request's own value. Another override
// that must not be lost has a loss, which says what would happen without it.
func (p *Policy) ReplacedOverride(key string, value, by json.RawMessage) (keep bool, loss string) {
	if p.mode != config.Enforce {
		return false, ""
	}
	if by != nil {
		if fault, _ := p.checkOverride(key, string(by)); fault == nil || slices.Contains(fieldKeys, key) {
			return false, ""
		}
	}
	if p.isNarrowest(key, string(value)) {
		return true, ""
	}
	if row := findLoss(strings.Split(key, "."), string(value)); row != nil {
		return false, row.loss
	}
	return false, ""
}
