package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/reported"
	"codex-bridge.example/rpc"
)

// codexDefaults parses a response to config/read with a default profile "mine" and these profiles.
func codexDefaults(t testing.TB, permissions string) *policy.Defaults {
	t.Helper()
	return parseDefaults(t, []byte(`{"config":{"default_permissions":"mine","permissions":`+permissions+`}}`))
}

// parseDefaults parses a response to config/read.
func parseDefaults(t tester, text []byte) *policy.Defaults {
	t.Helper()
	doc, err := rpc.ParseValue(text)
	if err != nil {
		t.Fatal(err)
	}
	d, err := policy.ParseDefaults(doc.Root())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// sentThread is what Codex gets in place of a request that opens a thread.
type sentThread struct {
	Params struct {
		Permissions, Sandbox string
		Config               struct {
			Permissions map[string]struct {
				Extends    string
				Filesystem map[string]any
				Network    map[string]any
			}
		}
	}
}

// sendThread decides a thread/start with these further params.
func sendThread(t testing.TB, p *policy.Policy, d *policy.Defaults, params string) (sent sentThread, decision policy.Decision) {
	t.Helper()
	st := state()
	st.Defaults = d
	decision = p.Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj"`+params+`}}`), st)
	if decision.Err == nil {
		if err := json.Unmarshal(decision.Message, &sent); err != nil {
			t.Fatal(err)
		}
	}
	return sent, decision
}

const guardedProfile = `{"mine":{"description":null,"extends":":workspace","filesystem":{"glob_scan_max_depth":4,"/etc/keys":"deny",":workspace_roots":{"**/.env":"deny","docs":"read"}},"network":null}}`

// TestThreadKeepsDenialsOfUser checks which profile a thread gets in place of the user's own, and
// that it has what the user's profile denies.
func TestThreadKeepsDenialsOfUser(t *testing.T) {
	for name, test := range map[string]struct {
		sandbox, params, profiles string
		want                      string // the named profile
		told                      string // a part of a notice; "": none
	}{
		"omitted":                  {"workspace-write", ``, guardedProfile, "codex-bridge-of-mine", ""},
		"asks for workspace-write": {"workspace-write", `,"sandbox":"workspace-write"`, guardedProfile, "codex-bridge-of-mine", ""},
		"asks for read-only":       {"workspace-write", `,"sandbox":"read-only"`, guardedProfile, "codex-bridge-read-only-of-mine", ""},
		"asks for a builtin":       {"workspace-write", `,"permissions":":read-only"`, guardedProfile, "codex-bridge-read-only-of-mine", ""},
		"asks for the profile":     {"workspace-write", `,"permissions":"mine"`, guardedProfile, "codex-bridge-of-mine", ""},
		"asks for full access":     {"workspace-write", `,"sandbox":"danger-full-access"`, guardedProfile, "codex-bridge-of-mine", "workspace-write"},
		"read-only policy":         {"read-only", ``, guardedProfile, "codex-bridge-read-only-of-mine", "is more than read-only"},
		"writes elsewhere": {
			"workspace-write", ``, strings.Replace(guardedProfile, `"docs":"read"`, `"docs":"read"},"/srv/out":{".":"write"`, 1), "codex-bridge-read-only-of-mine", "adds no writable paths",
		},
		"extends read-only": {"workspace-write", ``, strings.Replace(guardedProfile, `:workspace"`, `:read-only"`, 1), "codex-bridge-read-only-of-mine", "extends :workspace"},
		"extends another": {
			"workspace-write", ``, strings.Replace(guardedProfile, `{"mine"`, `{"mine":{"extends":"base"},"base"`, 1), "codex-bridge-of-mine", "",
		},
		"network": {
			"workspace-write", ``, strings.Replace(guardedProfile, `"network":null`, `"network":{"enabled":true,"mode":null,"domains":{"a.com":"allow"}}`, 1), "codex-bridge-of-mine", "network",
		},
	} {
		cfg := contract()
		cfg.Sandbox = test.sandbox
		sent, d := sendThread(t, compile(t, cfg), codexDefaults(t, test.profiles), test.params)
		if d.Err != nil || sent.Params.Permissions != test.want || sent.Params.Sandbox != "" {
			t.Errorf("%s: %v, Codex gets %s", name, d.Err, d.Message)
			continue
		}
		files := sent.Params.Config.Permissions[test.want].Filesystem
		below, _ := files[":workspace_roots"].(map[string]any)
		if files["/etc/keys"] != "deny" || below["**/.env"] != "deny" || below["docs"] != "read" || files["glob_scan_max_depth"] != 4.0 {
			t.Errorf("%s: the profile has %v", name, files)
		}
		var notices []string
		for _, change := range d.Changes {
			if _, sentence := change.Notice(); sentence != "" {
				notices = append(notices, sentence)
			}
		}
		if all := strings.Join(notices, "\n"); (all != "") != (test.told != "") || !strings.Contains(all, test.told) {
			t.Errorf("%s: the user reads %q", name, all)
		}
	}
}

// TestProfileThatCannotBeRepeated checks that no thread opens with a profile of the user's that the
// bridge can't repeat, unless the policy is off.
func TestProfileThatCannotBeRepeated(t *testing.T) {
	for profiles, reason := range map[string]string{
		`null`:                        "[permissions] does not have it",
		`{"mine":{"extends":"gone"}}`: "the profile gone is not in [permissions]",
		`{"mine":{"extends":":danger-full-access"}}`:                          ":danger-full-access is not in",
		`{"mine":{"extends":"mine"}}`:                                         "too many profiles",
		`{"mine":{"extends":":workspace","workspace_roots":{"/srv/x":true}}}`: "workspace_roots adds folders",
		`{"mine":{"extends":":workspace","secrets":{"x":"y"}}}`:               "does not know secrets",
		`{"mine":{"filesystem":"read"}}`:                                      "filesystem is not a table",
		`{"mine":{"filesystem":{"/x":"hide"}}}`:                               `an unknown access for "/x"`,
		`{"mine":{"filesystem":{"/x":{"y":"hide"}}}}`:                         `an unknown access for "y" in "/x"`,
		`{"mine":{"extends":"base","filesystem":{":workspace_roots":"read"}},"base":{"extends":":workspace","filesystem":{":workspace_roots":{"a":"deny"}}}}`: "as a table",
		`{"mine":{"extends":":workspace","filesystem":{"/code/proj/.github":"deny"}}}`:                                                                        "could start no command",
	} {
		cfg := contract()
		cfg.ProtectedPaths = []string{".github/workflows"}
		_, d := sendThread(t, compile(t, cfg), codexDefaults(t, profiles), "")
		if d.Err == nil || !strings.Contains(d.Err.Message, reason) || !strings.Contains(d.Err.Message, "default_permissions") {
			t.Errorf("%s: %v", profiles, d.Err)
		}
	}
	cfg := contract()
	cfg.Mode = config.Off
	if _, d := sendThread(t, compile(t, cfg), codexDefaults(t, `null`), ""); d.Err != nil {
		t.Error(d.Err)
	}
}

// TestTurnKeepsDenialsOfUser checks which profile a turn gets in a thread with denials of the user.
func TestTurnKeepsDenialsOfUser(t *testing.T) {
	for params, want := range map[string]string{
		``:                                     "",
		`,"sandboxPolicy":{"type":"readOnly"}`: "codex-bridge-read-only-of-mine",
		`,"sandboxPolicy":{"type":"workspaceWrite"}`:   "codex-bridge-of-mine",
		`,"sandboxPolicy":{"type":"dangerFullAccess"}`: "codex-bridge-of-mine",
		`,"sandboxPolicy":["dangerFullAccess"]`:        "codex-bridge-read-only-of-mine",
		`,"permissions":":read-only"`:                  "codex-bridge-read-only-of-mine",
		`,"permissions":":workspace"`:                  "codex-bridge-of-mine",
		`,"permissions":"mine"`:                        "codex-bridge-of-mine",
		`,"permissions":"codex-bridge-read-only"`:      "codex-bridge-read-only-of-mine",
		`,"permissions":"other"`:                       "refused",
	} {
		st := state()
		st.Thread.Sandbox = "workspace-write"
		st.Thread.Profile = policy.Profile{Defined: true, User: "mine", UserWrites: true}
		d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"turn/start","params":{"threadId":"T","input":[]`+params+`}}`), st)
		var sent struct{ Params struct{ Permissions string } }
		if d.Err == nil {
			if err := json.Unmarshal(d.Message, &sent); err != nil {
				t.Fatal(err)
			}
		} else {
			sent.Params.Permissions = "refused"
		}
		if sent.Params.Permissions != want || strings.Contains(string(d.Message), "sandboxPolicy") {
			t.Errorf("%s: %v, Codex gets %s", params, d.Err, d.Message)
		}
	}
}

// A turn that names the user's own profile of its thread gets the network of that profile, if the policy allows it.
func TestTurnKeepsNetworkOfUser(t *testing.T) {
	profiles := strings.Replace(guardedProfile, `"network":null`, `"network":{"enabled":true}`, 1)
	for profiles, on := range map[string]bool{profiles: true, guardedProfile: false} {
		for _, allowed := range []bool{true, false} {
			cfg := contract()
			cfg.Network = allowed
			p := compile(t, cfg)
			_, opened := sendThread(t, p, codexDefaults(t, profiles), "")
			if opened.Err != nil {
				t.Fatal(opened.Err)
			}
			st := state()
			st.Thread.Sandbox, st.Thread.Profile = "workspace-write", opened.Sent.Profile
			for _, method := range []string{"turn/start", "thread/settings/update"} {
				d := p.Decide(message(t, `{"id":1,"method":"`+method+`","params":{"threadId":"T","input":[],"permissions":"mine"}}`), st)
				want := "codex-bridge-of-mine"
				if on && allowed {
					want = "codex-bridge-network-of-mine"
				}
				if d.Err != nil || !strings.Contains(string(d.Message), `"permissions":"`+want+`"`) {
					t.Errorf("%s, network of the profile %v, of the policy %v: %v, Codex gets %s", method, on, allowed, d.Err, d.Message)
				}
			}
		}
	}
}

// TestEchoWithoutDenials checks that a read-only thread without the bridge's profile is not
// verified if the user's profile denies something.
func TestEchoWithoutDenials(t *testing.T) {
	p := compile(t, contract())
	_, d := sendThread(t, p, codexDefaults(t, guardedProfile), `,"sandbox":"read-only"`)
	for profile, want := range map[string]bool{
		`{"id":"codex-bridge-read-only-of-mine","extends":":read-only"}`: true,
		`{"id":"codex-bridge-read-only-of-mine","extends":null}`:         false,
		`{"id":":read-only","extends":null}`:                             false,
		`null`:                                                           false,
	} {
		doc, err := rpc.ParseValue([]byte(`{"thread":{"id":"T"},"cwd":"/code/proj","approvalPolicy":"untrusted","approvalsReviewer":"user","sandbox":{"type":"readOnly","networkAccess":false},"activePermissionProfile":` + profile + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := reported.Verify(p, d.Sent, doc.Root(), state()); (err == nil) != want {
			t.Errorf("%s: %v", profile, err)
		}
	}
}

// The bridge's profile has the name of the user's profile in its own. So a resume or fork finds that profile again, with
// its entries below each workspace root and its limits of the network. The denials of the present default count, too.
func TestResumeFindsProfileOfUser(t *testing.T) {
	const record = `{"activePermissionProfile":{"id":"%"},"permissionProfile":{"file_system":{"entries":[
		{"path":{"type":"special","value":{"kind":"root"}},"access":"read"},{"path":{"type":"path","path":"/code/proj/sub"},"access":"write"},
		{"path":{"type":"path","path":"/code/proj/sub/docs"},"access":"read"}]}}}`
	profiles := strings.Replace(guardedProfile, `"network":null`, `"network":{"enabled":true,"domains":{"a.com":"deny"}}`, 1)
	profiles = strings.Replace(profiles, `{"mine"`, `{"other":{"extends":":workspace","filesystem":{"/etc/other":"deny"},"network":{"enabled":true}},"mine"`, 1)
	for name, found := range map[string]bool{"mine": true, "codex-bridge-network-of-mine": true, "codex-bridge-network-of-other": false} {
		for _, method := range []string{"thread/resume", "thread/fork"} {
			doc, err := rpc.ParseValue([]byte(strings.Replace(record, "%", name, 1)))
			if err != nil {
				t.Fatal(err)
			}
			st := state()
			st.Thread, st.ThreadFolder = nil, "/code/proj"
			st.StoredSandbox = &policy.SandboxSettings{Mode: "workspace-write", Network: true, Profile: name}
			st.Defaults, st.Stored = codexDefaults(t, profiles), policy.ParseStoredProfile(doc.Root())
			st.Defaults.Permissions = "other"
			cfg := contract()
			cfg.Network = true
			d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"`+method+`","params":{"threadId":"T","cwd":"/code/proj"}}`), st)
			var sent sentThread
			if d.Err != nil || json.Unmarshal(d.Message, &sent) != nil || !strings.HasPrefix(sent.Params.Permissions, "codex-bridge-network-of-") {
				t.Fatalf("%s, %s: %v, Codex gets %s", method, name, d.Err, d.Message)
			}
			one := sent.Params.Config.Permissions[sent.Params.Permissions]
			if both := name != "mine"; (sent.Params.Config.Permissions[one.Extends].Filesystem["/etc/other"] == "deny") != both {
				t.Errorf("%s, %s: what the default denies now: %v", method, name, sent.Params.Config.Permissions[one.Extends].Filesystem)
			}
			below, _ := sent.Params.Config.Permissions[one.Extends].Filesystem[":workspace_roots"].(map[string]any)
			if (below["docs"] == "read") != found || (one.Network["domains"] != nil) != found {
				t.Errorf("%s, %s: below each root %v, network %v", method, name, below, one.Network)
			}
		}
	}
}

