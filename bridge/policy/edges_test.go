package policy_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// TestReasonsForFolders checks that the reason for a refused folder names the file or folder that
// forbids it.
func TestReasonsForFolders(t *testing.T) {
	cfg := contract()
	cfg.WritableRoots = []string{"${workspace}", "/srv/out", "/srv/lib", "/opt"}
	p := compile(t, cfg)
	st := state()
	st.Writable = []string{"/srv/lib/a"}
	st.Programs = []string{"/opt/bin", "/code/proj/.venv/bin", "/usr/opt/bin"}
	st.Sensitive = append(st.Sensitive, "/srv/out/kept")
	st.PolicyFiles = policyFiles{"/srv/out/other": {"/srv/out/other/.codex-bridge.toml"}}
	for params, want := range map[string]string{
		`"cwd":"/etc"`:            "/etc is outside the workspace and the writable roots",
		`"cwd":"/srv/out/other"`:  "/srv/out/other is under the policy file /srv/out/other/.codex-bridge.toml",
		`"cwd":"/opt/bin/x"`:      "/opt/bin/x is a folder of programs that run outside the sandbox",
		`"cwd":"/opt"`:            "/opt is a folder of programs that run outside the sandbox",
		`"cwd":"/usr/opt"`:        "/usr/opt is outside the workspace",
		`"cwd":"/srv/lib"`:        "/srv/lib is in /srv/lib/a or contains it, which commands could write",
		`"cwd":"/srv/out/kept"`:   "/srv/out/kept is a folder of Codex or of the policy, or contains one",
		`"cwd":"/srv/out/kept/x"`: "/srv/out/kept/x is a folder of Codex or of the policy",
		`"cwd":"/code/proj/.git"`: "/code/proj/.git is in a .git, .codex or .agents folder",
		`"sandboxPolicy":{"type":"workspaceWrite","writableRoots":["/srv/out/sub"]}`:     `"/srv/out/sub" is /srv/out/sub, inside /srv/out, where a command could replace it by a link`,
		`"sandboxPolicy":{"type":"workspaceWrite","writableRoots":["/code/proj/x"]}`:     `the bridge would remove the root /code/proj/x, which is inside /code/proj, and with it Codex's protection`,
		`"sandboxPolicy":{"type":"workspaceWrite","writableRoots":["/code/proj/.git"]}`:  `is /code/proj/.git, in a .git, .codex or .agents folder`,
		`"sandboxPolicy":{"type":"workspaceWrite","writableRoots":["/home/ada/.codex"]}`: `is /home/ada/.codex, in a .git, .codex or .agents folder`,
	} {
		d := p.Decide(message(t, `{"id":1,"method":"turn/start","params":{"threadId":"T","input":[],`+params+`}}`), st)
		if reasons := reasonsOf(d); len(reasons) != 1 || !strings.Contains(reasons[0], want) {
			t.Errorf("%s: %q, want %q", params, reasons, want)
		}
	}
}

// TestReasonForRootOfNewThread checks that the reason for a root of a new thread does not advise to
// start a thread.
func TestReasonForRootOfNewThread(t *testing.T) {
	cfg := contract()
	cfg.WritableRoots = []string{"${workspace}", "/srv/lib/a"}
	st := state()
	st.Thread, st.Writable = nil, []string{"/srv/lib"}
	d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj","runtimeWorkspaceRoots":["/code/proj","/srv/lib/a"]}}`), st)
	const want = `"/srv/lib/a" is /srv/lib/a, in /srv/lib or contains it, which commands could write, and a command could replace the inner folder by a link`
	if !slices.ContainsFunc(d.Changes, func(c policy.Change) bool {
		return c.Field == "params.runtimeWorkspaceRoots" && strings.HasSuffix(c.Reason, want)
	}) {
		t.Errorf("%+v, want %q", d.Changes, want)
	}
}

// reasonsOf returns the reasons of the changes, or that of the refusal.
func reasonsOf(d policy.Decision) (all []string) {
	if d.Err != nil {
		return []string{d.Err.Message}
	}
	for _, change := range d.Changes {
		all = append(all, change.Reason)
	}
	return all
}

