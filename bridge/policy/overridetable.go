package policy

import (
	"strings"
	"sync"

	"codex-bridge.example/bridge/methods"
)

// override is a key of Codex's configuration whose override the bridge does not just remove.
type override struct {
	key string
	// narrowest is the lowest value in the order of the key's values, as JSON. In place of any
	// other value it can only narrow what Codex may do, so it passes regardless of
	// policy.config_keys. "" if the key has none.
	narrowest string
	// loss says what happens without the override; "" is lostLimit. The bridge then refuses it, where
	// policy.config_keys does not allow it.
	loss string
	// removable are values, as JSON, whose loss only narrows. The bridge removes them. So it does with the
	// opposite of a narrowest true or false. anyValue stands for all values.
	removable []string
}

// anyValue is the removable value of a key that only says how a feature works: without the feature it adds nothing.
const anyValue = "*"

const (
	lostStore      = "without it Codex would keep credentials in another place"
	lostProvider   = "without it Codex would send the conversation to another provider"
	lostAddress    = "without it Codex would send data to its default address"
	lostLogin      = "without it Codex would accept another login"
	lostVariables  = "without it commands would get more environment variables"
	lostLimit      = "without it the thread could do more"
	lostTools      = "without it the model could use more tools"
	lostProtection = "without it Codex would protect less"
	lostConsent    = "without it Codex could run tools that it would ask about"
)