// An entry "read" of a stored profile adds nothing to a profile of the user's that lets commands read only what it
// names.
func TestStoredReadAddsNothing(t *testing.T) {
	doc, err := rpc.ParseValue([]byte(`{"activePermissionProfile":{"id":"codex-bridge-no-slash-tmp"},"permissionProfile":{"file_system":{"entries":[
		{"path":{"type":"special","value":{"kind":"root"}},"access":"read"},{"path":{"type":"path","path":"/code/proj"},"access":"write"},
		{"path":{"type":"path","path":"/tmp"},"access":"read"}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for profile, added := range map[string]bool{`{"mine":{"filesystem":{"/srv/out":"deny"}}}`: false, `{"mine":{"extends":":workspace"}}`: true} {
		st := state()
		st.Thread, st.ThreadFolder, st.StoredSandbox = nil, "/code/proj", &policy.SandboxSettings{Mode: "workspace-write", Profile: "codex-bridge-no-slash-tmp"}
		st.Defaults, st.Stored = codexDefaults(t, profile), policy.ParseStoredProfile(doc.Root())
		d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"thread/resume","params":{"threadId":"T"}}`), st)
		var sent sentThread
		if d.Err != nil || json.Unmarshal(d.Message, &sent) != nil {
			t.Fatalf("%v, Codex gets %s", d.Err, d.Message)
		}
		for _, name := range []string{"codex-bridge-of-mine", "codex-bridge-read-only-of-mine"} {
			if files := sent.Params.Config.Permissions[name].Filesystem; (files["/tmp"] == "read") != added {
				t.Errorf("%s of %s has %v", name, profile, files)
			}
		}
	}
}