// TestReasonForFolderAroundWorkspace checks the reason for a folder around the workspace, even if
// policy.writable_roots names the folder.
func TestReasonForFolderAroundWorkspace(t *testing.T) {
	cfg := contract()
	cfg.WritableRoots = []string{"/code", "/srv"}
	p := compile(t, cfg)
	for _, params := range []string{
		`"sandboxPolicy":{"type":"workspaceWrite","writableRoots":["/code"]}`, `"runtimeWorkspaceRoots":["/code"]`, `"cwd":"/code"`,
	} {
		d := p.Decide(message(t, `{"id":1,"method":"turn/start","params":{"threadId":"T","input":[],`+params+`}}`), state())
		if reasons := reasonsOf(d); len(reasons) != 1 || !strings.Contains(reasons[0], "/code, around the workspace /code/proj") && !strings.Contains(reasons[0], "/code is around the workspace /code/proj") {
			t.Errorf("%s: %q", params, reasons)
		}
	}
}

// TestMountedProtectedPathsStayInSandbox checks that a line that changes a protected path at the
// top of the workspace stays in the sandbox only if Codex mounts the path read-only.
func TestMountedProtectedPathsStayInSandbox(t *testing.T) {
	cfg := contract()
	cfg.Sandbox, cfg.ProtectedPaths = "danger-full-access", []string{".git", ".vscode", ".idea"}
	fence := policy.Profile{Defined: true, Protected: [][]string{{".vscode"}}}
	for name, test := range map[string]struct {
		line    string
		change  func(*policy.Thread)
		verdict policy.Verdict
	}{
		"mounted":                  {line: "touch .vscode/x", verdict: policy.Pass},
		"Codex's own":              {line: "touch .git/x", verdict: policy.Pass},
		"protected later":          {line: "touch .idea/x", verdict: policy.Deny},
		"without the profile":      {line: "touch .vscode/x", change: func(t *policy.Thread) { t.LacksProfile = true }, verdict: policy.Deny},
		"Codex's own without it":   {line: "touch .git/x", change: func(t *policy.Thread) { t.LacksProfile, t.Profile = true, policy.Profile{} }, verdict: policy.Pass},
		"no profile":               {line: "touch .vscode/x", change: func(t *policy.Thread) { t.Profile.Defined = false }, verdict: policy.Deny},
		"read-only":                {line: "touch .vscode/x .git/x", change: func(t *policy.Thread) { t.Sandbox = "read-only" }, verdict: policy.Pass},
		"not known":                {line: "touch .git/x", change: func(t *policy.Thread) { t.Sandbox = "" }, verdict: policy.Deny},
		"no sandbox":               {line: "touch .vscode/x", change: func(t *policy.Thread) { t.Sandbox = "danger-full-access" }, verdict: policy.Deny},
		"Codex's own, no sandbox":  {line: "touch .git/x", change: func(t *policy.Thread) { t.Sandbox = "danger-full-access" }, verdict: policy.Deny},
		"a glob, deeper":           {line: "touch sub/.vs*/x", verdict: policy.Deny},
		"another glob, deeper":     {line: "touch sub/.vx*/x sub/*/x", verdict: policy.Pass},
		"an ordinary file, deeper": {line: "touch sub/x .vscodes/x", verdict: policy.Pass},
	} {
		st := state()
		st.Escalation = rules.Sandboxed
		st.Thread = &policy.Thread{ID: "T", Workspace: "/code/proj", Sandbox: "workspace-write", Approval: json.RawMessage(`"on-request"`), Profile: fence}
		if test.change != nil {
			test.change(st.Thread)
		}
		input, err := rpc.ParseValue([]byte(`{"command":"` + test.line + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		if d := toolcall.Decide(compile(t, cfg), toolcall.Call{Name: "Bash", Input: input.Root(), Cwd: "/code/proj", Shell: "bash"}, st); d.Verdict != test.verdict {
			t.Errorf("%s: %v, %v", name, d.Verdict, d.Err)
		}
	}
}

// TestFirstReasonOfToolCall checks that a rule's reason wins over the model's.
func TestFirstReasonOfToolCall(t *testing.T) {
	cfg := contract()
	cfg.Models = []string{"good"}
	cfg.Rules = []config.Rule{{Tool: "spawn_agent", Decision: "deny", Reason: "No agents."}}
	input, err := rpc.ParseValue([]byte(`{"model":"bad"}`))
	if err != nil {
		t.Fatal(err)
	}
	st := state()
	st.Agent = &policy.AgentSettings{Models: []string{"bad"}}
	for model, want := range map[string]string{"good": "No agents: spawn_agent", "worse": "No agents: spawn_agent"} {
		d := toolcall.Decide(compile(t, cfg), toolcall.Call{Name: "spawn_agent", Input: input.Root(), Model: model}, st)
		if d.Err == nil || !strings.Contains(d.Err.Message, want) {
			t.Errorf("by %s: %v", model, d.Err)
		}
	}
	cfg.Rules = nil
	d := toolcall.Decide(compile(t, cfg), toolcall.Call{Name: "spawn_agent", Input: input.Root(), Model: "worse"}, st)
	if d.Err == nil || !strings.Contains(d.Err.Message, "worse") {
		t.Error(d.Err)
	}
}

// TestPinsAndProfiles checks that pins and profiles need an enforced policy.
func TestPinsAndProfiles(t *testing.T) {
	for _, test := range []struct {
		mode           config.Mode
		sandbox        string
		pins, profiles bool
	}{
		{config.Enforce, "workspace-write", true, true}, {config.Enforce, "danger-full-access", true, true}, {config.Enforce, "read-only", true, true},
		{config.Audit, "workspace-write", false, false}, {config.Audit, "read-only", false, false}, {config.Off, "workspace-write", false, false},
	} {
		cfg := contract()
		cfg.Mode, cfg.Sandbox = test.mode, test.sandbox
		p := compile(t, cfg)
		if pins := len(p.PinArgs()) > 0; pins != test.pins || p.UsesProfiles() != test.profiles {
			t.Errorf("%s, %s: pins %t, profiles %t", test.mode, test.sandbox, pins, p.UsesProfiles())
		}
		if args := p.PinArgs(); test.pins && !slices.Contains(args, "features.skill_mcp_dependency_install=false") {
			t.Errorf("pins %q", args)
		}
	}
}

// TestReservedProfile checks that the bridge finds a user's profile with a reserved name.
func TestReservedProfile(t *testing.T) {
	for name, want := range map[string]bool{"codex-bridge": true, "codex-bridge-network": true, "codex-bridges": false, "mine": false, "my-codex-bridge-x": false} {
		doc, err := rpc.ParseValue([]byte(`{"config":{"permissions":{"other":{},"` + name + `":{}}},"layers":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		d, err := policy.ParseDefaults(doc.Root())
		if err != nil || (d.ReservedProfile == name) != want || !want && d.ReservedProfile != "" {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}

// TestManagedConfiguration checks that no thread opens if the machine's managed configuration wins
// over a value that the thread needs.
func TestManagedConfiguration(t *testing.T) {
	const file, mdm, user = "legacyManagedConfigTomlFromFile", "legacyManagedConfigTomlFromMdm", "user"
	layer := func(kind, config string) string { return `{"name":{"type":"` + kind + `"},"config":` + config + `}` }
	const off, on = `{"features":{"hooks":false}}`, `{"features":{"hooks":true}}`
	for _, test := range []struct{ layers, trust, refused string }{
		{layer(file, `{"features":{"hooks":false}}`), "user", "features.hooks"},
		{layer(mdm, `{"features":{"codex_hooks":false}}`), "user", "features.codex_hooks"},
		{layer(file, `{"features":{"hooks":true,"plugins":false}}`), "user", ""},
		{layer(file, `{"features":{"hooks":null}}`), "user", ""},
		{layer(user, `{"features":{"hooks":false}}`), "user", ""},
		{layer(file, `{"hooks":{"PreToolUse":[]}}`), "user", ""},
		{layer(file, `{"features":{"skill_mcp_dependency_install":true}}`), "user", "features.skill_mcp_dependency_install"},
		{layer(file, `{"features":{"skill_mcp_dependency_install":false}}`), "user", ""},
		{layer(file, `{"projects":{"/code/other":{"trust_level":"trusted"}}}`), "never", "projects"},
		{layer(file, `{"projects":{"/code/other":{"trust_level":"trusted"}}}`), "user", ""},
		{layer(file, `{"projects":{"/code/other":{"trust_level":"untrusted"}}}`), "never", ""},
		{layer(file, on) + "," + layer(mdm, off), "user", ""}, // the first one wins
		{layer(file, off) + "," + layer(mdm, on), "user", "features.hooks"},
		{layer(file, `{"features":{"hooks":null}}`) + "," + layer(mdm, off), "user", "features.hooks"},
		{layer(user, on) + "," + layer(file, off), "user", "features.hooks"},
		{layer(file, `{"features":{"later":true}}`), "user", ""},
		{layer(file, `{"projects":{}}`), "never", ""},
	} {
		defaults, err := policy.ParseDefaults(value(t, `{"config":{},"layers":[`+test.layers+`]}`))
		if err != nil {
			t.Fatal(err)
		}
		cfg := contract()
		cfg.ProjectTrust = test.trust
		st := state()
		st.Defaults = defaults
		d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj","sandbox":"read-only"}}`), st)
		if (d.Err != nil) != (test.refused != "") || d.Err != nil && !strings.Contains(d.Err.Message, "managed_config.toml of this machine sets "+test.refused+",") {
			t.Errorf("%s, %s: %v", test.layers, test.trust, d.Err)
		}
	}
}

// TestManagedSandbox checks that a thread does not open where sandbox_workspace_write of managed_config.toml
// would give it what the policy forbids.
func TestManagedSandbox(t *testing.T) {
	const network, roots = `{"network_access":true}`, `{"writable_roots":["/srv/out"]}`
	for _, test := range []struct{ managed, params, protected, refused string }{
		{network, `"sandbox":"workspace-write"`, ".git", "sandbox_workspace_write.network_access"},
		{network, `"sandbox":"workspace-write"`, ".vscode", ""}, // the bridge's profile counts
		{network, `"sandbox":"read-only"`, ".git", ""},
		{network, `"permissions":":workspace"`, ".git", ""},
		{roots, `"sandbox":"workspace-write"`, ".git", "sandbox_workspace_write.writable_roots"},
		{roots, `"sandbox":"read-only"`, ".git", "sandbox_workspace_write.writable_roots"},
		{roots, `"sandbox":"read-only"`, ".vscode", ""},
		{`{"network_access":false,"writable_roots":[]}`, `"sandbox":"workspace-write"`, ".git", ""},
	} {
		defaults, err := policy.ParseDefaults(value(t, `{"config":{"sandbox_workspace_write":`+test.managed+`},"layers":[{"name":{"type":"legacyManagedConfigTomlFromFile"},"config":{"sandbox_workspace_write":`+test.managed+`}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		cfg := contract()
		cfg.ProtectedPaths = []string{test.protected}
		st := state()
		st.Defaults = defaults
		d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj",`+test.params+`}}`), st)
		if (d.Err != nil) != (test.refused != "") || d.Err != nil && !strings.Contains(d.Err.Message, "managed_config.toml of this machine sets "+test.refused+",") {
			t.Errorf("%s, %s, %s: %v", test.managed, test.params, test.protected, d.Err)
		}
	}
}

// TestOverlayHasRequiredKeys checks that the overlay has the required keys for any overlay of the
// client.
func TestOverlayHasRequiredKeys(t *testing.T) {
	cfg := contract()
	cfg.ProjectTrust = "codex"
	st := state()
	st.Unpinned = true
	st.Defaults = &policy.Defaults{Network: true, WritableRoots: []string{"/etc"}}
	wanted := []string{`"features.skill_mcp_dependency_install":false`, `"sandbox_workspace_write.network_access":false`, `"sandbox_workspace_write.writable_roots":[]`}
	for _, overlay := range []string{
		`{}`, `{"model":"gpt-5.5"}`, `{"sandbox_workspace_write.network_access":false}`, `{"sandbox_workspace_write.writable_roots":[]}`, `{"features.skill_mcp_dependency_install":true}`, `{"sandbox_workspace_write.network_access":true,"model":"gpt-5.5"}`,
		`{"sandbox_workspace_write.writable_roots":["/"]}`, `{"sandbox_workspace_write.network_access":true,"features.skill_mcp_dependency_install":true}`,
	} {
		d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj","sandbox":"workspace-write","config":`+overlay+`}}`), st)
		for _, text := range wanted {
			if !strings.Contains(string(d.Message), text) {
				t.Errorf("%s: %s is missing in %s", overlay, text, d.Message)
			}
		}
	}
}

// TestRulesInWritableRoots checks that rules of a command outside the workspace count in the
// writable roots.
func TestRulesInWritableRoots(t *testing.T) {
	cfg := contract()
	cfg.Gate, cfg.WritableRoots = true, []string{"${workspace}", "/srv/out"}
	cfg.Rules = []config.Rule{{Tool: "shell", Command: "make test", Decision: "allow"}}
	input, err := rpc.ParseValue([]byte(`{"command":"make test"}`))
	if err != nil {
		t.Fatal(err)
	}
	st := state()
	st.Escalation = rules.Sandboxed
	st.Thread = &policy.Thread{ID: "T", Workspace: "/code/proj", Sandbox: "workspace-write", Approval: json.RawMessage(`"on-request"`), Gated: true}
	for cwd, asked := range map[string]bool{"/code/proj": false, "/code/proj/sub": false, "/srv/out": false, "/srv/out/x": false, "/srv": true, "/etc": true} {
		d := toolcall.Decide(compile(t, cfg), toolcall.Call{Name: "Bash", Input: input.Root(), Cwd: cwd, Shell: "bash"}, st)
		if d.Verdict == policy.Deny || d.Ask != asked {
			t.Errorf("in %s: asked %t, %v", cwd, d.Ask, d.Err)
		}
	}
}

// TestPinnedFeatureInOverlay checks that the bridge disables a pinned feature in a thread's
// overlay, with one change. Other keys of that name, and a features key without a name, have no
// pin.
func TestPinnedFeatureInOverlay(t *testing.T) {
	const feature = "features.skill_mcp_dependency_install"
	cfg := contract()
	cfg.ConfigKeys = []string{"tools.*"}
	for overlay, test := range map[string]struct {
		want  string // part of the message
		field string // of each change
	}{
		`{"features.skill_mcp_dependency_install":true}`:  {`"config":{"features.skill_mcp_dependency_install":false}`, "params.config." + feature},
		`{"features.skill_mcp_dependency_install":"on"}`:  {`"config":{"features.skill_mcp_dependency_install":false}`, "params.config." + feature},
		`{"features.skill_mcp_dependency_install":false}`: {`"config":{"features.skill_mcp_dependency_install":false}`, ""},
		`{"tools.skill_mcp_dependency_install":true}`:     {`"config":{"tools.skill_mcp_dependency_install":true,"features.skill_mcp_dependency_install":false}`, "params.config." + feature},
		`{"features":true}`:                               {`"config":{"features.skill_mcp_dependency_install":false}`, "params.config.features params.config." + feature},
	} {
		st := state()
		st.Unpinned = true
		d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj","config":`+overlay+`}}`), st)
		var fields []string
		for _, c := range d.Changes {
			fields = append(fields, c.Field)
		}
		if got := strings.Join(fields, " "); got != test.field || !strings.Contains(string(d.Message), test.want) {
			t.Errorf("%s: %s, changes %q", overlay, d.Message, got)
		}
	}
}

// TestMaxOptOuts checks the limit of 4,096 notifications.
func TestMaxOptOuts(t *testing.T) {
	for n, passes := range map[int]bool{0: true, 4096: true, 4097: false} {
		names := strings.TrimSuffix(strings.Repeat(`"a",`, n), ",")
		d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"initialize","params":{"clientInfo":{"name":"n","version":"1"},"capabilities":{"optOutNotificationMethods":[`+names+`]}}}`), state())
		if (d.Verdict == policy.Pass) != passes {
			t.Errorf("%d: %v, %v", n, d.Verdict, d.Err)
		}
	}
}

// TestReasonShowsShortValues checks that a reason has the whole value up to 80 bytes, and the start
// of a longer one.
func TestReasonShowsShortValues(t *testing.T) {
	for n, want := range map[int]string{
		78: `"` + strings.Repeat("x", 78) + `" is not in policy.approval`, 79: `"` + strings.Repeat("x", 79) + `… (81 bytes) is not in policy.approval`,
	} {
		d := compile(t, contract()).Decide(message(t, `{"id":1,"method":"turn/start","params":{"threadId":"T","input":[],"approvalPolicy":"`+strings.Repeat("x", n)+`"}}`), state())
		if len(d.Changes) != 1 || !strings.HasPrefix(d.Changes[0].Reason, want) {
			t.Errorf("%d: %+v", n, d.Changes)
		}
	}
}

// TestOfferedResults checks that the results are Codex's offered decisions, or the plain ones
// without an offer.
func TestOfferedResults(t *testing.T) {
	for params, want := range map[string]string{
		`{"availableDecisions":["accept",{"x":{}}]}`: `{"decision":"accept"} {"decision":{"x":{}}}`,
		`{"availableDecisions":[]}`:                  ``,
		`{"availableDecisions":null}`:                `{"decision":"accept"} {"decision":"acceptForSession"} {"decision":"decline"} {"decision":"cancel"}`,
		`{}`:                                         `{"decision":"accept"} {"decision":"acceptForSession"} {"decision":"decline"} {"decision":"cancel"}`,
	} {
		var got []string
		for _, raw := range serverrequest.OfferedResults(commandQuestion, value(t, params)) {
			got = append(got, string(raw))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s", params, got)
		}
	}
}

// TestPatchThatCodexAsksAbout checks that a patch of protected paths is denied if the bridge can't
// ask, unless Codex asks. Codex asks about a whole patch that changes one file in .git, .codex or
// .agents at the top of the workspace, as the patch spells it, and not about one below.
func TestPatchThatCodexAsksAbout(t *testing.T) {
	cfg := contract()
	cfg.Escalation, cfg.ProtectedPaths = "ask", []string{".vscode"}
	paths := maps.Clone(disk)
	paths["/code/proj/.codex-bridge.toml"] = "sub/policy.toml"
	for files, want := range map[string]policy.Verdict{
		".vscode/a":              policy.Deny,
		".vscode/a .git/b":       policy.Pass,
		".vscode/a .agents/b":    policy.Pass,
		".vscode/a sub/.git/b":   policy.Deny,
		".vscode/a .gits/b":      policy.Deny,
		".git/b":                 policy.Pass,
		"sub/.git/b":             policy.Deny,
		"sub/.codex/b":           policy.Deny,
		"hooks/b":                policy.Deny, // a link to .git/hooks, which Codex does not see
		"way/b":                  policy.Deny,
		"sub/a":                  policy.Pass,
		".codex-bridge.toml":     policy.Deny, // a link to another file
		"sub/.codex-bridge.toml": policy.Pass,
		"in/a":                   policy.Pass,
		"/srv/a":                 policy.Pass, // Codex asks
	} {
		patch := "*** Begin Patch\n"
		for file := range strings.FieldsSeq(files) {
			patch += "*** Add File: " + file + "\n+x\n"
		}
		raw, err := json.Marshal(map[string]string{"command": patch + "*** End Patch"})
		if err != nil {
			t.Fatal(err)
		}
		st := state()
		st.Paths = paths
		st.Thread.Sandbox, st.Thread.Approval = "workspace-write", json.RawMessage(`"on-request"`)
		d := toolcall.Decide(compile(t, cfg), toolcall.Call{Name: "apply_patch", Input: value(t, string(raw)), Cwd: "/code/proj"}, st)
		if d.Verdict != want {
			t.Errorf("%s: %v, %v", files, d.Verdict, d.Err)
		}
	}
}

// TestRulesOfPatchedFiles checks that rules for files apply to the target of a patch, and to the
// name in the patch if the target is unknown.
func TestRulesOfPatchedFiles(t *testing.T) {
	cfg := contract()
	cfg.Rules = []config.Rule{
		{Tool: "file", Path: "/code/proj/sub/**", Decision: "deny", Reason: "Not in sub."}, {Tool: "file", Path: "/code/proj/loop/**", Decision: "deny", Reason: "No loops."},
	}
	for file, want := range map[string]string{"in/a": "Not in sub", "sub/a": "Not in sub", "/code/proj/in/a": "Not in sub", "loop/a": "No loops", "other/a": "", "\u00a0/../other/a": "Not in sub", "s\tub/a": "Not in sub"} {
		raw, err := json.Marshal(map[string]string{"command": "*** Begin Patch\n*** Add File: " + file + "\n+x\n*** End Patch"})
		if err != nil {
			t.Fatal(err)
		}
		st := state()
		st.Thread.Sandbox = "workspace-write"
		d := toolcall.Decide(compile(t, cfg), toolcall.Call{Name: "apply_patch", Input: value(t, string(raw)), Cwd: "/code/proj"}, st)
		if want == "" && d.Verdict != policy.Pass || want != "" && (d.Err == nil || !strings.Contains(d.Err.Message, want)) {
			t.Errorf("%s: %v, %v", file, d.Verdict, d.Err)
		}
	}
}

// TestReasonForTrustedSubfolder checks that the overlay has a trusted project's subfolder if the
// user's configuration trusts another folder of the project.
func TestReasonForTrustedSubfolder(t *testing.T) {
	cfg := contract()
	cfg.ProjectTrust = "user"
	st := state()
	st.Defaults = &policy.Defaults{Cwd: "/code/proj/sub", Projects: policy.Projects{Own: map[string]bool{"/code/proj": true}}}
	d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj/sub","approvalPolicy":"on-request","sandbox":"read-only"}}`), st)
	const want = "the user's own configuration trusts the project; the overlay repeats it for this folder, so that Codex stores nothing"
	if len(d.Changes) != 1 || d.Changes[0].Reason != want {
		t.Errorf("%+v, %v", d.Changes, d.Err)
	}
}

// TestOverlayKeepsAllowedEffort checks that an overlay keeps the client's value of a key that the
// bridge would add to an overlay without it.
func TestOverlayKeepsAllowedEffort(t *testing.T) {
	cfg := contract()
	cfg.Efforts = []string{"low", "high"}
	p := compile(t, cfg)
	st := state()
	st.Defaults = &policy.Defaults{Effort: "xhigh"}
	for overlay, want := range map[string]string{
		`{}`:                                  `"config":{"model_reasoning_effort":"low"}`,
		`{"model_reasoning_effort":"high"}`:   `"config":{"model_reasoning_effort":"high"}`,
		`{"model_reasoning_effort":"xhigh"}`:  `"config":{"model_reasoning_effort":"low"}`,
		`{"model_reasoning_effort":["high"]}`: `"config":{"model_reasoning_effort":"low"}`,
	} {
		d := p.Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj","config":`+overlay+`}}`), st)
		if !strings.Contains(string(d.Message), want) {
			t.Errorf("%s: Codex gets %s, %v", overlay, d.Message, d.Err)
		}
	}
}
