package policy_test

import (
	"encoding/json"
	"maps"
	"testing"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// TestIsLooser checks that an agent is looser than its caller if one of its settings allows more.
func TestIsLooser(t *testing.T) {
	type object = map[string]any
	base := object{
		"sandboxPolicy":           object{"type": "workspaceWrite", "writableRoots": []string{"/lib"}, "networkAccess": false, "excludeTmpdirEnvVar": false, "excludeSlashTmp": false},
		"activePermissionProfile": nil, "approvalPolicy": "on-request", "approvalsReviewer": "user", "cwd": "/code", "model": "m",
	}
	readOnly := object{"type": "readOnly", "networkAccess": false}
	for _, test := range []struct {
		name          string
		agent, caller object // members that differ from base
		want          bool
	}{
		{"the same", nil, nil, false},
		{"model", object{"model": "n"}, nil, false},
		{"cwd", object{"cwd": "/lib"}, nil, true},
		{"no cwd", nil, object{"cwd": nil}, true},
		{"read-only elsewhere", object{"cwd": "/lib", "sandboxPolicy": readOnly}, nil, false},
		{"read-only with network", object{"sandboxPolicy": object{"type": "readOnly", "networkAccess": true}}, nil, true},
		{"read-only by Codex's own profile", object{"cwd": "/lib", "sandboxPolicy": readOnly, "activePermissionProfile": object{"id": ":read-only"}}, nil, false},
		{"read-only by another profile", object{"sandboxPolicy": readOnly, "activePermissionProfile": object{"id": "p"}}, nil, true},
		{"caller read-only", nil, object{"sandboxPolicy": readOnly}, true},
		{"roots", object{"sandboxPolicy": object{"type": "workspaceWrite", "writableRoots": []string{"/lib", "/more"}}}, nil, true},
		{"profile", object{"activePermissionProfile": object{"id": "p"}}, nil, true},
		{"asks less", object{"approvalPolicy": "never"}, nil, true},
		{"asks more", object{"approvalPolicy": "untrusted"}, nil, false},
		{"read-only asks less", object{"approvalPolicy": "never", "sandboxPolicy": readOnly}, nil, true},
		{"reviewer", object{"approvalsReviewer": "auto_review"}, nil, true},
		{"read-only with a reviewer", object{"approvalsReviewer": "auto_review", "sandboxPolicy": readOnly}, nil, true},
		{"no reviewer", object{"approvalsReviewer": nil}, nil, true},
		{"user reviews", nil, object{"approvalsReviewer": "auto_review"}, false},
		{"one reviewer, two names", object{"approvalsReviewer": "guardian_subagent"}, object{"approvalsReviewer": "auto_review"}, false},
	} {
		with := func(own object) rpc.Value {
			all := maps.Clone(base)
			maps.Copy(all, own)
			text, err := json.Marshal(all)
			if err != nil {
				t.Fatal(err)
			}
			return value(t, string(text))
		}
		if got := policy.IsLooser(policy.ParseThreadSettings(with(test.caller)), policy.ParseThreadSettings(with(test.agent))); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

// TestIsLooserWithoutGate checks that a thread is looser if the bridge asks about the other one's
// commands, but not about its own.
func TestIsLooserWithoutGate(t *testing.T) {
	for _, than := range []bool{false, true} {
		for _, one := range []bool{false, true} {
			a := policy.Thread{Approval: json.RawMessage(`"on-request"`), Reviewer: "user", Gated: than}
			b := a
			b.Gated = one
			if got := policy.IsLooser(&a, &b); got != (than && !one) {
				t.Errorf("%v, %v: %v", than, one, got)
			}
		}
	}
	if !policy.IsLooser(&policy.Thread{}, &policy.Thread{Approval: json.RawMessage(`"never"`)}) || !policy.IsLooser(&policy.Thread{Approval: json.RawMessage(`"never"`)}, &policy.Thread{}) {
		t.Error("approvals that are not known are not looser")
	}
}

func TestSameSettings(t *testing.T) {
	one := policy.Thread{SandboxSummary: "read-only", Cwd: "/code", Approval: json.RawMessage(`"never"`), Reviewer: "auto_review", Workspace: "/code"}
	for name, other := range map[string]policy.Thread{
		"reach":    {Cwd: one.Cwd, Approval: one.Approval, Reviewer: one.Reviewer},
		"cwd":      {SandboxSummary: one.SandboxSummary, Approval: one.Approval, Reviewer: one.Reviewer},
		"approval": {SandboxSummary: one.SandboxSummary, Cwd: one.Cwd, Reviewer: one.Reviewer},
		"reviewer": {SandboxSummary: one.SandboxSummary, Cwd: one.Cwd, Approval: one.Approval},
	} {
		if policy.SameSettings(&one, &other) {
			t.Errorf("another %s is the same", name)
		}
	}
	if other := (policy.Thread{SandboxSummary: one.SandboxSummary, Cwd: one.Cwd, Approval: one.Approval, Reviewer: "guardian_subagent"}); !policy.SameSettings(&one, &other) {
		t.Error("a reviewer by its other name is another one")
	}
}

// TestUpdateKeepsCwd checks that settings without a cwd keep the thread's.
func TestUpdateKeepsCwd(t *testing.T) {
	one := policy.Thread{Cwd: "/code"}
	for _, test := range []struct{ settings, want string }{{`{}`, "/code"}, {`{"cwd":"/lib"}`, "/lib"}, {`{"cwd":null}`, "/lib"}} {
		if one.Update(value(t, test.settings)); one.Cwd != test.want {
			t.Errorf("%s: %q, want %q", test.settings, one.Cwd, test.want)
		}
	}
}

// TestIntersect checks that the lower mode counts, and that network and temporary folders need both
// sandboxes.
func TestIntersect(t *testing.T) {
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
