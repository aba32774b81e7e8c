package policy_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/reported"
)

// ProfileEntries returns the path entries of a new thread's profile; nil if the thread has no
// profile.
func profileEntries(t *testing.T, cfg config.Policy, st policy.State, params string) map[string]any {
	t.Helper()
	d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj","sandbox":"workspace-write"`+params+`}}`), st)
	if d.Err != nil {
		t.Fatal(d.Err)
	}
	var m struct {
		Params struct {
			Config struct {
				Permissions map[string]struct{ Filesystem map[string]any }
			}
		}
	}
	if err := json.Unmarshal(d.Message, &m); err != nil {
		t.Fatal(err)
	}
	return m.Params.Config.Permissions["codex-bridge"].Filesystem
}

// TestTemporaryFoldersInWritableFoldersAreMounts checks that such a folder, and the folders
// between, are mounts. Otherwise a command could replace them by a link.
func TestTemporaryFoldersInWritableFoldersAreMounts(t *testing.T) {
	cfg := contract()
	cfg.WritableRoots = []string{"${workspace}", "/srv/out"}
	const roots = `,"runtimeWorkspaceRoots":["/code/proj","/srv/out"]`
	for name, test := range map[string]struct {
		temp, params string
		programs     []string
		want         map[string]any
	}{
		"in the workspace":            {temp: "/code/proj/a/tmp", want: map[string]any{"/code/proj/a": "write", "/code/proj/a/tmp": "write"}},
		"beside what must not change": {temp: "/code/proj/a/tmp", programs: []string{"/code/proj/a"}, want: map[string]any{"/code/proj/a": "read", "/code/proj/a/tmp": "write"}},
		"in what must not change":     {temp: "/code/proj/a/b/tmp", programs: []string{"/code/proj/a"}, want: map[string]any{"/code/proj/a": "read", "/code/proj/a/b/tmp": "write"}},
		"in a named root":             {temp: "/srv/out/tmp", params: roots, want: map[string]any{"/srv/out/tmp": "write"}},
		"in a root that is not named": {temp: "/srv/out/tmp"},
		"elsewhere":                   {temp: "/var/tmp/t", params: roots},
		"in a root that is refused":   {temp: "/etc/tmp", params: `,"runtimeWorkspaceRoots":["/code/proj","/etc"]`},
		"in a root of an environment": {
			temp: "/srv/out/tmp", params: `,"environments":[{"environmentId":"local","cwd":"/code/proj","runtimeWorkspaceRoots":["/srv/out"]}]`,
			want: map[string]any{"/srv/out/tmp": "write"},
		},
		"in an environment": {
			temp: "/srv/out/tmp", params: `,"environments":[{"environmentId":"local","cwd":"/srv/out"}]`, want: map[string]any{"/srv/out/tmp": "write"},
		},
	} {
		st := state()
		st.Temps, st.Programs = []policy.TempFolder{{Name: "$TMPDIR", Path: test.temp}}, test.programs
		if got := profileEntries(t, cfg, st, test.params); !maps.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestHiddenFolders checks that a hidden folder is in a profile that a thread has for another
// reason. It is in none if a folder above a protected path may be missing, because Codex could not
// create that.
func TestHiddenFolders(t *testing.T) {
	for name, test := range map[string]struct {
		protected []string
		hidden    bool
	}{
		"nothing is protected":          {nil, false},
		"a folder at the top":           {[]string{".vscode"}, true},
		"a folder in another":           {[]string{".github/workflows"}, false},
		"both":                          {[]string{".vscode", ".github/workflows"}, false},
		"what Codex protects by itself": {[]string{".git"}, false},
	} {
		cfg := contract()
		cfg.ProtectedPaths = test.protected
		st := state()
		st.Hidden = []string{"/run/codex-bridge"}
		if got := profileEntries(t, cfg, st, ""); (got["/run/codex-bridge"] == "deny") != test.hidden {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestSecretsAreHidden checks that each thread has a profile that denies reading the bridge's secrets, with
// no entry below a denied folder, which would let no command start.
func TestSecretsAreHidden(t *testing.T) {
	for name, protected := range map[string][]string{"nothing else": nil, "a folder": {".vscode"}, "a path in a missing folder": {".github/workflows"}} {
		cfg := contract()
		cfg.ProtectedPaths = protected
		st := state()
		st.Secrets, st.Hidden = []string{"/srv/conf", "/srv/conf/config.toml"}, []string{"/run/codex-bridge"}
		got := profileEntries(t, cfg, st, "")
		if _, nested := got["/srv/conf/config.toml"]; got["/srv/conf"] != "deny" || got["/run/codex-bridge"] != "deny" || nested {
			t.Errorf("%s: %v", name, got)
		}
	}
	st := state()
	st.Secrets = []string{"/srv/conf"}
	for name, sandbox := range map[string]string{"read-only thread": "read-only", "read-only policy": "workspace-write", "home folder": "workspace-write"} {
		cfg, cwd := contract(), "/code/proj"
		switch name {
		case "read-only policy":
			cfg.Sandbox = "read-only"
		case "home folder":
			cwd = st.Home
		}
		d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"`+cwd+`","sandbox":"`+sandbox+`"}}`), st)
		if d.Err != nil || d.Sent.ProfileName != "codex-bridge-read-only" || !maps.Equal(d.Sent.Profile.ReadOnly, map[string]any{"/srv/conf": "deny"}) ||
			!strings.Contains(string(d.Message), `"permissions":"codex-bridge-read-only"`) || strings.Contains(string(d.Message), `"sandbox":`) {
			t.Errorf("%s: %v, %+v: %s", name, d.Err, d.Sent, d.Message)
		}
	}
}

// TestCommandExecBesideSecrets checks that command/exec is refused if the bridge has secrets, because it
// has no profile that hides them, except with full access.
func TestCommandExecBesideSecrets(t *testing.T) {
	cfg := contract()
	cfg.Sandbox = "danger-full-access"
	for sandbox, passes := range map[string]bool{`{"type":"readOnly"}`: false, `{"type":"workspaceWrite"}`: false, "null": false, `{"type":"dangerFullAccess"}`: true} {
		st := state()
		st.Defaults = &policy.Defaults{}
		call := message(t, `{"id":1,"method":"command/exec","params":{"command":["ls"],"sandboxPolicy":`+sandbox+`}}`)
		if d := compile(t, cfg).Decide(call, st); d.Err != nil {
			t.Errorf("control: %s: %v", sandbox, d.Err)
		}
		st.Secrets = []string{"/srv/conf"}
		if d := compile(t, cfg).Decide(call, st); (d.Err == nil) != passes || d.Err != nil && !strings.Contains(d.Err.Message, "/srv/conf") {
			t.Errorf("%s: %v", sandbox, d.Err)
		}
	}
}

// TestSecretsBesideUserProfile checks that the entries of the user's profile and those of the bridge are
// never below one another's denied folders.
func TestSecretsBesideUserProfile(t *testing.T) {
	for denied, want := range map[string]map[string]any{
		"/srv/conf/inner": {"/srv/conf": "deny"},
		"/srv/conf/**":    {"/srv/conf": "deny"},
		"/srv/**":         {"/srv/**": "deny", "/srv/conf": "deny"},
		"/srv/conf":       {"/srv/conf": "deny"},
		"/srv":            {"/srv": "deny"},
		"/other":          {"/other": "deny", "/srv/conf": "deny"},
	} {
		defaults, err := policy.ParseDefaults(value(t, `{"config":{"default_permissions":"mine","permissions":{"mine":{"extends":":workspace","filesystem":{"`+denied+`":"deny"}}}}}`))
		if err != nil {
			t.Fatal(err)
		}
		st := state()
		st.Defaults, st.Secrets = defaults, []string{"/srv/conf"}
		d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj"}}`), st)
		if d.Err != nil || !maps.Equal(d.Sent.Profile.Entries, want) || !maps.Equal(d.Sent.Profile.ReadOnly, want) {
			t.Errorf("%s: %v, %+v", denied, d.Err, d.Sent)
		}
	}
}

// TestShownOpenedProfile checks that the client sees the builtin profile, or none beside a sandbox, if the
// bridge's profile only hides secrets.
func TestShownOpenedProfile(t *testing.T) {
	hides, protects := map[string]any{"/srv/conf": "deny"}, map[string]any{"/srv/conf": "deny", "/code/proj/.vscode": "read"}
	p := compile(t, contract())
	for _, test := range []struct {
		entries     map[string]any
		request, id string
		shown       string
	}{
		{hides, `{"sandbox":"workspace-write"}`, "codex-bridge", "null"},
		{hides, `{"sandbox":"read-only"}`, "codex-bridge-read-only", "null"},
		{hides, `{}`, "codex-bridge", `{"id":":workspace","extends":null}`},
		{hides, `{"permissions":":read-only"}`, "codex-bridge-read-only", `{"id":":read-only","extends":null}`},
		{hides, `{"sandbox":"workspace-write"}`, "mine", ""},
		{protects, `{"sandbox":"workspace-write"}`, "codex-bridge", ""},
		{nil, `{"sandbox":"workspace-write"}`, "codex-bridge", ""},
	} {
		thread := &policy.Thread{Profile: policy.Profile{Defined: test.entries != nil, Entries: test.entries}}
		if got := string(p.ShownOpenedProfile(thread, strings.Contains(test.request, `"sandbox"`), value(t, `{"id":"`+test.id+`"}`))); got != test.shown {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

// TestHintForUnknownDefaults checks that a thread is refused without Codex's configuration, with a
// hint.
func TestHintForUnknownDefaults(t *testing.T) {
	for trust, want := range map[string]string{"codex": "send approvalPolicy, approvalsReviewer and permissions", "user": "find out why config/read fails", "never": "find out why config/read fails"} {
		cfg := contract()
		cfg.ProjectTrust = trust
		st := state()
		st.Defaults = nil
		d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj"}}`), st)
		if d.Err == nil || !strings.Contains(d.Err.Message, want) {
			t.Errorf("%s: %v", trust, d.Err)
		}
	}
}

// TestProfileKeepsReadOnlyPathsReadOnly checks that no entry makes a path writable that another
// entry protects. In Codex "write" wins on the same path and on a deeper one.
func TestProfileKeepsReadOnlyPathsReadOnly(t *testing.T) {
	for name, test := range map[string]struct {
		protected, programs, files []string
		want                       map[string]any
	}{
		"a path in a folder of programs": {
			[]string{".venv/bin/activate"}, []string{"/code/proj/.venv/bin"}, nil,
			map[string]any{
				"/code/proj/.venv": "write", "/code/proj/.venv/bin": "read",
				":workspace_roots": map[string]any{".venv": "write", ".venv/bin": "read"},
			},
		},
		"a path in a folder of programs of a subfolder": {
			[]string{".Venv/bin/activate"}, []string{"/code/proj/sub/.venv"}, nil,
			map[string]any{
				"/code/proj/sub": "write", "/code/proj/sub/.venv": "read", "/code/proj/.Venv": "read",
				":workspace_roots": map[string]any{".Venv": "read"},
			},
		},
		"a path in a protected one": {
			[]string{".github", ".GitHub/workflows/deep/x"}, nil, nil,
			map[string]any{
				"/code/proj/.github": "read", "/code/proj/.GitHub": "read",
				":workspace_roots": map[string]any{".github": "read", ".GitHub": "read"},
			},
		},
		"a path in a protected one, seen from a subfolder": {
			[]string{".github/workflows", "workflows/x"}, nil, nil,
			map[string]any{
				"/code/proj/.github/workflows": "read", "/code/proj/workflows": "read",
				":workspace_roots": map[string]any{".github": "write", ".github/workflows": "read", "workflows": "read"},
			},
		},
		"a path in the policy file": {
			[]string{".codex-bridge.toml/x/y"}, nil, []string{"/code/proj/.codex-bridge.toml"},
			map[string]any{
				"/code/proj/.codex-bridge.toml": "read",
				":workspace_roots":              map[string]any{".codex-bridge.toml": "read"},
			},
		},
		"a program in a protected path of a subfolder": {
			[]string{".github"}, []string{"/code/proj/sub/.github/a/b"}, nil,
			map[string]any{
				"/code/proj/sub": "write", "/code/proj/sub/.github": "read",
				"/code/proj/.github": "read", ":workspace_roots": map[string]any{".github": "read"},
			},
		},
		"a program in a folder of programs": {
			nil, []string{"/code/proj/a", "/code/proj/a/b/c"}, nil,
			map[string]any{"/code/proj/a": "read"},
		},
	} {
		cfg := contract()
		cfg.ProtectedPaths = test.protected
		st := state()
		st.Programs, st.PolicyFiles = test.programs, policyFiles{"/code/proj": test.files}
		if diff := cmp.Diff(test.want, profileEntries(t, cfg, st, "")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestFolderAboveTemporaryFolderStaysReadOnly checks a read-only folder that contains a temporary
// one.
func TestFolderAboveTemporaryFolderStaysReadOnly(t *testing.T) {
	cfg := contract()
	cfg.ProtectedPaths = []string{".venv/bin"}
	st := state()
	st.Programs = []string{"/code/proj/sub/.venv"} // seen from sub, .venv is read-only
	st.Temps = []policy.TempFolder{{Name: "$TMPDIR", Path: "/code/proj/.venv/tmp"}}
	want := map[string]any{
		"/code/proj/sub": "write", "/code/proj/sub/.venv": "read", "/code/proj/.venv": "read", "/code/proj/.venv/tmp": "write",
		":workspace_roots": map[string]any{".venv": "read"},
	}
	if diff := cmp.Diff(want, profileEntries(t, cfg, st, "")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestVerifyProfileRequiresProfile checks that a response is refused if paths need protection and
// the request defined no profile.
func TestVerifyProfileRequiresProfile(t *testing.T) {
	const here, home = `{"cwd":"/code/proj"}`, `{"cwd":"/home/ada"}`
	for name, test := range map[string]struct {
		protected []string
		mode      config.Mode
		sandbox   string
		sent      policy.SentSettings
		result    string
		refused   bool
	}{
		"protected":                 {[]string{".vscode"}, config.Enforce, "workspace-write", policy.SentSettings{}, here, true},
		"not enforced":              {[]string{".vscode"}, config.Audit, "workspace-write", policy.SentSettings{}, here, false},
		"read-only":                 {[]string{".vscode"}, config.Enforce, "read-only", policy.SentSettings{}, here, false},
		"with a profile":            {[]string{".vscode"}, config.Enforce, "workspace-write", policy.SentSettings{Profile: policy.Profile{Defined: true}}, here, false},
		"never writable":            {[]string{".vscode"}, config.Enforce, "workspace-write", policy.SentSettings{}, home, false},
		"in its workspace, moved":   {[]string{".vscode"}, config.Enforce, "workspace-write", policy.SentSettings{CwdWithin: "/code/proj"}, home, true},
		"no folder":                 {[]string{".vscode"}, config.Enforce, "workspace-write", policy.SentSettings{}, `{}`, false},
		"nothing protected":         {nil, config.Enforce, "workspace-write", policy.SentSettings{}, here, false},
		"protected in another root": {nil, config.Enforce, "workspace-write", policy.SentSettings{}, `{"cwd":"/code/proj","runtimeWorkspaceRoots":["/srv/out","relative"]}`, true},
		"inner root":                {nil, config.Enforce, "workspace-write", policy.SentSettings{InnerRoots: []string{"/code/proj/docs"}}, here, true},
		"inner root elsewhere":      {nil, config.Enforce, "workspace-write", policy.SentSettings{CwdWithin: "/code/proj", InnerRoots: []string{"/code/proj/docs"}}, `{"cwd":"/code/proj","runtimeWorkspaceRoots":["/srv/free"]}`, false},
	} {
		cfg, st := contract(), state()
		cfg.ProtectedPaths, cfg.Mode, cfg.Sandbox = test.protected, test.mode, test.sandbox
		st.PolicyFiles = policyFiles{"/srv/out": {"/srv/out/.codex-bridge.toml"}}
		if err := reported.VerifyProfile(compile(t, cfg), &test.sent, value(t, test.result), st); (err != nil) != test.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFileAboveProtectedPath checks that a file in place of a folder above a protected path is
// read-only itself. Codex could mount nothing below it.
func TestFileAboveProtectedPath(t *testing.T) {
	cfg := contract()
	cfg.ProtectedPaths = []string{".github/workflows", ".vscode", "a/b"}
	st := state()
	st.IsFile = func(path string) bool { return path == "/code/proj/.github" || path == "/code/proj/.vscode" }
	want := map[string]any{
		"/code/proj/.github": "read", "/code/proj/.vscode": "read", "/code/proj/a/b": "read",
		":workspace_roots": map[string]any{".github": "read", ".vscode": "read", "a": "write", "a/b": "read"},
	}
	if diff := cmp.Diff(want, profileEntries(t, cfg, st, "")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestShownRoots checks that the client does not see the mounts of the profile as writable roots, if
// they are in writable folders.
func TestShownRoots(t *testing.T) {
	p, st := compile(t, contract()), state()
	st.Temps = []policy.TempFolder{{Name: "/tmp", Path: "/tmp"}, {Name: "$TMPDIR", Path: "/var/tmp/t"}}
	thread := &policy.Thread{Workspace: "/code/proj", Profile: policy.Profile{Defined: true, Entries: map[string]any{
		"/tmp/a": "write", "/tmp/a/bin": "read", "/var/tmp/t/a": "write",
		":workspace_roots": map[string]string{".github": "write", ".github/workflows": "read"},
		"/code/proj/docs":  map[string]string{".": "write", "keys": "deny"},
	}, RootEntries: map[string]any{"/srv/own/tools": "write"}}}
	for name, test := range map[string]struct{ sandbox, want string }{
		"in a configured root": {`{"type":"workspaceWrite","writableRoots":["/srv/own","/srv/own/tools"]}`, `["/srv/own"]`},
		"a root inside":        {`{"type":"workspaceWrite","writableRoots":["/code/proj/docs"]}`, `[]`},
		"mounts":               {`{"type":"workspaceWrite","writableRoots":["/code/proj/.github","/tmp/a","/var/tmp/t/a"]}`, `[]`},
		"in another root":      {`{"type":"workspaceWrite","writableRoots":["/srv/out","/srv/out/.github"]}`, `["/srv/out"]`},
		"in no root":           {`{"type":"workspaceWrite","writableRoots":["/srv/.github"]}`, ``},
		"excluded /tmp":        {`{"type":"workspaceWrite","writableRoots":["/tmp/a","/var/tmp/t/a"],"excludeSlashTmp":true}`, `["/tmp/a"]`},
		"excluded $TMPDIR":     {`{"type":"workspaceWrite","writableRoots":["/tmp/a","/var/tmp/t/a"],"excludeTmpdirEnvVar":true}`, `["/var/tmp/t/a"]`},
		"a root of the client": {`{"type":"workspaceWrite","writableRoots":["/code/proj/sub"]}`, ``},
	} {
		if got := string(p.ShownRoots(thread, value(t, test.sandbox), st)); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	thread.Profile.Defined = false
	if got := p.ShownRoots(thread, value(t, `{"type":"workspaceWrite","writableRoots":["/code/proj/.github"]}`), st); got != nil {
		t.Errorf("without a profile: %s", got)
	}
}

// TestWorkspaceRoots checks in which folders a thread's protected paths are mounted.
func TestWorkspaceRoots(t *testing.T) {
	st := state()
	st.Temps = []policy.TempFolder{{Name: "/tmp", Path: "/tmp"}}
	thread := &policy.Thread{
		Workspace: "/code/proj", Cwd: "/code/proj/sub", Sandbox: "workspace-write",
		Roots: []string{"/code/proj/.github", "/srv/out", "/srv/out/.github", "/tmp/a", "/srv/lib/x", "/srv/own"}, Profile: policy.Profile{Roots: []string{"/srv/lib", "/srv/own"}},
	}
	if got, want := thread.WorkspaceRoots(st), []string{"/code/proj", "/srv/out", "/srv/own"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	thread.Sandbox = "read-only"
	if got := thread.WorkspaceRoots(st); got != nil {
		t.Errorf("read-only: %q", got)
	}
}