// A turn can name the bridge's profile that stands for another one of the user's no more than that one.
func TestTurnNamesProfileOfOther(t *testing.T) {
	st := state()
	st.Thread.Profile = policy.Profile{Defined: true, User: "mine", UserWrites: true, ReadOnlyBase: ":read-only"}
	for name, sent := range map[string]string{
		"codex-bridge-of-mine": "codex-bridge-of-mine", "codex-bridge": "codex-bridge-of-mine", "codex-bridge-read-only-of-mine": "codex-bridge-read-only-of-mine",
		"codex-bridge-of-other": "", "codex-bridge-read-only-of-other": "", "other": "",
	} {
		d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"turn/start","params":{"threadId":"T","input":[],"permissions":"`+name+`"}}`), st)
		if (d.Err != nil) != (sent == "") || sent != "" && !strings.Contains(string(d.Message), `"permissions":"`+sent+`"`) {
			t.Errorf("%s: Codex gets %s, error %v", name, d.Message, d.Err)
		}
	}
}

// TestResumeKeepsStoredDenials checks that a cold resume or a fork has what the thread's last turn
// denied or could only read, as with Codex alone, whatever the configuration says now.
func TestResumeKeepsStoredDenials(t *testing.T) {
	const record = `{"activePermissionProfile":{"id":"%"},"permissionProfile":{"file_system":{"glob_scan_max_depth":3,"entries":[
		{"path":{"type":"special","value":{"kind":"root"}},"access":"read"},{"path":{"type":"path","path":"/code/proj"},"access":"write"},
		{"path":{"type":"path","path":"/code/proj/.vscode"},"access":"read"},{"path":{"type":"path","path":"/code/proj/keys/id"},"access":"read"},
		{"path":{"type":"path","path":"/code/proj/keys"},"access":"deny"},{"path":{"type":"path","path":"/srv/lib"},"access":"read"},
		{"path":{"type":"path","path":"/etc/keys"},"access":"deny"},{"path":{"type":"glob_pattern","pattern":"/code/proj/**/.env"},"access":"deny"}]}}}`
	for name, test := range map[string]struct {
		stored, profiles, params string
		want                     string
		asIs                     bool // the profile has no entry besides the user's
	}{
		"the default":               {"mine", guardedProfile, ``, "codex-bridge-of-mine", true},
		"the bridge's":              {"codex-bridge-of-mine", guardedProfile, ``, "codex-bridge-of-mine", true},
		"another":                   {"mine2", strings.Replace(guardedProfile, `{"mine"`, `{"mine":{"extends":":workspace"},"mine2"`, 1), ``, "codex-bridge-of-mine2", true},
		"one that is gone":          {"gone", guardedProfile, ``, "codex-bridge-read-only-of-gone", false},
		"the client's sandbox wins": {"gone", guardedProfile, `,"sandbox":"workspace-write"`, "codex-bridge-of-mine", true},
	} {
		for _, method := range []string{"thread/resume", "thread/fork"} {
			doc, err := rpc.ParseValue([]byte(strings.Replace(record, "%", test.stored, 1)))
			if err != nil {
				t.Fatal(err)
			}
			st := state()
			st.Thread, st.ThreadFolder, st.StoredSandbox = nil, "/code/proj", &policy.SandboxSettings{Mode: "workspace-write"}
			st.Defaults, st.Stored = codexDefaults(t, test.profiles), policy.ParseStoredProfile(doc.Root())
			d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"`+method+`","params":{"threadId":"T"`+test.params+`}}`), st)
			var sent sentThread
			if d.Err != nil || json.Unmarshal(d.Message, &sent) != nil || sent.Params.Permissions != test.want {
				t.Errorf("%s, %s: %v, Codex gets %s", method, name, d.Err, d.Message)
				continue
			}
			narrower := contract()
			narrower.ProtectedPaths = []string{".narrower"}
			m := message(t, `{"id":1,"method":"`+method+`","params":{"threadId":"T"`+test.params+`}}`)
			if both := together(t, []config.Policy{contract(), narrower}, m, st); both.Err != nil || !strings.Contains(string(both.Message), `"permissions":"`+test.want+`"`) ||
				!strings.Contains(string(both.Message), `"/etc/keys":"deny"`) {
				t.Errorf("%s, %s, by two policies: %v, Codex gets %s", method, name, both.Err, both.Message)
			}
			files := sent.Params.Config.Permissions[test.want].Filesystem
			if _, more := files["/code/proj/**/.env"]; files["/etc/keys"] != "deny" || more == test.asIs {
				t.Errorf("%s, %s: the profile has %v", method, name, files)
			}
			if restored := test.params == ""; restored != (files["/code/proj/.vscode"] == "read") || files["/code/proj/keys/id"] != nil || files["/srv/lib"] != nil {
				t.Errorf("%s, %s: of what the last turn could only read, the profile has %v", method, name, files)
			}
		}
	}
	gone, err := rpc.ParseValue([]byte(`{"activePermissionProfile":{"id":"gone"},"permissionProfile":{"file_system":{"entries":[]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	st := state()
	st.Thread, st.ThreadFolder, st.Stored = nil, "/code/proj", policy.ParseStoredProfile(gone.Root())
	if d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"thread/resume","params":{"threadId":"T"}}`), st); d.Err == nil || !strings.Contains(d.Err.Message, "restore [permissions.gone], or resume the thread with a sandbox") {
		t.Error(d.Err)
	}
}

