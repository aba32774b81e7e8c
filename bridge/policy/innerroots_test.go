package policy_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"codex-bridge.example/bridge/policy"
)

// Of a root inside another writable folder that the bridge removes, the profile protects what Codex would.
func TestRemovedRootsInProfile(t *testing.T) {
	const protected = `"/code/proj/a":"write","/code/proj/a/b":"write","/code/proj/a/b/.agents":"read"`
	for _, test := range []struct{ params, roots, want string }{
		{`"runtimeWorkspaceRoots":["/code/proj","/code/proj/a/b"]`, ``, protected},
		{`"environments":[{"environmentId":"local","cwd":"/code/proj","runtimeWorkspaceRoots":["/code/proj","/code/proj/a/b"]}]`, ``, protected},
		{`"config":{"sandbox_workspace_write":{"writable_roots":["/code/proj/a/b"]}}`, ``, protected},
		{`"config":{"sandbox_workspace_write.writable_roots":["/code/proj/a/b"]}`, ``, protected},
		{``, `"/code/proj/a/b"`, protected},
		{`"config":{"sandbox_workspace_write.writable_roots":[]}`, `"/code/proj/a/b"`, protected}, // a turn's sandboxPolicy has them
		{``, `"/code/proj/a/b","/code/proj/.git","/code/proj/a/.git","/etc/x","/code"`, protected},
		{``, `"/tmp/x/y"`, `"/tmp/x":"write","/tmp/x/y":"write","/tmp/x/y/.agents":"read"`},
		{``, `"/code/proj/.git","/etc/x","/code"`, ``},
	} {
		st := state()
		st.Thread = nil
		st.Defaults = parseDefaults(t, fmt.Appendf(nil, `{"config":{"sandbox_mode":"workspace-write","sandbox_workspace_write":{"writable_roots":[%s]}},"layers":[]}`, test.roots))
		d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj","sandbox":"workspace-write"`+strings.TrimSuffix(","+test.params, ",")+`}}`), st)
		has := `{"codex-bridge":{"extends":":workspace","filesystem":{` + test.want + `}}`
		if d.Err != nil || strings.Contains(string(d.Message), `"permissions":{`) != (test.want != "") || test.want != "" && !strings.Contains(string(d.Message), has) {
			t.Errorf("%s %s: Codex gets %s, error %v", test.params, test.roots, d.Message, d.Err)
		}
	}
}

// An environment whose roots are elsewhere is refused beside a root of Codex's configuration inside the workspace: only
// without it Codex alone makes that writable.
func TestEnvironmentBesideInnerRoot(t *testing.T) {
	for root, refused := range map[string]bool{"/srv/out": true, "/code/proj": false} {
		st := state()
		st.Thread = nil
		st.Defaults = parseDefaults(t, []byte(`{"config":{"sandbox_mode":"workspace-write","sandbox_workspace_write":{"writable_roots":["/code/proj/docs"]}},"layers":[]}`))
		cfg := contract()
		cfg.WritableRoots = append(cfg.WritableRoots, "/srv/out")
		d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj","environments":[{"environmentId":"local","cwd":"/code/proj","runtimeWorkspaceRoots":["`+root+`"]}]}}`), st)
		if r := d.Refusal(); (r != nil) != refused || refused && r.Field != "params.environments" {
			t.Errorf("%s: the error is %v", root, d.Err)
		}
	}
}

// A folder in a temporary folder is writable only with that.
func TestRemovedRootInExcludedTemp(t *testing.T) {
	st := state()
	st.Thread = nil
	st.Defaults = parseDefaults(t, []byte(`{"config":{"sandbox_mode":"workspace-write","sandbox_workspace_write":{"writable_roots":["/tmp/x"],"exclude_slash_tmp":true}},"layers":[]}`))
	d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj","sandbox":"workspace-write"}}`), st)
	for _, want := range []string{`"permissions":"codex-bridge-no-slash-tmp"`, `"codex-bridge-no-slash-tmp":{"extends":"codex-bridge","filesystem":{"/tmp/x":"read",":slash_tmp":"read"}}`} {
		if !strings.Contains(string(d.Message), want) {
			t.Errorf("%s is missing in %s", want, d.Message)
		}
	}
}

