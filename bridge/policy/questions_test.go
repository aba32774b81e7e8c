package policy_test

import (
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/bridge/rules"
)

// TestProjectsFile checks that a hint names the user's own file, and of several the one that wins.
func TestProjectsFile(t *testing.T) {
	d, err := policy.ParseDefaults(value(t, `{"config":{},"layers":[
		{"name":{"type":"sessionFlags","file":"/flags"},"config":{}},
		{"name":{"type":"system","file":"/etc/codex/config.toml"},"config":{}},
		{"name":{"type":"user","file":"/home/ada/.codex/config.toml"},"config":{}},
		{"name":{"type":"user","file":"/home/ada/.codex/other.toml"},"config":{}}]}`))
	if err != nil || d.Projects.File != "/home/ada/.codex/config.toml" {
		t.Errorf("%q (%v)", d.Projects.File, err)
	}
	d, err = policy.ParseDefaults(value(t, `{"config":{},"layers":[{"name":{"type":"system","file":"/etc/codex/config.toml"},"config":{}}]}`))
	if err != nil || d.Projects.File != "" {
		t.Errorf("without a file of the user's: %q (%v)", d.Projects.File, err)
	}
}

// TestEmptyProtectedPath checks that a protected path without a name protects nothing.
func TestEmptyProtectedPath(t *testing.T) {
	cfg := contract()
	cfg.ProtectedPaths = []string{"", "/", ".git", "a/b"}
	p := compile(t, cfg)
	for path, remains := range map[string]bool{"/code/proj/a": true, "/code/proj/.git/config": false, "/code/proj/x/a/b": false, "/code/proj/a/c": true} {
		st := state()
		st.Thread.Sandbox, st.Files = "workspace-write", []string{path}
		if got := serverrequest.RunsInSandbox(p, fileQuestion, value(t, `{"threadId":"T","itemId":"i"}`), st); got != remains {
			t.Errorf("%s: remains %v, want %v", path, got, remains)
		}
	}
}

// TestRootsWithoutHome checks that a root in an unknown home folder allows nothing, and other roots
// count.
func TestRootsWithoutHome(t *testing.T) {
	cfg := contract()
	cfg.WritableRoots = []string{"~/notes", "/srv/data"}
	p := compile(t, cfg)
	for _, test := range []struct {
		home, path string
		remains    bool
	}{
		{"/home/ada", "/home/ada/notes/a", true},
		{"/home/ada", "/srv/data/a", true},
		{"", "/home/ada/notes/a", false},
		{"", "/notes/a", false},
		{"", "/srv/data/a", true},
	} {
		st := state()
		st.Home, st.CodexHome, st.Sensitive = test.home, "", nil
		st.Thread.Sandbox, st.Files = "workspace-write", []string{test.path}
		if got := serverrequest.RunsInSandbox(p, fileQuestion, value(t, `{"threadId":"T","itemId":"i"}`), st); got != test.remains {
			t.Errorf("home %q, %s: remains %v, want %v", test.home, test.path, got, test.remains)
		}
	}
}

// TestProtectedNameAboveRoot checks that a protected name counts only below a writable root.
func TestProtectedNameAboveRoot(t *testing.T) {
	cfg := contract()
	cfg.WritableRoots = []string{"${workspace}", "/srv/.git/data", "/srv"}
	cfg.ProtectedPaths = []string{".git"}
	p := compile(t, cfg)
	for path, remains := range map[string]bool{"/srv/.git/data/a": true, "/srv/.git/data/.git/a": false, "/srv/.git/a": false, "/srv/a": true} {
		st := state()
		st.Thread.Sandbox, st.Files = "workspace-write", []string{path}
		if got := serverrequest.RunsInSandbox(p, fileQuestion, value(t, `{"threadId":"T","itemId":"i"}`), st); got != remains {
			t.Errorf("%s: remains %v, want %v", path, got, remains)
		}
	}
}

