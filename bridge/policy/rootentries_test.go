package policy_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// openedProfiles returns the entries of each profile in the overlay of a new thread, whose Codex has the configuration
// of st.Defaults.
func openedProfiles(t *testing.T, p *policy.Policy, st policy.State) map[string]map[string]any {
	t.Helper()
	d := p.Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj","approvalPolicy":"untrusted","approvalsReviewer":"user"}}`), withoutThread(st))
	var m sentThread
	if d.Err != nil || json.Unmarshal(d.Message, &m) != nil {
		t.Fatalf("%v, Codex gets %s", d.Err, d.Message)
	}
	all := map[string]map[string]any{}
	for name, profile := range m.Params.Config.Permissions {
		all[name] = profile.Filesystem
	}
	return all
}

// A writable root of Codex's configuration has the same protected paths as the workspace, and only in the profiles that
// make it writable: elsewhere the folders above these paths would be writable.
func TestProtectedPathsInConfiguredRoots(t *testing.T) {
	cfg := contract()
	cfg.WritableRoots = []string{"${workspace}", "/srv/out", "/srv/lib", "/srv/file"}
	cfg.ProtectedPaths = []string{".github/workflows", ".vscode", "a/b", ".git"}
	st := state()
	st.Temps = []policy.TempFolder{{Name: "$TMPDIR", Path: "/srv/lib/x/tmp"}}
	st.Programs = []string{"/srv/out/tools/bin", "/srv/out/.vscode/bin"}
	st.IsFile = func(path string) bool { return path == "/srv/lib/a" || path == "/srv/file" }
	st.Defaults = &policy.Defaults{Sandbox: "workspace-write", WritableRoots: []string{"/srv/out", "/srv/lib", "/srv/file", "/etc"}}
	profiles := openedProfiles(t, compile(t, cfg), st)
	want := map[string]any{
		"/srv/out": "write", "/srv/out/.github": "write", "/srv/out/.github/workflows": "read", "/srv/out/a": "read", "/srv/out/tools": "write",
		"/srv/lib": "write", "/srv/lib/.github": "write", "/srv/lib/.github/workflows": "read", "/srv/lib/a": "read", "/srv/lib/.vscode": "read", "/srv/lib/x": "write",
		"/srv/file": "write",
	}
	if diff := cmp.Diff(want, profiles["codex-bridge-roots"]); diff != "" {
		t.Errorf("with roots (-want +got):\n%s", diff)
	}
	for at, access := range profiles["codex-bridge"] {
		if access == "write" && strings.HasPrefix(at, "/srv/") && at != "/srv/lib/x/tmp" {
			t.Errorf("%s is writable without the roots", at)
		}
	}
	if base := profiles["codex-bridge"]; base["/srv/out/.vscode"] != "read" || base["/srv/out/tools/bin"] != "read" {
		t.Errorf("the programs are %v", base)
	}
}

// Where the user's own profile narrows a path in such a root, the narrower access counts.
func TestProtectedPathsInNarrowedRoots(t *testing.T) {
	const user = `{"config":{"default_permissions":"mine","sandbox_workspace_write":{"writable_roots":["/srv/out","/srv/lib"]},
		"permissions":{"mine":{"extends":":workspace","filesystem":{"/srv/out/a":"read","/srv/out/c":"deny","/srv/out/d":{"keys":"deny"},"/srv/lib":"read"}}}}}`
	cfg := contract()
	cfg.WritableRoots, cfg.ProtectedPaths = []string{"${workspace}", "/srv/out", "/srv/lib"}, []string{"a/b", "c", "d/e"}
	st := state()
	st.Defaults = parseDefaults(t, []byte(user))
	profiles := openedProfiles(t, compile(t, cfg), st)
	want := map[string]any{"/srv/out": "write", "/srv/out/d": map[string]any{".": "write", "keys": "deny"}, "/srv/out/d/e": "read"}
	if got := profiles["codex-bridge-roots-of-mine"]; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if base := profiles["codex-bridge-of-mine"]; base["/srv/out/a"] != "read" || base["/srv/out/c"] != "deny" {
		t.Errorf("the base has %v", base)
	}
}

