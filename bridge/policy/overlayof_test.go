package policy_test

import "testing"

// A policy allows the overlay of a thread that was opened under a policy with the same or stricter
// project_trust, and the same or fewer config_keys.
func TestAllowsOverlayOf(t *testing.T) {
	for _, test := range []struct {
		name, was, is string
		want          bool
	}{
		{"equal", `project_trust = "user"`, `project_trust = "user"`, true},
		{"trust looser", `project_trust = "never"`, `project_trust = "user"`, true},
		{"trust stricter", `project_trust = "codex"`, `project_trust = "user"`, false},
		{"keys added", `config_keys = ["a"]`, `config_keys = ["b", "a"]`, true},
		{"key removed", `config_keys = ["a", "b"]`, `config_keys = ["b"]`, false},
		{"feature enabled", `config_keys = []`, `config_keys = ["features.skill_mcp_dependency_install"]`, true},
		{"feature disabled", `config_keys = ["features.skill_mcp_dependency_install"]`, `config_keys = ["features.*"]`, false},
		{"no policy", `mode = "off"`, `sandbox = "read-only"`, false},
		{"audit", `mode = "off"`, `mode = "audit"`, true},
		{"sandbox", `sandbox = "workspace-write"`, `sandbox = "read-only"`, true},
	} {
		was, is := argsPolicy(t, test.was), argsPolicy(t, test.is)
		if got := is.AllowsOverlayOf(was); got != test.want {
			t.Errorf("%s: allowed: %v", test.name, got)
		}
	}
}
