//go:build linux

package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge/cmd/internal/scripted"
)

// The ways in which editors hand the bridge to codex-acp, as docs/guides/editors.md has them.
// That a command is asked about shows the bridge in between: codex alone would not ask.
func TestACPEnvironments(t *testing.T) {
	t.Parallel()
	const policy = "[policy]\nmode = \"enforce\"\napproval = [\"untrusted\"]\nsandbox = \"read-only\"\n"
	adapter := acpAgent
	for name, start := range map[string]func(*world) map[string]any{
		// CodeCompanion hands on keys of the API alone, so that the command sets it.
		"by the command": func(w *world) map[string]any {
			return map[string]any{"command": []string{"env", "CODEX_PATH=" + proxyPath, adapter}}
		},
		// avante hands on what its configuration names: all is where it is by default.
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
			lines := w.node("acp.mjs", []string{"INITIAL_AGENT_MODE=agent-full-access"}, marshal(t, params))
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
