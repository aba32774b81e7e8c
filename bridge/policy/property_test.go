package policy_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

var sixMethods = []string{
	"thread/start", "thread/resume", "thread/fork", "turn/start", "thread/settings/update", "turn/settings/update",
}

// pieces are the members of adversarial messages: for each the values that Codex reads, those that
// it reads in another form, and nonsense.
var pieces = map[string][]string{
	"approvalPolicy": {
		`"untrusted"`, `"on-request"`, `"never"`, `"\u006eever"`, `{"never":null}`, `["never"]`, `"on-failure"`, `null`, `{}`, `7`,
		`{"granular":{"sandbox_approval":true,"rules":true,"mcp_elicitations":true}}`,
		`{"granular":{"sandbox_approval":true,"rules":false,"mcp_elicitations":true}}`,
		`{"granular":{"sandbox_approval":false,"rules":false,"mcp_elicitations":false,"request_permissions":false,"skill_approval":false}}`,
		`{"granular":[false,false,false,false,false]}`, `{"granular":{"sandbox_approval":true}}`, `{"never":null,"untrusted":null}`,
	},
	"approvalsReviewer": {`"user"`, `"auto_review"`, `"guardian_subagent"`, `{"auto_review":null}`, `null`, `[]`, `"AutoReview"`},
	"sandbox": {
		`"read-only"`, `"workspace-write"`, `"danger-full-access"`, `{"danger-full-access":null}`, `["danger-full-access"]`, `null`, `true`, `""`,
	},
	"permissions": {`":read-only"`, `":workspace"`, `":danger-full-access"`, `"dev"`, `null`, `{":danger-full-access":null}`, `""`, `":Workspace"`},
	"sandboxPolicy": {
		`{"type":"readOnly"}`, `{"type":"readOnly","networkAccess":true}`, `{"type":"dangerFullAccess"}`, `["dangerFullAccess"]`,
		`{"type":"workspaceWrite"}`, `{"networkAccess":true,"type":"workspaceWrite","writableRoots":["/etc","/code/proj/in","/code/proj/out"]}`,
		`{"type":"workspaceWrite","writableRoots":["/code/proj/sub"],"excludeSlashTmp":true,"excludeTmpdirEnvVar":null}`,
		`{"type":"workspaceWrite","writableRoots":"/etc","networkAccess":"enabled","access":{}}`,
		`{"type":"externalSandbox","networkAccess":"enabled"}`, `{"type":"externalSandbox","networkAccess":{"enabled":null}}`, `{"type":"externalSandbox"}`,
		`{"type":"workspaceWrite","writableRoots":["/code/proj/.git","/code/proj/sub/.Codex/x","/code/proj/hooks","/code/proj/.github"]}`,
		`{"type":["dangerFullAccess"]}`, `{}`, `null`, `"dangerFullAccess"`, `{"type":"workspaceWrite","writableRoots":["/",".","~","/home/ada/x","/srv/out/b"]}`,
	},
	"cwd": {
		`"/code/proj"`, `"/code/proj/sub"`, `"/code/proj/in"`, `"/code/proj/out"`, `"/code/link"`, `"/"`, `"/home"`, `"/home/ada"`, `"/home/ada/p"`,
		`"/srv/link/.."`, `"~"`, `"~/x"`, `".."`, `""`, `"/etc"`, `null`, `7`, `["/etc"]`, `"/code/proj/../../etc"`, `"/code/proj/loop"`, `"/srv/out/b"`, `"/code/project"`,
		`"/home/ada/.codex"`, `"~/.codex/rules"`, `"/home/ada/.codex/worktrees"`, `"/home/ada/.codex/worktrees/1a/proj"`, `"/HOME/ada/.Codex"`, `"/home/ada/.config"`,
		`"/home/ada/.local/state/codex-bridge/x"`, `"/code/proj/.git"`, `"/code/proj/hooks"`, `"/code/proj/.agents/skills"`, `"/code/proj/.gitignore"`, `"/code/proj/.GIT/x"`,
	},
	"runtimeWorkspaceRoots": {`[]`, `["/etc"]`, `["/code/proj/sub","/etc"]`, `["/code/proj/in"]`, `["/code/proj/out"]`, `null`, `"/etc"`, `[["/etc"]]`, `["/srv/out"]`, `["/home/ada"]`, `["/code/proj","/code/proj/.git"]`, `["/code/proj/hooks"]`},
	"environments": {
		`[]`, `null`, `[{"environmentId":"local","cwd":"/etc"}]`, `[{"environmentId":"local","cwd":"/code/proj/sub"}]`, `[["local","/etc",["/etc"]]]`,
		`[{"environmentId":"local","cwd":"/code/proj/in","runtimeWorkspaceRoots":["/opt","/code/proj"]},{"environmentId":"far","cwd":"/code/proj"}]`,
		`[{"environmentId":"local","cwd":"/code/proj/.git/hooks"}]`, `[{"environmentId":"local","cwd":"/code/proj","runtimeWorkspaceRoots":["/code/proj/.codex"]}]`,
		`{"environmentId":"local"}`, `[{"environmentId":"local","cwd":"/code/proj","runtimeWorkspaceRoots":{"a":"/etc"}}]`, `[{"environmentId":"local","cwd":"/code/proj","x":"/etc"}]`,
	},
	"model":  {`"gpt-5.5"`, `"gpt-5-mini"`, `"o9"`, `"vendor/gpt-5"`, `null`, `{"o9":null}`, `""`, `" gpt-5.5"`},
	"effort": {`"low"`, `"ultra"`, `null`, `["ultra"]`, `{"ultra":null}`, `""`},
	"collaborationMode": {
		`{"mode":"plan","settings":{"model":"o9","reasoning_effort":"ultra"}}`, `["plan",{"model":"o9"}]`, `{"mode":"plan","settings":["o9","ultra","x"]}`,
		`{"mode":{"plan":null},"settings":{"model":"gpt-5.5"}}`, `{"mode":"plan","settings":{"model":"gpt-5.5","reasoning_effort":null}}`, `null`, `{"mode":"plan","settings":{}}`,
		`{"settings":{"model":"gpt-5.5","reasoning_effort":"low","developer_instructions":"x"},"mode":"plan"}`,
	},
	"disabledPluginIds":       {`null`, `[]`, `["a@b"]`, `"a@b"`, `{"a@b":null}`},
	"path":                    {`null`, `"/tmp/x.jsonl"`},
	"history":                 {`null`, `[]`, `[{"type":"message"}]`},
	"toolOutput":              {`null`, `{"name":"x","output":"y"}`},
	"selectedCapabilityRoots": {`null`, `[]`, `[{"id":"x"}]`},
	"approval_policy":         {`"never"`},
	"Sandbox":                 {`"danger-full-access"`},
	"sandbox_policy":          {`{"type":"dangerFullAccess"}`},
	"serviceTier":             {`"fast"`, `null`},
	"input":                   {`[{"type":"text","text":"hi","text_elements":[1.50]}]`},
	"later":                   {`{"approvalPolicy":"never"}`},
	"threadId":                {`"T"`, `"T"`, `"T"`, `"\u0054"`, `"U"`, `["T"]`},
}