// A turn whose roots the bridge would remove is refused, unless the thread's profile protects them.
func TestRemovedRootsOfTurn(t *testing.T) {
	for params, field := range map[string]string{
		`"runtimeWorkspaceRoots":["/code/proj","/code/proj/docs"]`:                                                               "runtimeWorkspaceRoots",
		`"environments":[{"environmentId":"local","cwd":"/code/proj","runtimeWorkspaceRoots":["/code/proj","/code/proj/docs"]}]`: "environments",
		`"sandboxPolicy":{"type":"workspaceWrite","writableRoots":["/code/proj/docs"]}`:                                          "sandboxPolicy.writableRoots",
	} {
		for _, defined := range []bool{false, true} {
			st := state()
			st.Thread.Sandbox = "workspace-write"
			if defined {
				st.Thread.Profile = policy.Profile{Defined: true, Entries: map[string]any{"/code/proj/docs": "write", "/code/proj/docs/.agents": "read"}}
			}
			d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"turn/start","params":{"threadId":"T","input":[],`+params+`}}`), st)
			if (d.Err == nil) != defined || !defined && (refusalOf(d.Err).Field != "params."+field || !strings.Contains(d.Err.Message, "protection of its .git")) {
				t.Errorf("%s, profile %t: %v, Codex gets %s", params, defined, d.Err, d.Message)
			}
		}
	}
}

// A resume has the roots that the bridge has removed before; a fork has its cwd as only root.
func TestRemovedRootsOfResumedThread(t *testing.T) {
	for method, kept := range map[string]bool{"thread/resume": true, "thread/fork": false} {
		st := state()
		st.Thread, st.ThreadFolder, st.NotLoaded, st.InnerRoots, st.Stored = nil, "/code/proj", true, []string{"/code/proj/docs"}, new(policy.StoredProfile)
		st.Defaults = parseDefaults(t, []byte(`{"config":{},"layers":[]}`))
		d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"`+method+`","params":{"threadId":"T","sandbox":"workspace-write"}}`), st)
		if d.Err != nil || strings.Contains(string(d.Message), `"/code/proj/docs":"write","/code/proj/docs/.agents":"read"`) != kept {
			t.Errorf("%s: %v, Codex gets %s", method, d.Err, d.Message)
			continue
		}
		if got, _ := json.Marshal(d.Sent.InnerRoots); kept && string(got) != `["/code/proj/docs"]` {
			t.Errorf("%s records %s", method, got)
		}
	}
}

