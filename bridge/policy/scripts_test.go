package policy_test

import (
	"strings"
	"testing"

	"codex-bridge.example/bridge/policy"
)

// Commands can write a script where the sandbox of the thread lets them, and its profile does not keep it.
func TestScriptThatCommandsCanWrite(t *testing.T) {
	profile := policy.Profile{Defined: true, Folders: []string{"/code/proj", "/srv/out"}, Roots: []string{"/srv/root"}, Entries: map[string]any{
		"/code/proj/tools": "read", "/code/proj/tools/gen": "write", "/code/proj/keys": "deny", "/srv/lib": map[string]string{".": "read", "gen": "write"},
		"/code/proj/both": "read", ":workspace_roots": map[string]string{".vscode": "read", ".vscode/cache": "write", "both": "write"},
	}}
	writable := policy.Thread{Workspace: "/code/proj", Sandbox: "workspace-write", Writable: []string{"/srv/out", "/srv/lib"}, Profile: profile}
	for _, test := range []struct {
		path   string
		change func(*policy.Thread)
		want   bool
	}{
		{"/code/proj/run.sh", nil, true},
		{"/code/project/run.sh", nil, false},
		{"/srv/root/run.sh", nil, true},
		{"/srv/other/run.sh", nil, false},
		{"/srv/other/run.sh", func(t *policy.Thread) { t.Roots = []string{"/srv/other"} }, true},
		{"/code/proj/tools/run.sh", nil, false},
		{"/code/proj/tools/gen/run.sh", nil, true},
		{"/code/proj/keys/run.sh", nil, false},
		{"/code/proj/.vscode/run.sh", nil, false},
		{"/code/proj/.vscode/cache/run.sh", nil, true},
		{"/srv/out/.vscode/run.sh", nil, false},
		{"/code/proj/both/run.sh", nil, true},
		{"/srv/lib/run.sh", nil, false},
		{"/srv/lib/gen/run.sh", nil, true},
		{"/code/proj/tools/run.sh", func(t *policy.Thread) { t.LacksProfile = true }, true},
		{"/code/proj/run.sh", func(t *policy.Thread) { t.Sandbox = "" }, true},
		{"/code/proj/run.sh", func(t *policy.Thread) { t.Sandbox = "danger-full-access" }, false},
		{"/code/proj/run.sh", func(t *policy.Thread) { t.Sandbox, t.Writable = "read-only", nil }, false},
		{"/code/proj/run.sh", func(t *policy.Thread) { t.Sandbox, t.Writable = "read-only", []string{"/code/proj"} }, true},
	} {
		thread := writable
		if test.change != nil {
			test.change(&thread)
		}
		if got := thread.CanWrite(state(), test.path); got != test.want {
			t.Errorf("%s in %s, without the profile %t: %t, want %t", test.path, thread.Sandbox, thread.LacksProfile, got, test.want)
		}
	}
}

// A script in the thread's folder that a command of the configuration names is read-only, if it is there.
func TestScriptsAreReadOnly(t *testing.T) {
	for _, exists := range []bool{false, true} {
		st := state()
		st.Scripts = []string{"tools/check.sh"}
		st.IsFile = func(path string) bool { return exists && path == "/code/proj/tools/check.sh" }
		d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj","sandbox":"workspace-write"}}`), withoutThread(st))
		if d.Err != nil || strings.Contains(string(d.Message), `"/code/proj/tools/check.sh":"read"`) != exists {
			t.Errorf("exists %t: %s, error %v", exists, d.Message, d.Err)
		}
	}
}