var segments = []string{
	"model", "review_model", "model_reasoning_effort", "features", "hooks", "codex_hooks", "code_mode", "sandbox_workspace_write",
	"network_access", "writable_roots", "approval_policy", "sandbox_mode", "permissions", "default_permissions", "projects", "profiles",
	"goals", "tools", "update_plan", "enabled", "web_search", "cli_auth_credentials_store", "openai_base_url", "model_providers", "exclude_slash_tmp",
	"bypass_hook_trust", "plugins", "mcp_servers", "a b", "", `"hooks"`, " features", "Features",
}

var leaves = []string{
	`"disabled"`, `"ephemeral"`, `"read-only"`, `"user"`, `":read-only"`,
	`true`, `false`, `"never"`, `"danger-full-access"`, `"o9"`, `"gpt-5.5"`, `"ultra"`, `[]`, `["/etc"]`, `{}`, `null`, `1.50`, `{"danger-full-access":{}}`,
}

func drawPolicy(t *rapid.T) config.Policy {
	some := func(name string, choices ...[]string) []string { return rapid.SampledFrom(choices).Draw(t, name) }
	return config.Policy{
		Mode:           config.Enforce,
		Approval:       some("approval", []string{"untrusted", "on-request"}, []string{"untrusted"}, []string{"on-request", "granular"}, []string{"never", "granular", "untrusted", "on-request"}),
		Sandbox:        rapid.SampledFrom([]string{"read-only", "workspace-write", "danger-full-access"}).Draw(t, "sandbox"),
		Network:        rapid.Bool().Draw(t, "network"),
		WritableRoots:  some("roots", []string{"${workspace}"}, nil, []string{"/srv/out"}, []string{"${workspace}/sub", "/srv/out"}, []string{"${workspace}", "/home"}, []string{"${workspace}", "${workspace}/.git"}),
		Reviewers:      some("reviewers", []string{"user"}, []string{"auto_review"}, []string{"auto_review", "user"}),
		Models:         some("models", nil, []string{"gpt-5*"}, []string{"gpt-5.5"}),
		Efforts:        some("efforts", nil, []string{"low"}),
		ConfigKeys:     some("keys", nil, []string{"model*", "features.code_mode*"}, []string{"**"}),
		ProjectTrust:   rapid.SampledFrom([]string{"never", "user", "codex"}).Draw(t, "trust"),
		UnknownMethods: rapid.SampledFrom([]string{"deny", "allow"}).Draw(t, "unknown"),
	}
}

