package policy

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/rpc"
)

// override is a key of Codex's configuration whose override the bridge does not just remove.
type override struct {
	key string
	// narrowest is the lowest value in the order of the key's values, as JSON. In place of any
	// other value it can only narrow what Codex may do, so it passes regardless of
	// policy.config_keys. "" if the key has none.
	narrowest string
	// loss says what happens without the override. The bridge then refuses it, where
	// policy.config_keys does not allow it. "": the bridge removes the override.
	loss string
	// removable are values, as JSON, whose loss only narrows.
	removable []string
}

const (
	lostStore     = "without it Codex would keep credentials in another place"
	lostProvider  = "without it Codex would send the conversation to another provider"
	lostAddress   = "without it Codex would send data to its default address"
	lostLogin     = "without it Codex would accept another login"
	lostVariables = "without it commands would get more environment variables"
)

// overrides has each key once. An override of a key includes the keys below it.
//
// A feature belongs here only if it adds a capability, so that false takes something away. Measured
// with Codex 0.169 for each feature, also if the user has enabled it: false never added a tool to
// those that Codex offers to the model. Not here are
//   - multi_agent_v2 and code_mode_only, which replace other tools; unified_exec, whose loss brings
//     back the older shell; web_search_cached, beside which web_search_request is live;
//   - hooks, plugins, guardian_approval, write_stdin_approval, tool_call_mcp_elicitation,
//     network_proxy and credential_masking, which protect;
//   - tools.web_search: false has no effect, but replaces the table with allowed_domains.
var overrides = []override{
	{key: "sandbox_mode", narrowest: `"read-only"`},
	{key: "default_permissions", narrowest: `":read-only"`},
	{key: "sandbox_workspace_write.network_access", narrowest: "false"},
	{key: "sandbox_workspace_write.writable_roots", narrowest: "[]"},
	{key: "sandbox_workspace_write.exclude_tmpdir_env_var", narrowest: "true"},
	{key: "sandbox_workspace_write.exclude_slash_tmp", narrowest: "true"},
	{key: "approvals_reviewer", narrowest: `"user"`},
	// acceptsApproval says when it passes.
	{key: "approval_policy", narrowest: `"untrusted"`},

	{key: "web_search", narrowest: `"disabled"`},
	{key: "tools.update_plan.enabled", narrowest: "false"},
	{key: "tools.experimental_request_user_input.enabled", narrowest: "false"},
	{key: "agents.enabled", narrowest: "false"},
	{key: "apps._default.enabled", narrowest: "false"},
	{key: "apps._default.destructive_enabled", narrowest: "false"},
	{key: "apps._default.open_world_enabled", narrowest: "false"},
	{key: "skills.include_instructions", narrowest: "false"},
	{key: "skills.bundled.enabled", narrowest: "false"},
	{key: "cloud.skills.enabled", narrowest: "false"},

	{key: "features.agent_message_board", narrowest: "false"},
	{key: "features.agent_message_board_mcp", narrowest: "false"},
	{key: "features.apps", narrowest: "false"},
	{key: "features.artifact", narrowest: "false"},
	{key: "features.browser_use", narrowest: "false"},
	{key: "features.browser_use_external", narrowest: "false"},
	{key: "features.browser_use_full_cdp_access", narrowest: "false"},
	{key: "features.chronicle", narrowest: "false"},
	{key: "features.code_mode", narrowest: "false"},
	{key: "features.computer_use", narrowest: "false"},
	{key: "features.current_time_reminder", narrowest: "false"},
	{key: "features.deferred_executor", narrowest: "false"},
	{key: "features.enable_fanout", narrowest: "false"},
	{key: "features.enable_mcp_apps", narrowest: "false"},
	{key: "features.external_agent_memory_import", narrowest: "false"},
	{key: "features.goals", narrowest: "false"},
	{key: "features.image_generation", narrowest: "false"},
	{key: "features.in_app_browser", narrowest: "false"},
	{key: "features.memories", narrowest: "false"},
	{key: "features.multi_agent", narrowest: "false"},
	{key: "features.request_permissions_tool", narrowest: "false"},
	{key: "features.send_message_to_user_async", narrowest: "false"},
	{key: "features.shell_tool", narrowest: "false"},
	{key: "features.sleep_tool", narrowest: "false"},
	{key: "features.standalone_web_search", narrowest: "false"},
	{key: "features.token_budget", narrowest: "false"},
	{key: "features.tool_suggest", narrowest: "false"},
	{key: "features.view_image", narrowest: "false"},
	{key: "features.wake_on_agent_messages", narrowest: "false"},

	{key: "history.persistence", narrowest: `"none"`},
	{key: "memories.generate_memories", narrowest: "false"},
	{key: "memories.use_memories", narrowest: "false"},
	{key: "analytics.enabled", narrowest: "false"},
	{key: "feedback.enabled", narrowest: "false"},
	{key: "check_for_update_on_startup", narrowest: "false"},

	// Codex keeps the credentials in memory only.
	{key: "cli_auth_credentials_store", narrowest: `"ephemeral"`, loss: lostStore},
	{key: "mcp_oauth_credentials_store", loss: lostStore},
	{key: "features.secret_auth_storage", loss: lostStore},
	{key: "model_provider", loss: lostProvider},
	{key: "model_providers", loss: lostProvider},
	{key: "openai_base_url", loss: lostAddress},
	{key: "chatgpt_base_url", loss: lostAddress},
	{key: "experimental_realtime_ws_base_url", loss: lostAddress},
	{key: "experimental_realtime_webrtc_call_base_url", loss: lostAddress},
	{key: "experimental_thread_store", loss: lostAddress},
	{key: "experimental_thread_store_endpoint", loss: lostAddress},
	{key: "features.respect_system_proxy", loss: "without it Codex would go past the system's proxy", removable: []string{"false"}},
	{key: "forced_login_method", loss: lostLogin},
	{key: "forced_chatgpt_workspace_id", loss: lostLogin},
	{key: "shell_environment_policy.inherit", loss: lostVariables, removable: []string{`"all"`}},
	{key: "shell_environment_policy.ignore_default_excludes", loss: lostVariables, removable: []string{"true"}},
	{key: "shell_environment_policy.exclude", loss: lostVariables},
	{key: "shell_environment_policy.include_only", loss: lostVariables},
	{key: "shell_environment_policy.filters", loss: lostVariables},
}

