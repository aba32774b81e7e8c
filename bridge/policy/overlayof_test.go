package policy_test

import (
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
)

// A policy allows the overlay of a thread that was opened under a policy with the same or a stricter
// project_trust, and the same or fewer config_keys, models and efforts.
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
		{"key added by a glob", `config_keys = ["model"]`, `config_keys = ["model*"]`, true},
		{"glob made narrower", `config_keys = ["model*"]`, `config_keys = ["model"]`, false},
		{"model removed", `models = ["a", "b"]`, `models = ["b"]`, false},
		{"model added", `models = ["a"]`, `models = ["a*", "b"]`, true},
		{"models limited", ``, `models = ["a"]`, false},
		{"models not limited any more", `models = ["a"]`, ``, true},
		{"effort removed", `efforts = ["low", "high"]`, `efforts = ["low"]`, false},
		{"effort added", `efforts = ["low"]`, `efforts = ["high", "low"]`, true},
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

// TestOverlayOfNarrowestValuesIsAllowedLater checks that a later policy accepts a thread that Codex
// loaded with such an overlay: the values pass under every policy.
func TestOverlayOfNarrowestValuesIsAllowedLater(t *testing.T) {
	cfg := contract()
	cfg.ConfigKeys = nil
	was, now := compile(t, cfg), compile(t, cfg)
	if !now.AllowsOverlayOf(was) {
		t.Error("the same policy does not allow the overlay")
	}
	cfg.Mode = config.Audit
	d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"config":{"features.goals":false}}}`), state())
	if d.Verdict != policy.Pass {
		t.Errorf("%+v", d)
	}
}
