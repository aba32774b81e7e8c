package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"

	"github.com/google/go-cmp/cmp"
)

func TestUnenforcedListsKeysWithoutEffect(t *testing.T) {
	for _, tt := range []struct{ name, toml, want string }{
		{"nothing", "", ""},
		{"what is acted on", `
[codex]
args = ["-v"]
[codex.env]
A = "b"
[policy]
mode = "enforce"
approval = ["untrusted"]
sandbox = "read-only"
network = false
writable_roots = []
reviewers = ["user"]
models = ["a"]
efforts = ["low"]
config_keys = []
commands = ["login", "mcp list"]
escalation = "ask"
protected_paths = [".vscode"]
project_trust = "never"
[[policy.rule]]
tool = "shell"
decision = "deny"
[hooks]
max_revisions = 2
[[hooks.handler]]
event = "stop"
command = ["x"]
[thread]
service_name = "x"
[thread.config]
x = 1
[trace]
enabled = true
max_event = "1MiB"
[store]
url = "postgres://db/x"
`, ""},
		{"what asks for nothing", `
[policy]
gate = false
commands = ["*"]
unknown_methods = "allow"
protected_paths = []
[policy.methods]
[trace]
enabled = false
[store]
url = ""
[acp]
[tools]
`, ""},
		{"restrictions", `
[policy]
mode = "audit"
gate = true
commands = ["login"]
unknown_methods = "deny"
protected_paths = [".git", ".vscode"]
escalation = "deny"
[policy.methods]
"a/b" = "deny"
"c/d" = "ask"
"bridge/acp/spawn" = "ask"
"bridge/turn/run" = "deny"
[[policy.rule]]
tool = "shell"
decision = "deny"
[[policy.rule]]
tool = "shell"
decision = "ask"
[hooks]
events = ["stop"]
`, `
4 policy.gate
7 policy.protected_paths
12 policy.methods."bridge/acp/spawn"
14 policy.rule
17 policy.rule
`},
		{"Codex does not ask about each call", `
[policy]
mode = "audit"
gate = false
approval = ["untrusted"]
models = ["a"]
efforts = ["low"]
protected_paths = [".vscode"]
[[policy.rule]]
tool = "mcp"
decision = "deny"
[[policy.rule]]
tool = "mcp"
decision = "allow"
[hooks]
events = ["stop"]
`, `
6 policy.models
7 policy.efforts
8 policy.protected_paths
9 policy.rule
`},
		{"warnings", `
[policy]
escalation = "ask"
[policy.methods]
"a/b" = "allow"
[[policy.rule]]
tool = "shell"
decision = "allow"
[approvals]
remember = "session"
[hooks]
[tools.a]
description = "a"
command = ["a"]
[tool_servers.b]
command = ["b"]
[steering]
quiet = "1s"
[acp.agents."c.d"]
command = ["c"]
`, `
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := load(write(t, tt.toml))
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, n := range c.Unenforced() {
				fmt.Fprintf(&got, "%d %s\n", n.Origin.Line, n.Key)
			}
			if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A notice names the file of its layer.
func TestUnenforcedNamesFileOfLayer(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, config.WorkspaceFile), []byte("[policy]\nmode = \"audit\"\nprotected_paths = [\".ci\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	user := write(t, "[policy]\nmode = \"audit\"\ngate = true\n[hooks]\nevents = [\"stop\"]\n")
	c, err := config.Load(config.Options{User: user, Workspace: dir})
	if err != nil {
		t.Fatal(err)
	}
	const hint = `add "pre_tool_use" to hooks.events; the key needs a hook for each call`
	workspace := filepath.Join(dir, config.WorkspaceFile)
	want := []config.Notice{
		{Key: "policy.gate", Origin: config.Origin{Layer: config.User, File: user, Line: 3, Column: 1}, Hint: hint},
		{Key: "policy.protected_paths", Origin: config.Origin{Layer: config.Workspace, File: workspace, Line: 3, Column: 1}, Hint: hint},
	}
	if diff := cmp.Diff(want, c.Unenforced()); diff != "" {
		t.Error(diff)
	}
}
