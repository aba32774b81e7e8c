package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"codex-bridge.example/bridge/policy"
)

// Codex alone opens a stored thread read-only in a project that it does not know. It knows the project in
// which it has started the thread, but not another folder in which the thread is opened again, or to which a
// turn has moved it.
func TestKnownProjectOfStoredThread(t *testing.T) {
	for name, test := range map[string]struct {
		cwd, openedIn, movedTo, known, want string
	}{
		"as started":                       {"/code/proj", "", "", "/code/proj", "workspace-write"},
		"no cwd":                           {"", "", "", "/code/proj", "workspace-write"},
		"not by the bridge":                {"/code/proj", "", "", "", "read-only"},
		"another folder":                   {"/srv/out", "", "", "/code/proj", "read-only"},
		"in the repository":                {"/code/proj/sub", "", "", "/code/proj", "workspace-write"},
		"worktree of the repository":       {"/code/wt", "", "", "/code/proj", "workspace-write"},
		"above the repository":             {"/code", "", "", "/code/proj/sub", "read-only"},
		"moved in the repository":          {"", "/code/proj", "/code/proj/sub", "/code/proj", "refused"},
		"moved out of it":                  {"", "/code/proj", "/srv/out", "/code/proj", "refused"},
		"moved, where to is not known":     {"", "/code/proj", "", "/code/proj", "refused"},
		"repository that can't be read":    {"/code/torn", "", "", "/code/proj", "read-only"},
		"started where it can't be read":   {"/code/proj", "", "", "/code/torn", "read-only"},
		"the same, which can't be read":    {"/code/torn", "", "", "/code/torn", "workspace-write"},
		"started in a folder of the roots": {"/code/wt/sub", "", "", "/code/wt", "workspace-write"},
	} {
		for _, method := range []string{"thread/resume", "thread/fork"} {
			cfg := contract()
			cfg.ProjectTrust = "user"
			cfg.WritableRoots = append(cfg.WritableRoots, "/srv/out", "/code")
			st := withoutThread(state())
			st.ThreadFolder, st.OpenedIn, st.MovedTo, st.KnownFolder = "/code/proj", test.openedIn, test.movedTo, test.known
			st.StoredSandbox, st.StoredApproval = &policy.SandboxSettings{Mode: "workspace-write"}, json.RawMessage(`"on-request"`)
			params := map[string]any{"threadId": "T"}
			if test.cwd != "" {
				params["cwd"] = test.cwd
			}
			line, err := json.Marshal(map[string]any{"id": 1, "method": method, "params": params})
			if err != nil {
				t.Fatal(err)
			}
			d := compile(t, cfg).Decide(message(t, string(line)), st)
			if d.Err != nil { // only the last turn's folder would be writable
				if test.want != "refused" {
					t.Errorf("%s, %s: %v", name, method, d.Err)
				}
				continue
			}
			got := d.Sent.Sandbox
			if got == "" {
				got = "workspace-write" // Codex's default beside the entry of the overlay
			}
			if got != test.want || d.Sent.KnownFolder != test.known {
				t.Errorf("%s, %s: the sandbox is %s and the known folder %q, want %s and %q", name, method, got, d.Sent.KnownFolder, test.want, test.known)
			}
		}
	}
}

// A thread that the client opens again after thread/unsubscribe gets no more than it had: with the bridge's overlay Codex
// loads it again, with the values of its configuration.
func TestUnsubscribedThreadKeepsSandbox(t *testing.T) {
	narrow, wide := &policy.Thread{}, &policy.Thread{}
	*narrow = *state().Thread
	narrow.Sandbox, narrow.NoTmpdir, narrow.NoSlashTmp = "workspace-write", true, true
	*wide = *state().Thread
	wide.Sandbox, wide.Network, wide.Roots = "workspace-write", true, []string{"/srv/out"}
	for name, test := range map[string]struct {
		thread       *policy.Thread
		unsubscribed bool
		want         string
	}{
		"narrower":         {narrow, true, `{"sandbox_workspace_write.exclude_slash_tmp":true,"sandbox_workspace_write.exclude_tmpdir_env_var":true,"sandbox_workspace_write.network_access":false,"sandbox_workspace_write.writable_roots":[]}`},
		"as the default":   {wide, true, "null"},
		"still subscribed": {narrow, false, "null"},
	} {
		cfg := contract()
		cfg.ProtectedPaths, cfg.Network, cfg.WritableRoots = nil, true, append(cfg.WritableRoots, "/srv/out")
		st := state()
		st.Unsubscribed, st.LoadedProfile = test.unsubscribed, &policy.Profile{}
		if st.Thread, st.Left = test.thread, nil; test.unsubscribed {
			st.Thread, st.Left, st.ThreadFolder = nil, test.thread, "/code/proj"
		}
		st.Defaults = &policy.Defaults{Sandbox: "workspace-write", Network: true, WritableRoots: []string{"/srv/out"}}
		d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/resume","params":{"threadId":"T"}}`), st)
		if d.Err != nil {
			t.Fatalf("%s: %v", name, d.Err)
		}
		var sent struct {
			Params struct {
				Sandbox string
				Config  map[string]json.RawMessage
			}
		}
		if err := json.Unmarshal(d.Message, &sent); err != nil {
			t.Fatal(err)
		}
		for key := range sent.Params.Config {
			if !strings.HasPrefix(key, "sandbox_workspace_write.") {
				delete(sent.Params.Config, key)
			}
		}
		got, _ := json.Marshal(sent.Params.Config)
		if len(sent.Params.Config) == 0 {
			got = []byte("null")
		}
		if string(got) != test.want || test.unsubscribed != (sent.Params.Sandbox == "workspace-write") {
			t.Errorf("%s: the sandbox %q with %s, want %s", name, sent.Params.Sandbox, got, test.want)
		}
	}
}