// TestSandboxKey checks that the key of a thread's sandbox is the same for the same effect, and only
// then.
func TestSandboxKey(t *testing.T) {
	key := func(sandbox, profile string, own policy.Profile) string {
		settings, err := rpc.ParseValue([]byte(`{"cwd":"/code/proj","sandboxPolicy":` + sandbox + `,"activePermissionProfile":` + profile + `}`))
		if err != nil {
			t.Fatal(err)
		}
		one := policy.ParseThreadSettings(settings.Root())
		one.Profile = own
		return one.SandboxKey()
	}
	own := func(access string) policy.Profile {
		return policy.Profile{
			Defined: true, User: "mine", Hidden: []string{"/run/" + access}, Entries: map[string]any{"/x": access, "/run/" + access: "deny"},
			ReadOnly: map[string]any{"/y": access}, Network: map[string]json.RawMessage{"mode": json.RawMessage(`"` + access + `"`)},
		}
	}
	const writes, reads, online = `{"type":"workspaceWrite"}`, `{"type":"readOnly"}`, `{"type":"workspaceWrite","networkAccess":true}`
	named := func(name string) string { return `{"id":"` + name + `","extends":":workspace"}` }
	sameEntries := own("read")
	sameEntries.Hidden, sameEntries.Entries = []string{"/run/b"}, map[string]any{"/x": "read", "/run/b": "deny"}
	sameEntries.Network = nil
	inRoots := own("read")
	inRoots.RootEntries = map[string]any{"/srv/out/.vscode": "read"}
	groups := [][]string{
		{key(writes, "null", policy.Profile{}), key(writes, `{"id":":workspace","extends":null}`, policy.Profile{})},
		{key(reads, "null", policy.Profile{}), key(reads, `{"id":":read-only"}`, own("read"))},
		{key(writes, `{"id":":read-only"}`, policy.Profile{})},
		{key(writes, `{"id":":workspace","extends":"x"}`, policy.Profile{})},
		{key(writes, named("codex-bridge"), own("read")), key(writes, named("codex-bridge"), sameEntries)},
		{key(writes, named("codex-bridge"), own("deny"))},
		{key(online, named("codex-bridge-network"), own("read"))},
		{key(online, named("codex-bridge-network"), sameEntries)},
		{key(reads, named("codex-bridge-read-only"), own("read")), key(reads, named("codex-bridge-read-only"), inRoots)},
		{key(writes, named("codex-bridge-roots"), own("read"))},
		{key(writes, named("codex-bridge-roots"), inRoots)},
		{key(reads, named("codex-bridge-read-only"), own("deny"))},
		{key(`{"type":"workspaceWrite","writableRoots":["/a","/b"]}`, "null", policy.Profile{}), key(`{"type":"workspaceWrite","writableRoots":["/b","/a","/a"]}`, "null", policy.Profile{})},
	}
	seen := map[string]int{}
	for i, group := range groups {
		for _, one := range group {
			if had, known := seen[one]; one != group[0] || known && had != i {
				t.Errorf("group %d has the key %q", i, one)
			}
			seen[one] = i
		}
	}
}

