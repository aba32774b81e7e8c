package setting

import (
	"fmt"
	"maps"
	"slices"

	"codex-bridge.example/bridge/toml"
)

// Requirement is a key of requirements.toml that Codex 0.169 reads.
type Requirement struct {
	Key    string
	Member string // of the response to configRequirements/read; "" if it has none
	// Held reports that the bridge holds it, too: it sends Codex no value that the requirement excludes,
	// or refuses threads where the two contradict each other. Codex alone holds the others; the bridge
	// enforces nothing that they are about.
	Held bool
}

// RequirementKeys are the keys of requirements.toml that Codex 0.169 reads, in the order of their names.
var RequirementKeys = [...]Requirement{
	{"additional_developer_instructions", "additionalDeveloperInstructions", false},
	{"allow_appshots", "allowAppshots", false},
	{"allow_browser_and_computer_use", "allowBrowserAndComputerUse", false},
	{"allow_login_shell", "allowLoginShell", false},
	{"allow_managed_hooks_only", "allowManagedHooksOnly", true},
	{"allow_remote_control", "allowRemoteControl", false},
	{"allowed_approval_policies", "allowedApprovalPolicies", true},
	{"allowed_approvals_reviewers", "allowedApprovalsReviewers", true},
	{"allowed_chatgpt_workspaces", "", false},
	{"allowed_login_methods", "allowedLoginMethods", false},
	{"allowed_permission_profiles", "allowedPermissionProfiles", true},
	{"allowed_sandbox_modes", "allowedSandboxModes", true},
	{"allowed_web_search_modes", "allowedWebSearchModes", true},
	{"application", "application", false},
	{"apps", "", false},
	{"auto_review", "autoReview", false},
	{"browser_use", "browserUse", false},
	{"chatgpt_base_url", "chatgptBaseUrl", false},
	{"check_for_update_on_startup", "checkForUpdateOnStartup", false},
	{"cli_auth_credentials_store", "cliAuthCredentialsStore", false},
	{"computer_use", "computerUse", false},
	{"config_server", "", false},
	{"default_permissions", "defaultPermissions", true},
	{"enforce_residency", "enforceResidency", false},
	{"experimental_network", "network", true},
	{"features", "featureRequirements", true},
	{"feedback", "feedback", false},
	{"guardian_extra_policy", "", false},
	{"guardian_policy_config", "", false},
	{"hooks", "hooks", false},
	{"in_app_browser", "inAppBrowser", false},
	{"log_dir", "logDir", false},
	{"marketplaces", "", false},
	{"mcp_servers", "", false},
	{"model_catalog_json", "modelCatalogJson", false},
	{"model_provider", "modelProvider", false},
	{"model_providers", "modelProviders", false},
	{"models", "models", false},
	{"otel", "otel", false},
	{"permissions", "", false},
	{"plugins", "", false},
	{"remote_sandbox_config", "", true}, // in allowedSandboxModes
	{"rules", "", true},
	{"sqlite_home", "sqliteHome", true},
	{"unsafe_enforce_sqlite_journal_mode", "", false},
	{"windows", "allowedWindowsSandboxImplementations", false},
}

// FindRequirement returns the key with a name: that in the file, an older one, or that of the response to
// configRequirements/read.
func FindRequirement(name string) (Requirement, bool) {
	if name == "feature_requirements" {
		name = "features"
	}
	i := slices.IndexFunc(RequirementKeys[:], func(r Requirement) bool { return name == r.Key || name == r.Member })
	if i < 0 || name == "" {
		return Requirement{}, false
	}
	return RequirementKeys[i], true
}

// RequirementNames returns the names of the keys in the text of requirements.toml, in order.
func RequirementNames(text []byte) ([]string, error) {
	all, err := toml.Values(string(text))
	if err != nil {
		return nil, unreadable(err)
	}
	return slices.Sorted(maps.Keys(all)), nil
}

func unreadable(err error) error {
	return fmt.Errorf("the requirements of this machine can't be read: %w", err)
}
