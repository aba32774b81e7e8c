package policy_test

import (
	"strings"
	"testing"

	"codex-bridge.example/bridge/policy"
)

// TestResumeAfterUnsubscribe checks that a thread which the client has unsubscribed from keeps its
// loaded profile only if the policy lets the thread write each writable path of the profile.
func TestResumeAfterUnsubscribe(t *testing.T) {
	for _, test := range []struct {
		name         string
		roots        []string // policy.writable_roots
		path, access string   // an entry of the loaded profile that a new thread does not have
		refused      bool
	}{
		{"a writable root", []string{"${workspace}", "/srv/out"}, "/srv/out/a", "write", false},
		{"another folder", []string{"${workspace}", "/srv/out"}, "/srv/other/a", "write", true},
		{"a read-only path in another folder", []string{"${workspace}"}, "/srv/other/a", "read", false},
		{"in the workspace", []string{"${workspace}"}, "/code/proj/sub", "write", false},
		{"in the workspace, which is no root", []string{"/srv/out"}, "/code/proj/sub", "write", false},
		{"in a temporary folder", []string{"${workspace}"}, "/tmp/a", "write", false},
	} {
		cfg := contract()
		cfg.WritableRoots, cfg.ProtectedPaths = test.roots, []string{".vscode"}
		st := state()
		st.Thread, st.ThreadFolder, st.Unsubscribed = nil, "/code/proj", true
		st.StoredSandbox = &policy.SandboxSettings{Mode: "workspace-write"}
		st.LoadedProfile = &policy.Profile{Defined: true, Entries: map[string]any{
			"/code/proj/.vscode": "read", ":workspace_roots": map[string]string{".vscode": "read"}, test.path: test.access,
		}}
		d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/resume","params":{"threadId":"T"}}`), st)
		if (d.Err != nil) != test.refused || d.Err == nil && !strings.Contains(string(d.Message), `"`+test.path+`":"`+test.access+`"`) {
			t.Errorf("%s: %v, Codex gets %s", test.name, d.Err, d.Message)
		}
	}
}

// TestFolderOfResumedThread checks that the profile protects the workspace of a verified thread,
// and for any other thread the folder that Codex reports.
func TestFolderOfResumedThread(t *testing.T) {
	cfg := contract()
	cfg.ProtectedPaths = []string{".vscode"}
	for name, test := range map[string]struct {
		verified bool
		loaded   string // the folder that the loaded profile protects; "" if Codex has not loaded the thread
		denied   bool
		want     string // a path that the profile protects
	}{
		"verified, loaded":                      {true, "/code/proj", false, "/code/proj/.vscode"},
		"verified, loaded for another folder":   {true, "/srv/moved", true, ""},
		"verified, not loaded":                  {true, "", false, "/code/proj/.vscode"},
		"unverified, loaded":                    {false, "/srv/moved", false, "/srv/moved/.vscode"},
		"unverified, loaded for another folder": {false, "/code/proj", true, ""},
		"unverified, not loaded":                {false, "", false, "/srv/moved/.vscode"},
	} {
		st := state() // the thread's workspace is /code/proj, and a turn has moved it
		st.ThreadFolder, st.Unsubscribed, st.StoredSandbox = "/srv/moved", true, &policy.SandboxSettings{Mode: "workspace-write"}
		if !test.verified {
			st.Thread = nil
		}
		if test.loaded != "" {
			st.LoadedProfile = &policy.Profile{Defined: true, Entries: map[string]any{
				test.loaded + "/.vscode": "read", ":workspace_roots": map[string]string{".vscode": "read"},
			}}
		}
		d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/resume","params":{"threadId":"T"}}`), st)
		if (d.Err != nil) != test.denied || !strings.Contains(string(d.Message), test.want) {
			t.Errorf("%s: %v, Codex gets %s", name, d.Err, d.Message)
		}
	}
}

// TestReasonForRootsOfTurnProfile checks the reason for the removal of a thread's writable roots
// from a turn's profile.
func TestReasonForRootsOfTurnProfile(t *testing.T) {
	for name, test := range map[string]struct {
		roots []string // of the thread's profile
		want  string
	}{
		"no roots":         {nil, "the thread has no writable roots from Codex's configuration"},
		"a forbidden root": {[]string{"/srv/other"}, "it makes /srv/other writable, which the policy forbids"},
	} {
		st := state()
		st.Thread.Profile = policy.Profile{Defined: true, Roots: test.roots}
		d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"turn/start","params":{"threadId":"T","input":[],"permissions":"codex-bridge-roots"}}`), st)
		if len(d.Changes) != 1 || d.Changes[0].Reason != test.want {
			t.Errorf("%s: %+v, %v", name, d.Changes, d.Err)
		}
	}
}

// TestStateFolder checks that no thread opens if Codex keeps its state in a folder that commands
// may be able to write.
func TestStateFolder(t *testing.T) {
	for _, test := range []struct {
		folder, codexHome string
		refused           bool
	}{
		{"", "/home/ada/.codex", false},
		{"/home/ada/.codex", "/home/ada/.codex", false},
		{"/home/ada/.codex/state", "/home/ada/.codex", false},
		{"/home/ada/.local/state/codex-bridge", "/home/ada/.codex", false}, // State.Sensitive
		{"/home/ada/.local/state/codex-bridge", "", false},
		{"/code/proj/state", "/home/ada/.codex", true},
		{"/home/ada/.codex", "", true}, // CODEX_HOME is unknown
		{"/code/proj/loop", "/home/ada/.codex", true},
		{"state", "/home/ada/.codex", true},
	} {
		st := state()
		st.CodexHome, st.Defaults = test.codexHome, &policy.Defaults{StateFolder: test.folder}
		d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj"}}`), st)
		if got := d.Err != nil && strings.Contains(d.Err.Message, "sqlite_home"); got != test.refused {
			t.Errorf("%q with CODEX_HOME %q: %v", test.folder, test.codexHome, d.Err)
		}
	}
}