// overridesByKey has the rows of overrides by their keys.
var overridesByKey = func() map[string]*override {
	rows := make(map[string]*override, len(overrides))
	for i := range overrides {
		rows[overrides[i].key] = &overrides[i]
	}
	return rows
}()

// isNarrowest reports whether value, as JSON, can only narrow what Codex may do as the value of
// key. It compares text, so that a value with another spelling does not pass.
func (p *Policy) isNarrowest(key, value string) bool {
	row := overridesByKey[key]
	if row == nil || row.narrowest != value || value == "" {
		return false
	}
	return key != "approval_policy" || p.AcceptsApprovalName("untrusted")
}

// findLoss returns the row that says why the loss of an override would send data to another place
// or weaken something; nil if the bridge may remove it.
func findLoss(path []string, value string) *override {
	for i := range path {
		row := overridesByKey[strings.Join(path[:i+1], ".")]
		if row != nil && row.loss != "" {
			if i == len(path)-1 && slices.Contains(row.removable, value) {
				return nil
			}
			return row
		}
	}
	return nil
}

// keyToAllow returns the key that policy.config_keys needs for an override of a lost key.
func (o *override) keyToAllow(path []string) string {
	if at := strings.Count(o.key, ".") + 1; o.key == "model_providers" && len(path) > at {
		return strings.Join(path[:at+1], ".") // the provider
	}
	return o.key
}

// refuseLoss refuses a request for an overlay key that the bridge would have to remove, if that
// would send data to another place or weaken something. It returns false if the key may go.
func (c *decider) refuseLoss(path []string, m rpc.Value) bool {
	row := findLoss(path, string(m.Raw()))
	if row == nil {
		return false
	}
	c.lost = true
	c.refuse(rpc.CodeRefused, "params.config."+strings.Join(path, "."), ruleKeys, notAllowedKey+", and "+row.loss, "add "+argText(row.keyToAllow(path))+" to "+ruleKeys+", or remove it")
	return true
}

// notAllowedKey is the reason for a removed key.
const notAllowedKey = "no pattern in " + ruleKeys + " allows it"