func drawState(t *rapid.T) policy.State {
	st := state()
	st.StartFolder = rapid.SampledFrom([]string{"/code/proj", "/home/ada", "/", "/home/ada/.codex", "/home/ada/.config"}).Draw(t, "start")
	st.Thread.Workspace = rapid.SampledFrom([]string{"/code/proj", "/home/ada", "/srv/out", "/", "/home/ada/.codex/rules", "/home/ada/.codex/worktrees/1a/proj"}).Draw(t, "workspace")
	if rapid.IntRange(0, 5).Draw(t, "verified") == 0 {
		st.Thread = nil
	}
	text := rapid.SampledFrom([]string{
		`{}`, `{"approval_policy":"never","sandbox_mode":"danger-full-access","approvals_reviewer":"auto_review"}`,
		`{"sandbox_workspace_write":{"network_access":true,"writable_roots":["/opt","/code/proj/in","/code/proj/.git"]},"model":"o9","model_reasoning_effort":"ultra"}`,
		`{"default_permissions":"dev","sandbox_mode":"read-only"}`, `{"default_permissions":":workspace","sandbox_workspace_write":{"network_access":true}}`,
		`{"approval_policy":{"granular":{"sandbox_approval":true,"rules":true,"mcp_elicitations":true}},"sandbox_mode":"workspace-write","sandbox_workspace_write":{"writable_roots":["/srv/out/x"]}}`,
	}).Draw(t, "defaults")
	own, flags := drawProjects(t, "own"), drawProjects(t, "flags")
	text = strings.Replace(text, "{", `{"projects":`+merge(own, flags)+`,`, 1)
	text = strings.Replace(text, ",}", "}", 1)
	d, err := rpc.ParseValue([]byte(`{"config":` + text + `,"layers":[{"name":{"type":"sessionFlags"},"config":{"projects":` + merge(flags) +
		`}},{"name":{"type":"user","file":"/home/ada/.codex/config.toml"},"config":{"projects":` + merge(own) + `}}]}`))
	if err != nil {
		panic(err)
	}
	if st.Defaults, err = policy.ParseDefaults(d.Root()); err != nil {
		panic(err)
	}
	switch rapid.IntRange(0, 3).Draw(t, "stands") {
	case 0:
		st.UnknownThread = true
	case 1:
	default:
		st.ThreadFolder = rapid.SampledFrom(projectFolders).Draw(t, "stands in")
	}
	st.Repositories = repositories{"/code/proj/sub": {"/code/proj"}, "/code/wt": {"/code/proj"}, "/code/wt/sub": {"/code/wt", "/code/proj"}}
	return st
}

var projectFolders = []string{"/code/proj", "/code/proj/sub", "/code/wt", "/code/wt/sub", "/etc", "/srv/out"}

