package policy_test

import (
	"testing"

	"codex-bridge.example/bridge/policy"
)

// The user reads the name of a setting only where there is one to change.
func TestSentenceNamesSettings(t *testing.T) {
	for rule, named := range map[string]bool{
		"policy.rule": true, "policy.rule.approvers": true, `policy.methods."turn/start"`: true, "approvals.timeout": true,
		"hooks.on_failure": true, "default_permissions": true, "policy_source": true,
		"protocol": false, "approvals.nobody": false, "approvals.turn": false, "approvals.limit": false, "store.": false, "": false,
	} {
		want := "no; ask again."
		if named {
			want = "no. The setting is " + rule + " in user f:3; ask again."
		}
		if got := (policy.Refusal{Rule: rule, Reason: "no.", Origin: "user f:3", Hint: "ask again."}).Sentence(); got != want {
			t.Errorf("%s: %q", rule, got)
		}
	}
}
