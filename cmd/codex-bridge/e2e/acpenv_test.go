//go:build linux

package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/scripted"
)

// The ways in which editors give the bridge to codex-acp, as in docs/guides/editors.md. A question
// about a command shows that the bridge is used: Codex alone would not ask about one that stays in the sandbox.
func TestEditorsStartBridgeThroughACP(t *testing.T) {
	t.Parallel()
	const policy = "[policy]\nmode = \"enforce\"\napproval = [\"untrusted\"]\nsandbox = \"read-only\"\n"
	adapter := acpAgent
	for name, start := range map[string]func(*world) map[string]any{
		// CodeCompanion passes only API keys, so the command sets the variable.
		"by the command": func(w *world) map[string]any {
			return map[string]any{"command": []string{"env", "CODEX_PATH=" + proxyPath, adapter}}
		},
		// avante passes the variables that its configuration names: all paths are the defaults.
		"the environment alone": func(w *world) map[string]any {
			home := filepath.Join(w.root, "person")
			if err := scripted.Home(filepath.Join(home, ".codex"), w.model.URL(), ""); err != nil {
				t.Fatal(err)
			}
			w.write("person/.config/codex-bridge/config.toml", policy)
			bin := filepath.Join(w.root, "bin")
			if err := os.Mkdir(bin, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(codexPath, filepath.Join(bin, "codex")); err != nil {
				t.Fatal(err)
			}
			return map[string]any{"command": []string{adapter}, "env": map[string]string{
				"HOME": home, "PATH": bin + ":" + os.Getenv("PATH"), "CODEX_PATH": proxyPath,
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: policy})
			params := start(w)
			params["cwd"], params["permission"] = w.workspace, "allow_once"
			params["prompts"] = []string{"good day", "RUN: echo from the shell"}
			lines := w.node("acp.mjs", []string{"INITIAL_AGENT_MODE=workspace-write"}, marshal(t, params))
			var last struct {
				Step, Text string
				Asked      []any
			}
			if len(lines) < 2 {
				t.Fatal(strings.Join(lines, "\n"))
			}
			if err := json.Unmarshal([]byte(lines[len(lines)-2]), &last); err != nil {
				t.Fatal(err)
			}
			if last.Step != "prompt" || len(last.Asked) != 1 || last.Text != "The tool ended with 0 and said: from the shell" {
				t.Errorf("%s", strings.Join(lines, "\n"))
			}
		})
	}
}
