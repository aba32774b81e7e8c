package policy_test

import (
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
)

// TestTurnInInnerFolder checks that no turn makes an inner folder writable, beside the workspace or alone: a
// command could replace it by a link. Codex alone would let the turn write nothing else, so the bridge lets it
// write nothing, unless the workspace is one of its roots.
func TestTurnInInnerFolder(t *testing.T) {
	p := compile(t, contract())
	for _, sandbox := range []string{
		``, `"sandboxPolicy":null,`, `"sandboxPolicy":{"type":"readOnly"},`, `"sandboxPolicy":{"type":"unknown"},`, `"permissions":":workspace",`,
		`"sandboxPolicy":{"type":"workspaceWrite"},`, `"sandboxPolicy":{"type":"dangerFullAccess"},`, `"sandboxPolicy":{"type":"externalSandbox"},`, `"permissions":":danger-full-access",`,
	} {
		for name, test := range map[string]struct {
			thread  func(*policy.Thread)
			folders string
			writes  bool // a turn without a sandbox of its own
		}{
			"a cwd":                           {func(*policy.Thread) {}, `"cwd":"/code/proj/sub",`, false},
			"with a profile":                  {func(t *policy.Thread) { t.Profile.Defined = true }, `"cwd":"/code/proj/sub",`, false},
			"without the profile":             {func(t *policy.Thread) { t.Profile.Defined, t.LacksProfile = true, true }, `"cwd":"/code/proj/sub",`, false},
			"in an unknown sandbox":           {func(t *policy.Thread) { t.Sandbox = "" }, `"cwd":"/code/proj/sub",`, false},
			"the cwd of a turn before":        {func(t *policy.Thread) { t.Cwd, t.Sandbox = "/code/proj/sub", "read-only" }, ``, false},
			"also of one with full access":    {func(t *policy.Thread) { t.Cwd, t.Sandbox = "/code/proj/sub", "danger-full-access" }, ``, false},
			"the same with a profile":         {func(t *policy.Thread) { t.Cwd, t.Sandbox, t.Profile.Defined = "/code/proj/sub", "read-only", true }, ``, false},
			"in the workspace":                {func(*policy.Thread) {}, `"cwd":"/code/proj/sub","runtimeWorkspaceRoots":["/code/proj"],`, true},
			"the workspace again":             {func(t *policy.Thread) { t.Cwd, t.Sandbox = "/code/proj/sub", "read-only" }, `"cwd":"/code/proj",`, true},
			"in the workspace with a profile": {func(t *policy.Thread) { t.Profile.Defined = true }, `"cwd":"/code/proj/sub","runtimeWorkspaceRoots":["/code/proj"],`, true},
		} {
			st := state()
			st.Thread.Sandbox = "workspace-write"
			test.thread(st.Thread)
			d := p.Decide(message(t, `{"id":1,"method":"turn/start","params":{"threadId":"T",`+sandbox+test.folders+`"input":[]}}`), st)
			sent := string(d.Message)
			asked := strings.Contains(sent, "workspaceWrite") || strings.Contains(sent, `"permissions":":workspace"`) || strings.Contains(sent, "full-access") || strings.Contains(sent, `"codex-bridge"`)
			kept := (sandbox == "" || strings.Contains(sandbox, "null")) && !strings.Contains(sent, "readOnly") && test.folders != "" && st.Thread.Sandbox != "read-only"
			if !test.writes && (asked || kept) {
				t.Errorf("%s, %s: Codex gets %s", name, sandbox, sent)
			}
			if test.writes && sandbox == "" && sent != string(message(t, `{"id":1,"method":"turn/start","params":{"threadId":"T",`+test.folders+`"input":[]}}`).Bytes()) {
				t.Errorf("%s: Codex gets %s", name, sent)
			}
		}
	}
}

