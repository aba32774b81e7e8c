package policy_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
)

// fenceEntries returns what the profile of a new thread says of paths; nil if the thread has none.
func fenceEntries(t *testing.T, cfg config.Policy, st policy.State, params string) map[string]any {
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

// A temporary folder in a folder that commands can write is its own mount, as are the folders between:
// else a command could put a link in their place.
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
		if got := fenceEntries(t, cfg, st, test.params); !maps.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// A folder that commands must not read is in a profile that a thread has for another reason. It is in
// none where a folder above a protected path may be missing, which Codex could not make then.
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
		if got := fenceEntries(t, cfg, st, ""); (got["/run/codex-bridge"] == "deny") != test.hidden {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A refusal for want of Codex's configuration says how to do without it, if that is possible.
func TestHintWhereDefaultsAreNotKnown(t *testing.T) {
	for trust, want := range map[string]string{"codex": "name approvalPolicy, approvalsReviewer and permissions", "user": "see what codex says of its configuration", "never": "see what codex says"} {
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
