package policy_test

import (
	"testing"

	"codex-bridge/bridge/policy"
)

// Intersect returns the lower mode, and allows the network and the temporary folders only if both sandboxes do.
func TestStored(t *testing.T) {
	full := policy.SandboxSettings{Mode: "danger-full-access", Network: true}
	for _, test := range []struct{ a, b, want policy.SandboxSettings }{
		{full, full, full},
		{full, policy.SandboxSettings{Mode: "read-only"}, policy.SandboxSettings{Mode: "read-only"}},
		{policy.SandboxSettings{Mode: "read-only", Network: true}, full, policy.SandboxSettings{Mode: "read-only", Network: true}},
		{policy.SandboxSettings{Mode: "workspace-write", NoTmpdir: true}, policy.SandboxSettings{Mode: "workspace-write", NoSlashTmp: true}, policy.SandboxSettings{Mode: "workspace-write", NoTmpdir: true, NoSlashTmp: true}},
		{policy.SandboxSettings{Mode: "workspace-write"}, policy.SandboxSettings{Mode: "unknown", Network: true}, policy.SandboxSettings{Mode: "read-only"}},
	} {
		if got := test.a.Intersect(test.b); got != test.want {
			t.Errorf("%+v and %+v: %+v, want %+v", test.a, test.b, got, test.want)
		}
	}
	got := policy.ParseSandbox(value(t, `{"type":"workspaceWrite","networkAccess":true,"excludeTmpdirEnvVar":true,"excludeSlashTmp":true}`))
	if want := (policy.SandboxSettings{Mode: "workspace-write", Network: true, NoTmpdir: true, NoSlashTmp: true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := policy.ParseSandbox(value(t, `{"type":"workspaceWrite"}`)); got != (policy.SandboxSettings{Mode: "workspace-write"}) {
		t.Errorf("got %+v", got)
	}
}