func drawProjects(t *rapid.T, name string) map[string]string {
	return rapid.MapOfN(rapid.SampledFrom(projectFolders), rapid.SampledFrom([]string{"trusted", "untrusted"}), 0, 3).Draw(t, name)
}

// merge returns a projects table; the last value of a key wins.
func merge(tables ...map[string]string) string {
	all := map[string]any{}
	for _, table := range tables {
		for folder, level := range table {
			all[folder] = map[string]string{"trust_level": level}
		}
	}
	text, _ := json.Marshal(all)
	return string(text)
}

func drawOverlay(t *rapid.T, depth int) string {
	var b strings.Builder
	b.WriteByte('{')
	used := map[string]bool{}
	for range rapid.IntRange(0, 4).Draw(t, "members") {
		key := strings.Join(rapid.SliceOfN(rapid.SampledFrom(segments), 1, 3).Draw(t, "key"), ".")
		if used[key] {
			continue
		}
		used[key] = true
		value := rapid.SampledFrom(leaves).Draw(t, "leaf")
		if depth > 0 && rapid.Bool().Draw(t, "nested") {
			value = drawOverlay(t, depth-1)
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(key)
		fmt.Fprintf(&b, "%s:%s", name, value)
	}
	b.WriteByte('}')
	return b.String()
}

func drawLine(t *rapid.T) string {
	method := rapid.SampledFrom(sixMethods).Draw(t, "method")
	names := make([]string, 0, len(pieces)+1)
	for name := range pieces {
		names = append(names, name)
	}
	names = append(names, "config")
	chosen := rapid.SliceOfNDistinct(rapid.SampledFrom(sorted(names)), 0, 8, rapid.ID[string]).Draw(t, "members")
	var members []string
	if method != "thread/start" {
		members = append(members, `"threadId":"T"`)
	}
	for _, name := range chosen {
		value := ""
		switch name {
		case "config":
			value = drawOverlay(t, 2)
		case "threadId":
			continue
		default:
			value = rapid.SampledFrom(pieces[name]).Draw(t, name)
		}
		members = append(members, fmt.Sprintf("%q:%s", name, value))
	}
	return fmt.Sprintf(`{"id":1,"method":%q,"params":{%s}}`, method, strings.Join(members, ","))
}

// TestNothingExceeds checks that Codex's messages stay inside the policy for any request, and the
// properties of checkDecision.
func TestNothingExceeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, st, line := drawPolicy(t), drawState(t), drawLine(t)
		m, err := rpc.ParseMessage([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		p, err := policy.New(cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		d := p.Decide(m, st)
		if d.Want == policy.WantConfiguration && d.ConfigCwd != "" {
			// The project's own configuration is empty.
			st.Defaults.Cwd = d.ConfigCwd
			d = p.Decide(m, st)
		}
		checkDecision(t, cfg, m, d, st)
		if d.Verdict == policy.Deny {
			return
		}
		if bad := exceeds(cfg, st, d.Message); len(bad) > 0 {
			t.Fatalf("%v\n%s\n%s\n%+v\n%+v", bad, line, d.Message, cfg, st.Thread)
		}
	})
}

func FuzzDecide(f *testing.F) {
	for name, values := range pieces {
		for i, v := range values {
			f.Add(fmt.Sprintf(`{"threadId":"T",%q:%s}`, name, v), uint8(i))
		}
	}
	f.Add(`{"threadId":"T","config":{"features":{"hooks":false},"a.b":{"c":{}}}}`, uint8(0))
	f.Fuzz(func(t *testing.T, params string, n uint8) {
		method := sixMethods[int(n)%len(sixMethods)]
		m, err := rpc.ParseMessage([]byte(`{"id":1,"method":"` + method + `","params":` + params + `}`))
		if err != nil {
			return
		}
		cfg, st := contract(), state()
		d := compile(t, cfg).Decide(m, st)
		checkDecision(t, cfg, m, d, st)
		if d.Verdict == policy.Deny {
			return
		}
		if bad := exceeds(cfg, st, d.Message); len(bad) > 0 {
			t.Fatalf("%v\n%s\n%s", bad, m.Bytes(), d.Message)
		}
	})
}
