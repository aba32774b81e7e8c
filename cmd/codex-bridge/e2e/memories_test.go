//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/scripted"
)

// Codex's agent for memories runs commands without a question. Its sandbox allows only the folder
// of the memories, and the bridge's hooks decide about its calls. With Codex alone, the rules of the
// thread's project let it leave the sandbox.
func TestMemories(t *testing.T) {
	t.Parallel()
	const denies = "[policy]\n[[policy.rule]]\ncommand = \"touch **\"\ndecision = \"deny\"\nreason = \"No touch.\"\n"
	for name, test := range map[string]struct {
		config string // of the bridge; empty: Codex alone
		runs   bool
		output string // of the agent's command
	}{
		"alone":      {runs: true, output: "Process exited with code 0"},
		"enforced":   {config: "[policy]\n", runs: true, output: "Read-only file system"},
		"deny rule":  {config: denies, output: "No touch"},
		"its models": {config: "[policy]\nmodels = [\"" + scripted.Model + "\"]\n", output: "policy.models"},
	} {
		if !isSampledName(2, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: test.config, codexConfig: "[features]\nmemories = true\n"})
			w.trust(allow(`["touch"]`))
			w.model.Add(scripted.Step{When: "memory_summary.md", Reply: scripted.Reply{scripted.Run("touch inside; touch " + w.root + "/outside")}})
			argv := proxyArgv
			if test.config == "" {
				argv = []string{codexPath, "app-server"}
			}
			a := w.newAcceptingEditor(argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			a.runTurn(thread, "hello")
			answered, err := w.model.Await(a.ctx, func(r scripted.Request) bool {
				body := string(r.Body)
				return strings.Contains(body, "memory_summary.md") && strings.Contains(body, "function_call_output")
			})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(answered.Body), test.output) {
				t.Errorf("the command's output lacks %q: %s", test.output, answered.Input[len(answered.Input)-1])
			}
			if w.hasFile("home/memories_v2/inside") != test.runs {
				t.Errorf("command ran: %t", !test.runs)
			}
			if alone := test.config == ""; w.hasFile("outside") != alone {
				t.Errorf("the command wrote outside its sandbox: %t", !alone)
			}
			if len(a.reasons) > 0 {
				t.Errorf("questions: %q", a.reasons)
			}
			a.CloseInput()
		})
	}
}

// trust makes the workspace a project that the user trusts, with rules for commands.
func (w *world) trust(rules string) {
	w.t.Helper()
	own, err := os.ReadFile(filepath.Join(w.home, "config.toml"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.write("home/config.toml", fmt.Sprintf("%s\n[projects.%q]\ntrust_level = \"trusted\"\n", own, w.workspace))
	w.write("workspace/.codex/rules/own.rules", rules)
}
