package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"codex-bridge.example/bridge/policy"
)

// TestLayerKeepsDenialsOfUser checks that a thread keeps what the user's own profile denies if a stronger
// layer of Codex's configuration has another sandbox, and gets no more than that sandbox.
func TestLayerKeepsDenialsOfUser(t *testing.T) {
	const (
		mine     = `"default_permissions":"mine"`
		user     = `{"name":{"type":"user","file":"/home/ada/.codex/config.toml"},"config":{` + mine + `}}`
		managed  = `{"name":{"type":"legacyManagedConfigTomlFromFile","file":"/etc/codex/managed_config.toml"},"config":{"sandbox_mode":"workspace-write"}}`
		readOnly = "codex-bridge-read-only-of-mine"
	)
	flags := func(config string) string { return `{"name":{"type":"sessionFlags"},"config":{` + config + `}}` }
	project := func(config string) string {
		return `{"name":{"type":"project","dotCodexFolder":"/code/proj/.codex"},"config":{` + config + `}}`
	}
	disabled := strings.Replace(project(`"sandbox_mode":"workspace-write","permissions":{"mine":{}}`), `"config"`, `"disabledReason":"it is untrusted","config"`, 1)
	for name, test := range map[string]struct {
		config, params string
		layers         []string
		profile        string // that the thread gets; "": none
		refused        string
	}{
		"no other layer":         {mine, ``, []string{user}, "codex-bridge-of-mine", ""},
		"flag read-only":         {`"sandbox_mode":"read-only",` + mine, ``, []string{flags(`"sandbox_mode":"read-only"`), user}, readOnly, ""},
		"flag :read-only":        {`"default_permissions":":read-only"`, ``, []string{flags(`"default_permissions":":read-only"`), user}, readOnly, ""},
		"flag below sandbox":     {`"sandbox_mode":"read-only",` + mine, `,"sandbox":"workspace-write"`, []string{flags(`"sandbox_mode":"read-only"`), user}, "codex-bridge-no-tmpdir-of-mine", ""},
		"flag beside profile":    {`"sandbox_mode":"read-only",` + mine, `,"permissions":"mine"`, []string{flags(`"sandbox_mode":"read-only"`), user}, "codex-bridge-of-mine", ""},
		"flag full access":       {`"sandbox_mode":"danger-full-access",` + mine, ``, []string{flags(`"sandbox_mode":"danger-full-access"`), user}, "codex-bridge-no-tmpdir-of-mine", ""},
		"project":                {`"sandbox_mode":"workspace-write",` + mine, ``, []string{project(`"sandbox_mode":"workspace-write"`), user}, "codex-bridge-no-tmpdir-of-mine", ""},
		"project :workspace":     {`"default_permissions":":workspace"`, ``, []string{project(`"default_permissions":":workspace"`), user}, "codex-bridge-of-mine", ""},
		"project, same profile":  {mine, ``, []string{project(mine), user}, "codex-bridge-of-mine", ""},
		"untrusted project":      {`"sandbox_mode":"read-only",` + mine, ``, []string{disabled, strings.Replace(user, mine, `"sandbox_mode":"read-only",`+mine, 1)}, "codex-bridge-of-mine", ""},
		"managed":                {`"sandbox_mode":"workspace-write",` + mine, ``, []string{managed, user}, "codex-bridge-no-tmpdir-of-mine", ""},
		"machine's below user's": {`"sandbox_mode":"read-only",` + mine, ``, []string{strings.Replace(user, mine, `"sandbox_mode":"read-only"`, 1), strings.Replace(user, `"user"`, `"system"`, 1)}, "", ""},
		"project's profile":      {`"default_permissions":"other"`, ``, []string{project(`"default_permissions":"other"`), user}, "", "in place of mine"},
		"flag and both":          {`"sandbox_mode":"read-only","default_permissions":"other"`, ``, []string{flags(`"sandbox_mode":"read-only"`), project(`"default_permissions":"other"`), user}, "", "in place of mine"},
		"project changes it":     {mine, ``, []string{project(`"permissions":{"mine":{"filesystem":{"/etc/keys":"read"}}}`), user}, "", "the configuration of a project has [permissions.mine]"},
	} {
		profiles := strings.TrimSuffix(guardedProfile, "}") + `,"other":{"extends":":read-only","filesystem":{"/etc/other":"deny"}}}`
		d, err := policy.ParseDefaults(value(t, `{"config":{`+test.config+`,"permissions":`+profiles+`,"sandbox_workspace_write":{"exclude_tmpdir_env_var":true}},"layers":[`+strings.Join(test.layers, ",")+`]}`))
		if err != nil {
			t.Fatal(err)
		}
		cfg := contract()
		if cfg.Sandbox = "workspace-write"; strings.Contains(name, "full access") {
			cfg.Sandbox = "danger-full-access"
		}
		sent, decision := sendThread(t, compile(t, cfg), d, test.params)
		if refused := decision.Err != nil; refused != (test.refused != "") || refused && !strings.Contains(decision.Err.Message, test.refused) {
			t.Errorf("%s: %v", name, decision.Err)
			continue
		}
		base := "codex-bridge-of-mine" // which the other variants extend
		if test.profile == readOnly {
			base = readOnly
		}
		denied := sent.Params.Config.Permissions[base].Filesystem["/etc/keys"]
		if sent.Params.Permissions != test.profile || test.profile != "" && denied != "deny" {
			t.Errorf("%s: Codex gets %q, which has %v: %s", name, sent.Params.Permissions, denied, decision.Message)
		}
	}

	d, err := policy.ParseDefaults(value(t, `{"config":{"default_permissions":"other","permissions":`+guardedProfile+`},"layers":[`+flags(`"default_permissions":"other"`)+`,`+user+`]}`))
	if err != nil || d.UserProfile().Name != "other" {
		t.Errorf("a profile that the command line names does not count: %v, %v", d, err)
	}
}