// A resume that names the user's profile gets it, and not the thread's looser sandbox. One that would
// restore the bridge's form of a profile whose commands read only some folders is refused, since that
// form does not say which.
func TestResumedThreadHasNamedProfile(t *testing.T) {
	cfg, st := contract(), state()
	cfg.Sandbox = "danger-full-access"
	st.Defaults = codexDefaults(t, guardedProfile)
	st.Thread, st.ThreadFolder, st.StoredSandbox = nil, "/code/proj", &policy.SandboxSettings{Mode: "danger-full-access"}
	st.Stored = &policy.StoredProfile{}
	for _, method := range []string{"thread/resume", "thread/fork"} {
		d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"`+method+`","params":{"threadId":"T","permissions":"mine"}}`), st)
		if d.Err != nil || !strings.Contains(string(d.Message), `"permissions":"codex-bridge-of-mine"`) || strings.Contains(string(d.Message), "danger-full-access") {
			t.Errorf("%s: Codex gets %s, error %v", method, d.Message, d.Err)
		}
		for readsRoot, refused := range map[bool]bool{true: false, false: true} {
			stored := st
			stored.Stored = &policy.StoredProfile{Name: "codex-bridge-read-only", ReadsRoot: readsRoot}
			stored.StoredSandbox = &policy.SandboxSettings{Mode: "read-only"}
			d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"`+method+`","params":{"threadId":"T"}}`), stored)
			if (d.Err != nil) != refused {
				t.Errorf("%s, reads all %v: Codex gets %s, error %v", method, readsRoot, d.Message, d.Err)
			}
		}
	}
}

// A writable root of Codex's configuration keeps what the user's profile denies below it: the entry of a variant takes the
// place of the whole entry for the same path.
func TestWritableRootKeepsDenialsOfUser(t *testing.T) {
	st := withoutThread(state())
	st.Defaults = codexDefaults(t, `{"mine":{"extends":":workspace","filesystem":{"/srv/out":{"token":"deny"}}}}`)
	st.Defaults.Permissions, st.Defaults.WritableRoots = "mine", []string{"/srv/out"}
	cfg := contract()
	cfg.WritableRoots = append(cfg.WritableRoots, "/srv/out")
	d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj","sandbox":"workspace-write"}}`), st)
	var sent sentThread
	if d.Err != nil || json.Unmarshal(d.Message, &sent) != nil {
		t.Fatalf("%v, Codex gets %s", d.Err, d.Message)
	}
	root, _ := sent.Params.Config.Permissions["codex-bridge-roots-of-mine"].Filesystem["/srv/out"].(map[string]any)
	if sent.Params.Permissions != "codex-bridge-roots-of-mine" || root["token"] != "deny" || root["."] != "write" {
		t.Errorf("the profile %s with %v for the root", sent.Params.Permissions, root)
	}
}
