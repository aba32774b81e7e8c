package policy_test

import (
	"encoding/json"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// Where two policies decide, the second one sees neither the roots that the first has removed nor that Codex restores
// the thread's profile. The denials of both stay in the message.
func TestDenialsStayWithTwoPolicies(t *testing.T) {
	record, err := rpc.ParseValue([]byte(`{"activePermissionProfile":{"id":"mine"},"permissionProfile":{"file_system":{"entries":[
		{"path":{"type":"special","value":{"kind":"root"}},"access":"read"},{"path":{"type":"path","path":"/code/proj"},"access":"write"},
		{"path":{"type":"path","path":"/etc/stored"},"access":"deny"}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	first, second := contract(), contract()
	second.ProtectedPaths = append(second.ProtectedPaths, "zeta")
	for line, at := range map[string]string{
		`{"id":1,"method":"thread/start","params":{"cwd":"/code/proj","runtimeWorkspaceRoots":["/code/proj","/srv/other"]}}`: "/srv/other",
		`{"id":1,"method":"thread/resume","params":{"threadId":"T","cwd":"/code/proj"}}`:                                     "/etc/stored",
	} {
		for name, cfgs := range map[string][]config.Policy{"one": {first}, "two": {first, second}} {
			st := state()
			st.Thread, st.ThreadFolder, st.NotLoaded = nil, "/code/proj", true
			st.StoredSandbox = &policy.SandboxSettings{Mode: "workspace-write", Profile: "mine"}
			st.Defaults, st.Stored = codexDefaults(t, guardedProfile), policy.ParseStoredProfile(record.Root())
			d := together(t, cfgs, message(t, line), st)
			var sent sentThread
			if d.Err != nil || json.Unmarshal(d.Message, &sent) != nil {
				t.Fatalf("%s, %s policies: %v, Codex gets %s", at, name, d.Err, d.Message)
			}
			for _, profile := range []string{"codex-bridge-of-mine", "codex-bridge-read-only-of-mine"} {
				if files := sent.Params.Config.Permissions[profile].Filesystem; files[at] == nil {
					t.Errorf("%s policies: %s has %v, not %s", name, profile, files, at)
				}
			}
		}
	}
}