// A sandbox of a request's overlay counts only where Codex takes it: not beside default_permissions of the
// command line, with which it is in one layer, and not beside the machine's managed configuration.
func TestSandboxOfOverlayBesideLayers(t *testing.T) {
	const writes, workspace = `{"sandbox_mode":"workspace-write"}`, `{"default_permissions":":workspace"}`
	for _, c := range []struct{ layer, config, overlay, want string }{
		{"sessionFlags", `"default_permissions":":read-only"`, writes, "read-only"},
		{"sessionFlags", `"default_permissions":":read-only"`, workspace, "workspace-write"},
		{"sessionFlags", `"sandbox_mode":"read-only"`, writes, "workspace-write"},
		{"legacyManagedConfigTomlFromFile", `"default_permissions":":read-only"`, workspace, "read-only"},
		{"legacyManagedConfigTomlFromFile", `"sandbox_mode":"read-only"`, writes, "read-only"},
		{"user", `"default_permissions":":read-only"`, writes, "workspace-write"},
	} {
		d, err := policy.ParseDefaults(value(t, `{"config":{`+c.config+`},"layers":[{"name":{"type":"`+c.layer+`"},"config":{`+c.config+`}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{"thread/start", "thread/resume", "thread/fork"} {
			st := state()
			st.Thread, st.ThreadFolder, st.StoredSandbox, st.Defaults = nil, "/code/proj", &policy.SandboxSettings{Mode: "danger-full-access"}, d
			m := message(t, `{"id":1,"method":"`+method+`","params":{"threadId":"T","config":`+c.overlay+`}}`)
			got := compile(t, contract()).Decide(m, st)
			if got.Err != nil {
				t.Fatal(got.Err)
			}
			sandbox := got.Sent.Sandbox
			if sandbox == "" && method == "thread/start" {
				sandbox = "read-only" // Codex takes its default
			}
			if strings.Contains(string(got.Message), `":workspace"`) {
				sandbox = "workspace-write"
			}
			if sandbox != c.want || strings.Contains(string(got.Message), "sandbox_mode") {
				t.Errorf("%s with %s over %s of %s: Codex gets %s, want %s", method, c.overlay, c.config, c.layer, got.Message, c.want)
			}
			st.Defaults = nil
			if again := compile(t, contract()).Decide(m, st); method == "thread/start" && again.Want != policy.WantConfiguration {
				t.Errorf("%s: decided without Codex's configuration: %s", method, again.Message)
			}
		}
	}
}

// The thread with which Codex comes to trust a project gets no more than the project's own sandbox, and no more than the
// policy allows.
func TestProjectThatBecomesTrusted(t *testing.T) {
	const trusts = `,"projects":{"/code/proj":{"trust_level":"untrusted"}}`
	for name, test := range map[string]struct {
		user, project, params, max, trust string
		want                              string
	}{
		"read-only":              {`"default_permissions":"mine"`, `"sandbox_mode":"read-only"`, ``, "workspace-write", "codex", "codex-bridge-read-only-of-mine"},
		"builtin profile":        {`"default_permissions":"mine"`, `"default_permissions":":read-only"`, ``, "workspace-write", "codex", "codex-bridge-read-only-of-mine"},
		"profile of the project": {`"default_permissions":"mine"`, `"default_permissions":"its"`, ``, "workspace-write", "codex", "codex-bridge-read-only-of-mine"},
		"the project has more":   {`"default_permissions":"mine"`, `"sandbox_mode":"danger-full-access"`, ``, "workspace-write", "codex", "codex-bridge-of-mine"},
		"no sandbox":             {`"default_permissions":"mine"`, `"model":"x"`, ``, "workspace-write", "codex", "codex-bridge-of-mine"},
		"asks for the profile":   {`"default_permissions":"mine"`, `"sandbox_mode":"read-only"`, `,"permissions":"mine"`, "workspace-write", "codex", "codex-bridge-of-mine"},
		"asks for a sandbox":     {`"default_permissions":"mine"`, `"sandbox_mode":"read-only"`, `,"sandbox":"workspace-write"`, "workspace-write", "codex", "codex-bridge-of-mine"},
		"stays untrusted":        {`"default_permissions":"mine"` + trusts, `"sandbox_mode":"read-only"`, ``, "workspace-write", "codex", "codex-bridge-of-mine"},
		"the bridge marks it":    {`"default_permissions":"mine"`, `"sandbox_mode":"read-only"`, ``, "workspace-write", "user", "codex-bridge-of-mine"},
		"a flag is stronger":     {`"default_permissions":"mine"`, `"sandbox_mode":"read-only"`, ``, "workspace-write", "codex", "codex-bridge-of-mine"},
		"no profile":             {`"sandbox_mode":"danger-full-access"`, `"sandbox_mode":"read-only"`, ``, "danger-full-access", "codex", "read-only"},
		"policy allows less":     {`"sandbox_mode":"danger-full-access"`, `"sandbox_mode":"workspace-write"`, ``, "read-only", "codex", "read-only"},
	} {
		t.Run(name, func(t *testing.T) {
			project := `{"name":{"type":"project","dotCodexFolder":"/code/proj/.codex"},"disabledReason":"untrusted","config":{` + test.project + `}}`
			layers := []string{project, `{"name":{"type":"user","file":"/home/ada/.codex/config.toml"},"config":{` + test.user + `}}`}
			if strings.Contains(name, "flag") {
				layers = []string{`{"name":{"type":"sessionFlags"},"config":{"default_permissions":"mine"}}`, project}
				test.user = `"default_permissions":"mine"`
			}
			d := parseDefaults(t, []byte(`{"config":{`+test.user+`,"permissions":`+guardedProfile+`},"layers":[`+strings.Join(layers, ",")+`]}`))
			cfg := contract()
			cfg.Sandbox, cfg.ProjectTrust = test.max, test.trust
			if test.trust == "codex" {
				d.Cwd = "/code/proj"
			}
			sent, decision := sendThread(t, compile(t, cfg), d, test.params)
			if got := sent.Params.Permissions + sent.Params.Sandbox; decision.Err != nil || got != test.want {
				t.Errorf("%v, Codex gets %q", decision.Err, got)
			}
		})
	}
}

// TestSandboxOfLayers checks which of sandbox_mode and default_permissions counts. Each case was
// measured with Codex 0.169.
func TestSandboxOfLayers(t *testing.T) {
	for _, c := range []struct{ first, second, sends string }{
		{`{"sandbox_mode":"read-only"}`, `{"default_permissions":":workspace"}`, `{}`},
		{`{"default_permissions":":workspace"}`, `{"sandbox_mode":"danger-full-access"}`, `{}`},
		{`{"sandbox_mode":"danger-full-access"}`, `{"default_permissions":":read-only"}`, `{"sandbox":"workspace-write"}`},
		{`{"sandbox_mode":"danger-full-access","default_permissions":":read-only"}`, `{}`, `{}`},
	} {
		all := map[string]any{}
		for _, layer := range []string{c.second, c.first} {
			if err := json.Unmarshal([]byte(layer), &all); err != nil {
				t.Fatal(err)
			}
		}
		merged, _ := json.Marshal(all)
		d, err := policy.ParseDefaults(value(t, `{"config":`+string(merged)+`,"layers":[{"name":{"type":"sessionFlags"},"config":`+c.first+
			`},{"name":{"type":"user","file":"/home/ada/.codex/config.toml"},"config":`+c.second+`}]}`))
		if err != nil {
			t.Fatal(err)
		}
		st := state()
		st.Defaults = d
		got := compile(t, contract()).Decide(message(t, `{"id":1,"method":"thread/start","params":{}}`), st)
		if want := `{"id":1,"method":"thread/start","params":` + c.sends + `}`; string(got.Message) != want {
			t.Errorf("%s over %s: %s, want %s", c.first, c.second, got.Message, want)
		}
	}
}