// A resume or fork without a sandbox gets what Codex alone would restore or take, without the writable roots and
// the network that the policy forbids, whatever the policy's highest sandbox is.
func TestDefaultIsNarrowedForStoredThread(t *testing.T) {
	const rootsOff, networkOff = `"sandbox_workspace_write.writable_roots":[]`, `"sandbox_workspace_write.network_access":false`
	const roots, network = `{"writable_roots":["/opt"]}`, `{"network_access":true}`
	write := policy.SandboxSettings{Mode: "workspace-write"}
	for name, test := range map[string]struct {
		mode, defaults string // sandbox_mode and sandbox_workspace_write
		stored         policy.SandboxSettings
		want, key      string // the field that Codex gets, and a key of the overlay
	}{
		"roots":                   {"workspace-write", roots, write, `"sandbox":"workspace-write"`, rootsOff},
		"network":                 {"workspace-write", network, write, `"sandbox":"workspace-write"`, networkOff},
		"stored with the network": {"workspace-write", network, policy.SandboxSettings{Mode: "workspace-write", Network: true}, `"sandbox":"workspace-write"`, networkOff},
		"read-only":               {"workspace-write", roots, policy.SandboxSettings{Mode: "read-only"}, `"sandbox":"read-only"`, rootsOff},
		"read-only by default":    {"read-only", roots, write, `"sandbox":"read-only"`, rootsOff},
		"builtin profile":         {"workspace-write", roots, policy.SandboxSettings{Mode: "workspace-write", Profile: ":workspace"}, `"permissions":":workspace"`, ""},
		"read-only profile":       {"workspace-write", roots, policy.SandboxSettings{Mode: "read-only", Profile: ":read-only"}, `"permissions":":read-only"`, ""},
		"allowed roots":           {"workspace-write", `{"writable_roots":["/srv/out"]}`, write, "", ""},
	} {
		for _, highest := range []string{"workspace-write", "danger-full-access"} {
			for _, method := range []string{"thread/resume", "thread/fork"} {
				cfg := contract()
				cfg.Sandbox, cfg.WritableRoots = highest, []string{"${workspace}", "/srv/out"}
				st := withoutThread(state())
				st.ThreadFolder, st.StoredSandbox, st.StoredApproval = "/code/proj", &test.stored, json.RawMessage(`"on-request"`)
				st.Defaults = parseDefaults(t, []byte(`{"config":{"sandbox_mode":"`+test.mode+`","sandbox_workspace_write":`+test.defaults+`},"layers":[]}`))
				d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"`+method+`","params":{"threadId":"T"}}`), st)
				got := string(d.Message)
				if d.Err != nil || !strings.Contains(got, test.want) || !strings.Contains(got, test.key) || test.key == "" && strings.Contains(got, "sandbox_workspace_write") || test.want == "" && strings.Contains(got, `"sandbox":`) {
					t.Errorf("%s, %s under %s: %v, Codex gets %s", name, method, highest, d.Err, got)
				}
			}
		}
	}
}

// Codex takes its default for a thread whose file has no settings, as of one that was only named. It gets no more
// beside the bridge's profile.
func TestThreadWithoutSettingsTakesDefault(t *testing.T) {
	for mode, want := range map[string]string{"read-only": `"sandbox":"read-only"`, "workspace-write": `"permissions":"codex-bridge"`, "danger-full-access": `"sandbox":"danger-full-access"`} {
		for _, method := range []string{"thread/resume", "thread/fork"} {
			cfg := contract()
			cfg.Sandbox, cfg.ProtectedPaths = "danger-full-access", []string{".github/workflows"}
			st := withoutThread(state())
			st.ThreadFolder, st.StoredSandbox, st.Stored, st.StoredApproval = "/code/proj", new(policy.SandboxSettings), new(policy.StoredProfile), json.RawMessage(`null`)
			st.Defaults = parseDefaults(t, []byte(`{"config":{"sandbox_mode":"`+mode+`"},"layers":[]}`))
			d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"`+method+`","params":{"threadId":"T"}}`), st)
			if d.Err != nil || !strings.Contains(string(d.Message), want) {
				t.Errorf("%s by default, %s: %v, Codex gets %s", mode, method, d.Err, d.Message)
			}
		}
	}
}