// Where two policies decide, such a root has the protected paths of both.
func TestProtectedPathsInRootsOfTwoPolicies(t *testing.T) {
	first := contract()
	first.WritableRoots, first.ProtectedPaths = []string{"${workspace}", "/srv/out"}, []string{".vscode"}
	second := first
	second.ProtectedPaths = []string{"zeta"}
	st := withoutThread(state())
	st.Defaults = &policy.Defaults{Sandbox: "workspace-write", WritableRoots: []string{"/srv/out"}}
	d := together(t, []config.Policy{first, second}, message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj"}}`), st)
	var m sentThread
	if d.Err != nil || json.Unmarshal(d.Message, &m) != nil {
		t.Fatalf("%v, Codex gets %s", d.Err, d.Message)
	}
	if files := m.Params.Config.Permissions["codex-bridge-roots"].Filesystem; files["/srv/out/.vscode"] != "read" || files["/srv/out/zeta"] != "read" {
		t.Errorf("%v", files)
	}
}

// A cold resume takes the entries that the bridge itself has put into the stored profile for no denials of the user.
func TestStoredEntriesOfRoots(t *testing.T) {
	record, err := rpc.ParseValue([]byte(`{"activePermissionProfile":{"id":"codex-bridge-roots"},"permissionProfile":{"file_system":{"entries":[
		{"path":{"type":"special","value":{"kind":"root"}},"access":"read"},{"path":{"type":"path","path":"/code/proj"},"access":"write"},
		{"path":{"type":"path","path":"/srv/out"},"access":"write"},{"path":{"type":"path","path":"/srv/out/.vscode"},"access":"read"}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	cfg := contract()
	cfg.WritableRoots, cfg.ProtectedPaths = []string{"${workspace}", "/srv/out"}, []string{".vscode"}
	st := state()
	st.Thread, st.ThreadFolder, st.NotLoaded = nil, "/code/proj", true
	st.StoredSandbox = &policy.SandboxSettings{Mode: "workspace-write", Profile: "codex-bridge-roots"}
	st.Stored, st.Defaults = policy.ParseStoredProfile(record.Root()), &policy.Defaults{Sandbox: "workspace-write", WritableRoots: []string{"/srv/out"}}
	d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/resume","params":{"threadId":"T","cwd":"/code/proj"}}`), st)
	if d.Err != nil || d.Sent.Profile.User != "" || d.Sent.Profile.RootEntries["/srv/out/.vscode"] != "read" {
		t.Errorf("%v, profile %+v", d.Err, d.Sent)
	}
}

// A turn does not write where a protected path of a root of Codex's configuration has become a link.
func TestLinkInConfiguredRoot(t *testing.T) {
	cfg := contract()
	cfg.WritableRoots, cfg.ProtectedPaths = []string{"${workspace}", "/srv/out", "/srv/lib"}, []string{".vscode"}
	for _, linked := range []bool{false, true} {
		st := state()
		st.Thread.Sandbox, st.Paths = "workspace-write", links{}
		st.Thread.Profile = policy.Profile{Defined: true, Roots: []string{"/srv/out", "/srv/lib"}, Entries: map[string]any{":workspace_roots": map[string]string{".vscode": "read"}}}
		if linked {
			st.Paths = links{"/srv/lib/.vscode": "/srv/conf"}
		}
		for _, params := range []string{``, `,"permissions":"codex-bridge-roots"`, `,"sandboxPolicy":{"type":"workspaceWrite","writableRoots":["/srv/out"]}`} {
			if st.Thread.Roots = nil; params == "" { // it keeps them
				st.Thread.Roots = []string{"/srv/out", "/srv/lib"}
			}
			d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"turn/start","params":{"threadId":"T","input":[]`+params+`}}`), st)
			if (d.Err != nil) != linked || linked && !strings.Contains(d.Err.Message, `"/srv/lib/.vscode" is a link to "/srv/conf"`) {
				t.Errorf("linked %v, %s: %v", linked, params, d.Err)
			}
		}
	}
}