// TestRulesOfQuestions checks that rules apply to the command of a question, also of one about a
// host. A question about a host alone has no command, and one without either may be about any.
func TestRulesOfQuestions(t *testing.T) {
	cfg := contract()
	cfg.Network, cfg.Escalation, cfg.WritableRoots = true, "ask", []string{"/code/proj"}
	cfg.Rules = []config.Rule{
		{Command: "curl **", Decision: "deny", Reason: "No downloads."},
		{Tool: "file", Path: "/code/proj/**", Decision: "allow"},
	}
	p := compile(t, cfg)
	const host = `"networkApprovalContext":{"host":"example.org","protocol":"https"}`
	for params, denied := range map[string]bool{
		`{"threadId":"T","command":"curl x"}`:              true,
		`{"threadId":"T","command":"curl x",` + host + `}`: true,
		`{"threadId":"T",` + host + `}`:                    false,
		`{"threadId":"T"}`:                                 true,
		`{"threadId":"T","command":"ls"}`:                  false,
	} {
		st := state()
		st.Escalation = rules.Sandboxed
		d := serverrequest.Decide(p, commandQuestion, value(t, params), st)
		if got := d.Verdict == policy.Deny; got != denied {
			t.Errorf("%s: %+v", params, d)
		}
		if named := denied && strings.Contains(d.Err.Message, "No downloads: curl x"); named != strings.Contains(params, "curl") {
			t.Errorf("%s: the reason is %q", params, d.Err.Message)
		}
	}
	// An allow rule accepts a patch of a thread that may write, and of no other.
	for _, sandbox := range []string{"workspace-write", "danger-full-access", "read-only", ""} {
		st := state()
		st.Thread.Sandbox, st.Files = sandbox, []string{"/code/proj/a"}
		if sandbox == "" {
			st.Thread = nil
		}
		d := serverrequest.Decide(p, fileQuestion, value(t, `{"threadId":"T","itemId":"i"}`), st)
		if got := d.Verdict == policy.Accept; got != (sandbox == "workspace-write" || sandbox == "danger-full-access") {
			t.Errorf("sandbox %q: %+v", sandbox, d)
		}
	}
}

// TestAllowRulesOfPatchesThatLeave checks that a rule accepts a patch outside the writable roots
// only with escalated = true.
func TestAllowRulesOfPatchesThatLeave(t *testing.T) {
	for escalated, want := range map[bool]policy.Verdict{false: policy.Rewrite, true: policy.Accept} {
		cfg := contract()
		cfg.Escalation = "ask"
		cfg.Rules = []config.Rule{{Tool: "file", Path: "/etc/**", Decision: "allow", Escalated: escalated}}
		st := state()
		st.Thread.Sandbox, st.Files = "workspace-write", []string{"/etc/a"}
		if d := serverrequest.Decide(compile(t, cfg), fileQuestion, value(t, `{"threadId":"T","itemId":"i"}`), st); d.Verdict != want {
			t.Errorf("escalated %t: %v", escalated, d.Verdict)
		}
	}
}

// TestAllowRulesOfPatchesThatStay checks that a rule accepts a patch in the writable roots if the
// thread's known sandbox lets the thread write them, or if it has none.
func TestAllowRulesOfPatchesThatStay(t *testing.T) {
	cfg := contract()
	cfg.Escalation = "ask"
	cfg.Rules = []config.Rule{{Tool: "file", Path: "/code/proj/**", Decision: "allow"}}
	p := compile(t, cfg)
	for sandbox, want := range map[string]policy.Verdict{
		"workspace-write": policy.Accept, "danger-full-access": policy.Accept, "read-only": policy.Rewrite, "external-sandbox": policy.Pass, "": policy.Pass,
	} {
		st := state()
		st.Thread.Sandbox, st.Files = sandbox, []string{"/code/proj/a"}
		if d := serverrequest.Decide(p, fileQuestion, value(t, `{"threadId":"T","itemId":"i"}`), st); d.Verdict != want {
			t.Errorf("%q: %v, want %v", sandbox, d.Verdict, want)
		}
	}
}
