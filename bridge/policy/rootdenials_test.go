package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"codex-bridge.example/bridge/policy"
)

// Where the bridge removes a root, commands can't read there what the user's profile denies below each root.
func TestDenialsOfRemovedRoots(t *testing.T) {
	for roots, removed := range map[string]string{
		`"runtimeWorkspaceRoots":["/code/proj","/srv/other"]`:                                                               "/srv/other",
		`"runtimeWorkspaceRoots":["/code/proj","/code/proj/docs"]`:                                                          "/code/proj/docs",
		`"environments":[{"environmentId":"local","cwd":"/code/proj","runtimeWorkspaceRoots":["/code/proj","/srv/other"]}]`: "/srv/other",
	} {
		sent, d := sendThread(t, compile(t, contract()), codexDefaults(t, guardedProfile), ","+roots)
		if d.Err != nil {
			t.Fatal(d.Err)
		}
		for _, name := range []string{"codex-bridge-of-mine", "codex-bridge-read-only-of-mine"} {
			files := sent.Params.Config.Permissions[name].Filesystem
			below, _ := json.Marshal(files[removed])
			if string(below) != `{"**/.env":"deny","docs":"read"}` {
				t.Errorf("%s: %s has %v", roots, name, files)
			}
		}
		st := state()
		for profile, refused := range map[*policy.Profile]bool{
			{Defined: true, User: "mine", ReadOnly: map[string]any{":workspace_roots": map[string]string{"docs": "deny"}}}:                              true,
			{Defined: true, User: "mine", ReadOnly: map[string]any{":workspace_roots": "deny"}}:                                                         true,
			{Defined: true, User: "mine", ReadOnly: map[string]any{":workspace_roots": map[string]string{"**/.env": "deny"}}}:                           removed == "/srv/other",
			{Defined: true, User: "mine", ReadOnly: map[string]any{"glob_scan_max_depth": 4, ":workspace_roots": map[string]string{"**/.env": "deny"}}}: true,
			{Defined: true, User: "mine", ReadOnly: map[string]any{"/etc/keys": "deny"}}:                                                                false,
		} {
			st.Thread.Profile = *profile
			st.Thread.Profile.Entries = map[string]any{"/code/proj/docs": "write", "/code/proj/docs/.agents": "read"}
			d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"turn/start","params":{"threadId":"T","input":[],`+roots+`}}`), st)
			if (d.Err != nil) != refused || refused && !strings.Contains(d.Err.Message, "would remove the root "+removed) {
				t.Errorf("%s, %v: %v", roots, profile.ReadOnly, d.Err)
			}
		}
	}
}

// A relative root of a thread whose folder is unknown opens no thread that would lose what the profile denies there.
func TestDenialsOfRelativeRoot(t *testing.T) {
	st := state()
	st.Thread, st.ThreadFolder, st.StoredSandbox, st.Stored = nil, "/code/proj", &policy.SandboxSettings{Mode: "workspace-write"}, new(policy.StoredProfile)
	st.Defaults = codexDefaults(t, guardedProfile)
	d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"thread/resume","params":{"threadId":"T","runtimeWorkspaceRoots":["other"]}}`), st)
	if d.Err == nil || !strings.Contains(d.Err.Message, "it is not an absolute path") {
		t.Errorf("%v, Codex gets %s", d.Err, d.Message)
	}
}
