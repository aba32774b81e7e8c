package policy_test

import (
	"slices"
	"testing"

	"codex-bridge/bridge/policy"
)

// A message tells the folders that it makes writable beside the workspace, and the workspace if it raises the sandbox.
func TestFoldersThatMessageMakesWritable(t *testing.T) {
	cfg := contract()
	cfg.WritableRoots = []string{"${workspace}", "/srv/lib"}
	p := compile(t, cfg)
	for _, test := range []struct {
		method, params string
		want           []string
	}{
		{"turn/start", `"cwd":"/srv/lib"`, []string{"/srv/lib"}},
		{"turn/start", `"cwd":"/code/proj"`, nil},
		{"turn/start", `"cwd":"/code/proj/sub"`, nil}, // with the workspace as its root
		{"turn/start", `"cwd":"/code/proj/loop"`, nil},
		{"turn/start", `"cwd":"/etc"`, nil},
		{"turn/start", `"runtimeWorkspaceRoots":["/code/proj","/srv/lib","/etc"]`, []string{"/srv/lib"}},
		{"turn/start", `"environments":[{"environmentId":"local","cwd":"/srv/lib"}]`, []string{"/srv/lib"}},
		{"turn/start", `"environments":[{"environmentId":"local","cwd":"/code/proj"}]`, nil},
		{"turn/start", `"environments":[{"environmentId":"local","cwd":"/code/proj","runtimeWorkspaceRoots":["/srv/lib"]}]`, []string{"/srv/lib"}},
		{"turn/start", `"sandboxPolicy":{"type":"workspaceWrite","writableRoots":["/srv/lib"]}`, []string{"/srv/lib", "/code/proj", "/srv/own"}},
		{"turn/start", `"sandboxPolicy":{"type":"readOnly"}`, nil},
		{"turn/start", `"permissions":":workspace"`, []string{"/code/proj", "/srv/own"}},
		{"turn/start", `"permissions":":read-only"`, nil},
		{"turn/start", `"permissions":"codex-bridge"`, []string{"/code/proj", "/srv/own"}},
		{"thread/settings/update", `"permissions":"codex-bridge-no-tmpdir"`, []string{"/code/proj", "/srv/own"}},
		{"thread/start", `"cwd":"/code/proj","runtimeWorkspaceRoots":["/code/proj","/srv/lib"]`, []string{"/srv/lib"}},
		{"thread/resume", `"cwd":"/code/proj","runtimeWorkspaceRoots":["/code/proj","/srv/lib"]`, []string{"/srv/lib"}},
	} {
		st := state()
		st.Thread.Sandbox, st.Thread.Profile = "read-only", policy.Profile{Defined: true, Roots: []string{"/srv/own"}}
		d := p.Decide(message(t, `{"id":1,"method":"`+test.method+`","params":{"threadId":"T","input":[],`+test.params+`}}`), st)
		if !slices.Equal(d.Writable, test.want) {
			t.Errorf("%s %s makes %q writable, want %q", test.method, test.params, d.Writable, test.want)
		}
	}
}

// The writable roots of Codex's configuration are canonical. One that can't be judged is none.
func TestDefaultRoots(t *testing.T) {
	st := state()
	st.Defaults = &policy.Defaults{WritableRoots: []string{"/srv/./lib", "/code/proj/loop", "relative", "/srv/out"}}
	if got, want := st.DefaultRoots(), []string{"/srv/lib", "/srv/out"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if st.Defaults = nil; st.DefaultRoots() != nil {
		t.Errorf("without a configuration: %q", st.DefaultRoots())
	}
}