// overrides has each key once. An override of a key includes the keys below it, unless these have a row of
// their own. A segment * stands for any name.
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
	// In an overlay these become fields of the request; see readOverlay.
	{key: "sandbox_mode", narrowest: `"read-only"`, removable: []string{`"workspace-write"`, `"danger-full-access"`}},
	{key: "default_permissions", narrowest: `":read-only"`, removable: []string{`":workspace"`, `":danger-full-access"`}},
	{key: "approvals_reviewer", narrowest: `"user"`, removable: []string{`"auto_review"`, `"guardian_subagent"`}},
	{key: "approval_policy", narrowest: `"untrusted"`}, // acceptsApproval says when it passes
	{key: "sandbox_workspace_write", removable: []string{"{}"}},
	{key: "sandbox_workspace_write.network_access", narrowest: "false"},
	{key: "sandbox_workspace_write.writable_roots", narrowest: "[]"},
	{key: "sandbox_workspace_write.exclude_tmpdir_env_var", narrowest: "true"},
	{key: "sandbox_workspace_write.exclude_slash_tmp", narrowest: "true"},
	{key: "permissions", loss: "without it Codex would lose what the profile denies", removable: []string{"{}"}},
	{key: "projects", loss: "without it Codex could trust the project", removable: []string{"{}"}},
	{key: "profile", loss: "Codex refuses it, and without it would take the user's own configuration"},
	{key: "hooks", loss: "without it Codex would not run the client's hooks, which may deny calls", removable: []string{"{}"}},
	{key: "plugins", loss: lostTools, removable: []string{"{}"}},
	{key: "plugins.*.enabled", loss: lostTools, removable: []string{"true"}},

	{key: "web_search", narrowest: `"disabled"`, loss: "without it Codex could search more of the web", removable: []string{`"live"`, `"cached"`, `"indexed"`}},
	{key: "tools.web_search.allowed_domains", loss: "without it Codex could search more of the web"},
	{key: "tools.view_image", loss: lostTools, removable: []string{"true"}},
	{key: "tools.update_plan.enabled", narrowest: "false"},
	{key: "tools.experimental_request_user_input.enabled", narrowest: "false"},
	{key: "agents.enabled", narrowest: "false"},
	{key: "apps._default.enabled", narrowest: "false"},
	{key: "apps._default.destructive_enabled", narrowest: "false"},
	{key: "apps._default.open_world_enabled", narrowest: "false"},
	{key: "apps._default.default_tools_approval_mode", loss: lostConsent, removable: []string{`"approve"`}},
	{key: "apps.*.enabled", narrowest: "false", loss: lostTools},
	{key: "apps.*.destructive_enabled", loss: lostTools, removable: []string{"true"}},
	{key: "apps.*.open_world_enabled", loss: lostTools, removable: []string{"true"}},
	{key: "apps.*.default_tools_enabled", loss: lostTools, removable: []string{"true"}},
	{key: "apps.*.omit_tools_from", loss: lostTools},
	{key: "apps.*.links", loss: lostConsent},
	{key: "apps.*.approvals_reviewer", loss: lostConsent, removable: []string{`"auto_review"`, `"guardian_subagent"`}},
	{key: "apps.*.default_tools_approval_mode", narrowest: `"prompt"`, loss: lostConsent, removable: []string{`"approve"`}},
	{key: "apps.*.tools.*.enabled", narrowest: "false", loss: lostTools},
	{key: "apps.*.tools.*.approval_mode", narrowest: `"prompt"`, loss: lostConsent, removable: []string{`"approve"`}},
	{key: "mcp_servers.*.enabled", narrowest: "false", loss: lostTools},
	{key: "mcp_servers.*.enabled_tools", loss: lostTools},
	{key: "mcp_servers.*.disabled_tools", loss: lostTools, removable: []string{"[]"}},
	{key: "mcp_servers.*.omit_tools_from", loss: lostTools},
	{key: "mcp_servers.*.default_tools_approval_mode", narrowest: `"prompt"`, loss: lostConsent, removable: []string{`"approve"`}},
	{key: "mcp_servers.*.tools.*.enabled", narrowest: "false", loss: lostTools},
	{key: "mcp_servers.*.tools.*.approval_mode", narrowest: `"prompt"`, loss: lostConsent, removable: []string{`"approve"`}},
	{key: "agents.max_threads"},
	{key: "agents.max_depth"},
	{key: "allow_login_shell", removable: []string{"true"}},
	{key: "windows.sandbox", loss: "without it Codex could use another sandbox"},
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
	// A client enables the code mode with a table of these settings.
	{key: "features.code_mode.enabled", removable: []string{"true"}},
	{key: "features.code_mode.direct_only_tool_namespaces", removable: []string{anyValue}},
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

	// Another feature that the bridge does not know may add something, or be the old name of one that does.
	{key: otherFeatures, loss: "without it Codex could do what the feature adds", removable: []string{"true"}},
	// Without plugins their hooks would be off. Codex's own terminal interface switches them off in its threads
	// for titles, which must open, so the override is removed.
	{key: "features.plugins", removable: []string{"true", "false"}},
	{key: "features.code_mode_only", loss: lostTools, removable: []string{"false"}},
	{key: "features.web_search_cached", loss: "without it Codex could search more of the web", removable: []string{"false"}},
	{key: "features.hosted_search_policy", loss: "without it Codex could search more of the web", removable: []string{"false"}},
	{key: "features.network_proxy", loss: lostProtection, removable: []string{"false"}},
	{key: "features.credential_masking", loss: lostProtection, removable: []string{"false"}},
	{key: "features.guardian_approval", loss: lostProtection, removable: []string{"false"}},
	{key: "features.write_stdin_approval", loss: lostProtection, removable: []string{"false"}},
	{key: "features.tool_call_mcp_elicitation", loss: lostProtection, removable: []string{"false"}},
	{key: "features.prefer_mxc", loss: "without it Codex could use another sandbox"},
	{key: "features.windows_sandbox_service", loss: "without it Codex could use another sandbox"},

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

// otherFeatures is the key of the features without a row of their own.
const otherFeatures = "features.*"

// knownFeatures are the features of Codex that the bridge knows.
var knownFeatures = sync.OnceValue(func() map[string]bool {
	known := make(map[string]bool)
	features, _ := methods.Features() // a test reads the table
	for _, f := range features {
		known[f.Name] = true
	}
	return known
})

// overridesByKey has the rows of overrides by their keys, and wildOverrides those with a *.
var overridesByKey, wildOverrides = func() (rows map[string]*override, wild []*override) {
	rows = make(map[string]*override, len(overrides))
	for i := range overrides {
		row := &overrides[i]
		if rows[row.key] = row; strings.Contains(row.key, "*") {
			wild = append(wild, row)
		}
	}
	return rows, wild
}()

// findOverride returns the row of the key at path; nil if there is none.
func findOverride(path []string) *override {
	if row := overridesByKey[strings.Join(path, ".")]; row != nil {
		return row
	}
	for _, row := range wildOverrides {
		if segments := strings.Split(row.key, "."); len(segments) == len(path) && keyGlob(segments).covers(path) {
			return row
		}
	}
	return nil
}