// TestNarrowedTurnTellsUser checks that a user learns why a turn with a narrower cwd writes nothing.
func TestNarrowedTurnTellsUser(t *testing.T) {
	st := state()
	st.Thread.Sandbox = "workspace-write"
	for _, sandbox := range []string{``, `"sandboxPolicy":{"type":"workspaceWrite"},`, `"permissions":":workspace",`} {
		d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"turn/start","params":{"threadId":"T",`+sandbox+`"cwd":"/code/proj/sub","input":[]}}`), st)
		var notices []string
		for _, change := range d.Changes {
			if _, sentence := change.Notice(); strings.Contains(sentence, "only /code/proj/sub would be writable") {
				notices = append(notices, sentence)
			}
		}
		if len(notices) == 0 {
			t.Errorf("%s: %+v", sandbox, d.Changes)
		}
	}
}

// TestRefusedFolders checks that the bridge refuses folders that it can't keep, in place of working in the
// workspace: Codex alone would not let commands write that.
func TestRefusedFolders(t *testing.T) {
	p := compile(t, contract())
	for _, test := range []struct{ method, params string }{
		{"turn/start", `"runtimeWorkspaceRoots":["/code/proj/sub"]`},
		{"turn/start", `"runtimeWorkspaceRoots":["/etc"]`},
		{"turn/start", `"runtimeWorkspaceRoots":["/code/proj",7]`},
		{"turn/start", `"runtimeWorkspaceRoots":"/code/proj"`},
		{"turn/start", `"cwd":"/etc"`},
		{"turn/start", `"cwd":["/code/proj"]`},
		{"turn/start", `"environments":[{"environmentId":"nosuch","cwd":"/code/proj"}]`},
		{"turn/start", `"environments":[{"environmentId":"local","cwd":"/code/proj"},{"environmentId":"nosuch","cwd":"/code/proj"}]`},
		{"turn/start", `"environments":[{"environmentId":"local","cwd":"/code/proj/sub"}]`},
		{"turn/start", `"environments":[{"environmentId":"local","cwd":"/code/proj","runtimeWorkspaceRoots":["/code/proj/sub"]}]`},
		{"turn/start", `"environments":[{"environmentId":"local","cwd":"/code/proj","runtimeWorkspaceRoots":"/code/proj"}]`},
		{"turn/start", `"environments":{}`},
		{"turn/settings/update", `"environments":[{"environmentId":"nosuch","cwd":"/code/proj"}]`},
		{"thread/settings/update", `"environments":[{"environmentId":"local","cwd":"/code/proj/sub"}]`},
		{"thread/settings/update", `"cwd":"/code/proj/sub"`},
		{"thread/start", `"cwd":"/code/proj","environments":[{"environmentId":"nosuch","cwd":"/code/proj/sub"}]`},
		{"thread/start", `"cwd":"/code/proj","runtimeWorkspaceRoots":["/etc"]`},
		{"thread/start", `"cwd":7`},
		{"thread/fork", `"runtimeWorkspaceRoots":["/code/proj/sub"]`},
		{"thread/resume", `"cwd":"/code/proj","runtimeWorkspaceRoots":["/code/proj/sub"]`},
	} {
		d := p.Decide(message(t, `{"id":1,"method":"`+test.method+`","params":{"threadId":"T","input":[],`+test.params+`}}`), state())
		if d.Err == nil {
			t.Errorf("%s %s: Codex gets %s", test.method, test.params, d.Message)
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

// TestSandboxOfTurnInInnerFolder checks a turn that works in an inner folder with the workspace as its root, and asks
// for a sandbox that writes. A sandboxPolicy would make the inner folder writable by itself, the bridge's profile does
// not.
func TestSandboxOfTurnInInnerFolder(t *testing.T) {
	for _, sandbox := range []string{"workspaceWrite", "dangerFullAccess"} {
		for _, defined := range []bool{false, true} {
			st := state()
			st.Thread.Sandbox, st.Thread.Profile.Defined = "workspace-write", defined
			d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"turn/start","params":{"threadId":"T","input":[],"cwd":"/code/proj/sub","runtimeWorkspaceRoots":["/code/proj"],"sandboxPolicy":{"type":"`+sandbox+`"}}}`), st)
			want := `"sandboxPolicy":{"type":"readOnly"`
			if defined {
				want = `"permissions":"codex-bridge"`
			}
			if d.Err != nil || !strings.Contains(string(d.Message), want) {
				t.Errorf("%s, profile %t: %s, error %v", sandbox, defined, d.Message, d.Err)
			}
		}
	}
}

// TestForkOfMovedThread checks that a fork without a cwd is refused if a turn has moved the thread: Codex alone would
// let it write only the folder of that turn.
func TestForkOfMovedThread(t *testing.T) {
	for cwd, refused := range map[string]bool{"": false, "/code/proj": false, "/code/proj/sub": true, "/srv/out": true} {
		for _, params := range []string{``, `,"cwd":"/code/proj"`, `,"cwd":"/code/proj/sub"`} {
			st := state()
			st.Thread.Cwd = cwd
			st.StoredSandbox = &policy.SandboxSettings{Mode: "read-only"}
			d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"thread/fork","params":{"threadId":"T"`+params+`}}`), st)
			if want := refused && params == ""; (d.Err != nil) != want || want && !strings.Contains(d.Err.Message, "opened in /code/proj, but its last turn worked in "+cwd+",") {
				t.Errorf("moved to %q, with %q: %s, error %v", cwd, params, d.Message, d.Err)
			}
		}
	}
}
