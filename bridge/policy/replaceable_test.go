package policy_test

import (
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"slices"
	"strings"
	"testing"
)

// TestTurnInInnerFolder checks that no turn makes both the workspace and an inner folder writable,
// for any sandbox: a command could replace the inner folder by a link.
func TestTurnInInnerFolder(t *testing.T) {
	p := compile(t, contract())
	for sandbox, binds := range map[string]bool{
		``: true, `"sandboxPolicy":null,`: true, `"sandboxPolicy":{"type":"readOnly"},`: true, `"sandboxPolicy":{"type":"unknown"},`: true, `"permissions":":workspace",`: true,
		`"sandboxPolicy":{"type":"workspaceWrite"},`:   false,
		`"sandboxPolicy":{"type":"dangerFullAccess"},`: false,
		`"sandboxPolicy":{"type":"externalSandbox"},`:  false,
		`"permissions":":danger-full-access",`:         false,
	} {
		st := state()
		st.Thread.Sandbox = "workspace-write"
		d := p.Decide(message(t, `{"id":1,"method":"turn/start","params":{"threadId":"T",`+sandbox+`"cwd":"/code/proj/sub","input":[]}}`), st)
		sent := string(d.Message)
		if kept := strings.Contains(sent, `"cwd":"/code/proj/sub"`); kept != binds || kept != strings.Contains(sent, `"runtimeWorkspaceRoots":["/code/proj"]`) {
			t.Errorf("%s: Codex gets %s", sandbox, sent)
		}
		for _, stays := range []string{"cwd", "roots"} {
			if stays == "cwd" {
				st.Thread.Cwd, st.Thread.Roots = "/code/proj/sub", nil
			} else {
				st.Thread.Cwd, st.Thread.Roots = "", []string{"/code/proj/sub"}
			}
			d := p.Decide(message(t, `{"id":1,"method":"turn/start","params":{"threadId":"T",`+sandbox+`"input":[]}}`), st)
			if !binds && (strings.Contains(string(d.Message), "workspaceWrite") || strings.Contains(string(d.Message), "full-access")) {
				t.Errorf("%s in a thread with an inner %s: Codex gets %s", sandbox, stays, d.Message)
			}
		}
	}
}

// TestFoldersThatMessageMakesWritable checks that a decision has the folders that a message makes
// writable, and the workspace if the message raises the sandbox.
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

// TestReadingMakesNothingWritable checks that a method that only reads makes no folder writable.
func TestReadingMakesNothingWritable(t *testing.T) {
	cfg := contract()
	cfg.WritableRoots = []string{"${workspace}", "/srv/lib"}
	p := compile(t, cfg)
	n := 0
	for row := range methods.Rows() {
		judged, _, ok := policy.Judged(row.Method)
		if row.Side != methods.ClientRequest || !ok {
			continue
		}
		for _, field := range judged {
			if !slices.Contains([]string{"roots", "cwds", "extraRoots", "cwd", "path", "marketplacePath"}, field) || row.Verdict == methods.Gate || strings.HasPrefix(row.Method, "thread/") {
				continue
			}
			value := `["/srv/lib/sub","/code/proj/sub"]`
			if field == "cwd" || field == "path" || field == "marketplacePath" {
				value = `"/srv/lib/sub"`
			}
			st := state()
			st.Workspaces = []string{"/code/proj"}
			d := p.Decide(message(t, `{"id":1,"method":"`+row.Method+`","params":{"`+field+`":`+value+`}}`), st)
			if d.Err == nil && !strings.Contains(string(d.Message), "/srv/lib/sub") || len(d.Writable) > 0 {
				t.Errorf("%s makes %q writable; Codex gets %s", row.Method, d.Writable, d.Message)
			}
			n++
		}
	}
	if n < 15 {
		t.Errorf("%d fields are tried", n)
	}
}

// TestDefaultRoots checks that the writable roots of Codex's configuration are canonical, without
// those that can't be resolved.
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