// Without the list, a resume is refused if the bridge does not know the roots of the thread, or knows one inside a root that
// it does not know.
func TestUnknownRootsOfResumedThread(t *testing.T) {
	outside := contract()
	outside.WritableRoots = []string{"${workspace}", "/srv/out"}
	for what, test := range map[string]struct {
		roots   []string
		problem string
		stored  []string // roots that Codex has recorded
		params  string
		want    string
	}{
		"as recorded":        {roots: []string{"/srv/out/docs"}, stored: []string{"/srv/out"}},
		"changed elsewhere":  {roots: []string{"/code/proj/docs"}, stored: []string{"/srv/out"}},
		"no more roots":      {roots: []string{"/code/proj/docs"}, stored: []string{}},
		"cwd, recorded":      {roots: []string{"/code/proj/docs"}, stored: []string{"/code/proj"}, params: `,"cwd":"/srv/out"`},
		"cwd, other roots":   {roots: []string{"/srv/out/docs"}, stored: []string{"/code/proj", "/srv/out"}, params: `,"cwd":"/code/proj"`},
		"inside the folder":  {roots: []string{"/code/proj/docs"}},
		"in /tmp":            {roots: []string{"/tmp/x"}},
		"outside":            {roots: []string{"/srv/out/docs"}, want: "with the root /srv/out/docs inside another one that is not /code/proj"},
		"another cwd":        {roots: []string{"/code/proj/docs"}, params: `,"cwd":"/srv/out"`, want: "that is not /srv/out"},
		"unreadable":         {problem: "no disk", want: "the bridge's record of the thread's roots can't be read: no disk"},
		"unreadable, listed": {problem: "no disk", params: `,"cwd":"/code/proj","runtimeWorkspaceRoots":["/code/proj"]`},
	} {
		st := state()
		st.Thread, st.ThreadFolder, st.NotLoaded, st.InnerRoots, st.RootsProblem = nil, "/code/proj", true, test.roots, test.problem
		st.Stored = &policy.StoredProfile{Roots: test.stored, Cwd: "/code/proj"}
		st.Defaults = parseDefaults(t, []byte(`{"config":{},"layers":[]}`))
		d := compile(t, outside).Decide(message(t, `{"id":1,"method":"thread/resume","params":{"threadId":"T","sandbox":"workspace-write"`+test.params+`}}`), st)
		if (d.Err == nil) != (test.want == "") || d.Err != nil && !strings.Contains(d.Err.Message, test.want) {
			t.Errorf("%s: %v, Codex gets %s", what, d.Err, d.Message)
		}
		if has := strings.Contains(string(d.Message), `docs":"write"`); has != (what == "as recorded" || what == "cwd, other roots" || what == "inside the folder") {
			t.Errorf("%s: Codex gets %s", what, d.Message)
		}
	}
	st := state()
	st.Thread, st.ThreadFolder, st.NotLoaded, st.InnerRoots, st.Stored = nil, "/code/proj", true, []string{"/code/proj/docs"}, nil
	st.Defaults = parseDefaults(t, []byte(`{"config":{},"layers":[]}`))
	if d := compile(t, outside).Decide(message(t, `{"id":1,"method":"thread/resume","params":{"threadId":"T","sandbox":"workspace-write"}}`), st); d.Want != policy.WantStoredSandbox {
		t.Errorf("the bridge does not read what Codex has recorded: %v", d.Err)
	}
	st.NotLoaded = false
	if d := compile(t, outside).Decide(message(t, `{"id":1,"method":"thread/resume","params":{"threadId":"T","cwd":"/srv/out","sandbox":"workspace-write"}}`), st); d.Want != policy.WantLoadedProfile {
		t.Errorf("the bridge does not ask whether Codex has loaded the thread: %v", d.Err)
	}
}