// readOverlay applies the narrowest values of an overlay to the fields and the defaults that they
// stand for, so that the bridge does not send a looser field in their place.
//
// Measured with Codex 0.169: a field of the request wins over the overlay, and the overlay over the
// configuration and, for the sandbox, over the thread's. With a key of sandbox_workspace_write in the
// overlay of a resume, Codex takes its default in place of the stored sandbox; so that table counts
// only beside a sandbox.
func (c *decider) readOverlay([]string) {
	overlay := c.params.Get("config")
	c.overlayReadOnly = overlay.Get("sandbox_mode").Is(readOnly.String()) || overlay.Get(defaultPermissionsKey).Is(builtinProfiles[readOnly])
	c.overlayWorkspace = overlay.Get("sandbox_mode").Is(workspaceWrite.String()) || overlay.Get(defaultPermissionsKey).Is(builtinProfiles[workspaceWrite])
	c.overlayUser = overlay.Get("approvals_reviewer").Is("user")
	if v := overlay.Get("approval_policy"); !isUnset(v) && (isUntrusted(v) || questionsOf(v).areFew()) {
		c.overlayApproval = v
	}
	c.overlaySandboxed = c.spec.startsThread || c.overlayReadOnly || c.overlayWorkspace || c.overlayWritesWorkspace() || !isUnset(c.params.Get("sandbox")) || !isUnset(c.params.Get(permissionsKey))
	if c.st.Defaults == nil || !c.overlaySandboxed {
		return
	}
	d := *c.st.Defaults
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
		c.overlayRoots = len(d.WritableRoots) < len(c.st.Defaults.WritableRoots)
	}
	c.st.Defaults = &d
}

// keptRoots returns the roots that are in each of the lists, also by another path. A value that is not a list
// counts as missing.
func (c *decider) keptRoots(roots []string, lists ...rpc.Value) []string {
	return slices.DeleteFunc(slices.Clone(roots), func(root string) bool {
		return slices.ContainsFunc(lists, func(list rpc.Value) bool {
			return list.Kind() == rpc.Array && !slices.ContainsFunc(slices.Collect(list.Elements()), func(v rpc.Value) bool {
				return c.isSameFolder(root, textOf(v))
			})
		})
	})
}

// isSameFolder reports whether two paths lead to one folder.
func (c *decider) isSameFolder(a, b string) bool {
	if a == b {
		return true
	}
	if !filepath.IsAbs(b) { // Codex has its own start for it
		return false
	}
	at, err := c.st.canonical(a)
	if err != nil {
		return false
	}
	other, err := c.st.canonical(b)
	return err == nil && at == other
}

const workspaceWriteKey = "sandbox_workspace_write"

// isNarrowestKey reports whether a key of the overlay may remain because m can only narrow.
func (c *decider) isNarrowestKey(name string, m rpc.Value) bool {
	return c.spec.opensThread && c.p.isNarrowest(name, string(m.Raw()))
}

// narrowsBelow reports whether the nested key at path, which the policy does not allow, may remain
// because m can only narrow.
// A pinned feature becomes false.
func (c *decider) narrowsBelow(object rpc.Value, key string, m rpc.Value, path []string) bool {
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
	if path[0] == workspaceWriteKey {
		return c.overlaySandboxed
	}
	return !c.p.allowsKey(path) && forbiddenReason(path, true) == ""
}

// addDotted adds nested keys that can only narrow to the overlay in dotted form.
//
// Measured with Codex 0.169: a nested table replaces what -c sets in the same table, but a dotted
// key does not. A table with an allowed key stays nested, because beside a table a dotted key is
// lost at random.
func (c *decider) addDotted(names []string) {
	for _, name := range names {
		raw := featureOff
		if row := overridesByKey[name]; row != nil {
			raw = []byte(row.narrowest)
		}
		if !slices.ContainsFunc(c.dotted, func(w requiredKey) bool { return w.key == name }) {
			c.dotted = append(c.dotted, requiredKey{
				key: name, raw: raw, rule: ruleKeys,
				reason: "the bridge writes the dotted form, because a nested table would replace values of Codex's command line",
			})
		}
	}
}

// fieldKeys are the keys that stand for a field of a request. The request's own value of such a key always counts.
var fieldKeys = []string{"sandbox_mode", "default_permissions", "approval_policy", "approvals_reviewer"}

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
