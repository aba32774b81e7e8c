package policy_test

import (
	"testing"

	"codex-bridge.example/bridge/policy"
)

// TestStoredProfileReadsRoot checks for which access to the root folder commands can read what no entry denies.
func TestStoredProfileReadsRoot(t *testing.T) {
	for access, want := range map[string]bool{"read": true, "write": true, "deny": false, "later": false} {
		s := policy.ParseStoredProfile(value(t, `{"permissionProfile":{"file_system":{"entries":[{"path":{"value":{"kind":"root"}},"access":"`+access+`"}]}}}`))
		if s.ReadsRoot != want || len(s.Denied) > 0 {
			t.Errorf("%s: %+v", access, s)
		}
	}
}