// A thread keeps the roots around its inner ones, which its profile makes writable by themselves.
func TestOuterRootsStay(t *testing.T) {
	cfg := contract()
	cfg.WritableRoots = []string{"${workspace}", "/srv/out"}
	for params, field := range map[string]string{
		`"runtimeWorkspaceRoots":["/srv/out"]`:                        "runtimeWorkspaceRoots",
		`"cwd":"/srv/out"`:                                            "cwd",
		`"environments":[{"environmentId":"local","cwd":"/srv/out"}]`: "environments",
		`"environments":[{"environmentId":"local","cwd":"/code/proj","runtimeWorkspaceRoots":["/srv/out"]}]`: "environments",
		`"runtimeWorkspaceRoots":["/code/proj","/srv/out"]`:                                                  "",
		`"cwd":"/code/proj"`: "",
		`"cwd":"/srv/out","runtimeWorkspaceRoots":["/code/proj"]`:       "",
		`"environments":[{"environmentId":"local","cwd":"/code/proj"}]`: "",
	} {
		for what, thread := range map[string]policy.Thread{
			"by the profile": {Profile: policy.Profile{Defined: true, Entries: map[string]any{"/code/proj/docs": "write", "/code/proj/docs/.agents": "read"}}},
			"recorded only":  {InnerRoots: []string{"/code/proj/docs"}}, // a resume looks which roots Codex has recorded then
			"none":           {},
		} {
			st := state()
			st.Thread.Profile, st.Thread.InnerRoots = thread.Profile, thread.InnerRoots
			d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"turn/start","params":{"threadId":"T","input":[],`+params+`}}`), st)
			if want := field != "" && what == "by the profile"; (d.Err != nil) != want || want && !strings.Contains(d.Err.Message, "params."+field+": the thread was opened with the root /code/proj/docs") {
				t.Errorf("%s, %s: %v", what, params, d.Err)
			}
		}
	}
}

// A read-only path stays so, and a file has nothing below it.
func TestEntriesOfInnerRoots(t *testing.T) {
	cfg := contract()
	cfg.ProtectedPaths = []string{"lib", ".github/workflows"}
	for root, want := range map[string]map[string]any{
		"/code/proj/docs":      {"/code/proj/docs": "write", "/code/proj/docs/.agents": "read"},
		"/code/proj/file":      {"/code/proj/file": "read"},
		"/code/proj/lib/x":     {},
		"/code/proj/lib":       {},
		"/code/proj/.github":   {"/code/proj/.github": "write", "/code/proj/.github/.agents": "read"},
		"/code/proj/.git":      {},
		"/code/proj/tools/bin": {"/code/proj/tools": "write", "/code/proj/tools/bin": "read"},
		"/code/proj/tools":     {"/code/proj/tools": "write", "/code/proj/tools/.agents": "read", "/code/proj/tools/bin": "read"},
		"/etc/x":               {},
	} {
		st := state()
		st.Thread, st.Programs = nil, []string{"/code/proj/tools/bin"}
		st.IsFile = func(path string) bool { return path == "/code/proj/file" }
		st.Defaults = parseDefaults(t, fmt.Appendf(nil, `{"config":{"sandbox_mode":"workspace-write","sandbox_workspace_write":{"writable_roots":[%q]}},"layers":[]}`, root))
		d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj","sandbox":"workspace-write"}}`), st)
		if d.Err != nil {
			t.Errorf("%s: %v", root, d.Err)
			continue
		}
		got := map[string]any{}
		for at, access := range d.Sent.Profile.Entries {
			if at == root || strings.HasPrefix(at, root+"/") || at == "/code/proj/tools" && strings.HasPrefix(root, at) {
				got[at] = access
			}
		}
		for at := range want {
			if got[at] == nil {
				t.Errorf("%s: %s is missing", root, at)
			}
		}
		for at, access := range got {
			if want[at] != access && !(want[at] == nil && access == "read") {
				t.Errorf("%s: %s has %v, want %v", root, at, access, want[at])
			}
		}
	}
}

// The bridge removes a root of Codex's configuration around one that it removes.
func TestConfiguredRootAroundRemovedOne(t *testing.T) {
	cfg := contract()
	cfg.WritableRoots = []string{"${workspace}", "/srv/out"}
	for params, kept := range map[string]bool{
		``: true,
		`,"runtimeWorkspaceRoots":["/code/proj","/srv/out/docs"]`: false,
	} {
		st := withoutThread(state())
		st.Writable = []string{"/srv/out"} // by another thread, so that a command could replace the inner root
		st.Defaults = &policy.Defaults{Sandbox: "workspace-write", WritableRoots: []string{"/srv/out"}}
		d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj"`+params+`}}`), st)
		removed := strings.Contains(string(d.Message), `"sandbox_workspace_write.writable_roots":[]`)
		if d.Err != nil || removed == kept || strings.Contains(string(d.Message), "/srv/out/docs") {
			t.Errorf("%s: %v, Codex gets %s", params, d.Err, d.Message)
		}
	}
}
