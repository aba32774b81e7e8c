package policy_test

import (
	"testing"

	"codex-bridge/bridge/policy"
)

// Lower returns the lower mode, and allows the network and the temporary folders only if both sandboxes do.
func TestStored(t *testing.T) {
	full := policy.Stored{Sandbox: "danger-full-access", Network: true}
	for _, test := range []struct{ a, b, want policy.Stored }{
		{full, full, full},
		{full, policy.Stored{Sandbox: "read-only"}, policy.Stored{Sandbox: "read-only"}},
		{policy.Stored{Sandbox: "read-only", Network: true}, full, policy.Stored{Sandbox: "read-only", Network: true}},
		{policy.Stored{Sandbox: "workspace-write", NoTmpdir: true}, policy.Stored{Sandbox: "workspace-write", NoSlashTmp: true}, policy.Stored{Sandbox: "workspace-write", NoTmpdir: true, NoSlashTmp: true}},
		{policy.Stored{Sandbox: "workspace-write"}, policy.Stored{Sandbox: "unknown", Network: true}, policy.Stored{Sandbox: "read-only"}},
	} {
		if got := test.a.Lower(test.b); got != test.want {
			t.Errorf("%+v and %+v: %+v, want %+v", test.a, test.b, got, test.want)
		}
	}
	got := policy.StoredOf(value(t, `{"type":"workspaceWrite","networkAccess":true,"excludeTmpdirEnvVar":true,"excludeSlashTmp":true}`))
	if want := (policy.Stored{Sandbox: "workspace-write", Network: true, NoTmpdir: true, NoSlashTmp: true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := policy.StoredOf(value(t, `{"type":"workspaceWrite"}`)); got != (policy.Stored{Sandbox: "workspace-write"}) {
		t.Errorf("got %+v", got)
	}
}
