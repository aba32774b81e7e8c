//go:build linux

package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/scripted"
)

// A program of code mode goes on in later turns, and its commands have the sandbox of the turn that began it: with
// Codex alone they write outside of that of the later turn. The bridge judges them by their own turn. A program of a
// full-access turn may not write what the policy protects, and nothing at all if the policy no longer allows full access.
func TestCommandsOfEarlierTurn(t *testing.T) {
	t.Parallel()
	const config = "[policy]\nprotected_paths = [\".vscode\"]\napproval = [\"on-request\"]\nsandbox = \"danger-full-access\"\nnetwork = true\n"
	for name, test := range map[string]struct {
		argv      []string
		tightened bool // the policy, between the turns
		protected bool // is written
		allowed   bool // what the policy does not protect is written
	}{
		"control: Codex alone": {[]string{codexPath, "app-server"}, false, true, true},
		"bridge":               {proxyArgv, false, false, true},
		"tightened":            {proxyArgv, true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{mute: "many", config: config, codexConfig: "suppress_unstable_features_warning = true\n[features]\ncode_mode = true\n"})
			w.write("workspace/.vscode/settings.json", "{}")
			w.model.Add(scripted.Step{When: "CODE", Reply: scripted.Reply{scripted.CustomCall{Tool: "exec", Input: fmt.Sprintf(`// @exec: {"yield_time_ms": 500}
const run = async cmd => { try { return (await tools.exec_command({cmd})).exit_code } catch (e) { text(cmd+e); return -1 } };
while (await run("test -e ready") === 1) await new Promise(done => setTimeout(done, 200));
await run("touch .vscode/made"); await run("touch %s/allowed"); text("END")`, w.root)}}})
			w.model.Add(scripted.Step{When: "WAIT", Reply: scripted.Reply{scripted.Call{Tool: "wait", Arguments: []byte(`{"cell_id":"1"}`)}}})
			a := w.newAcceptingEditor(test.argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "danger-full-access"})
			a.runTurn(thread, "CODE")
			a.turnWith(thread, "SAY: lower", map[string]any{"sandboxPolicy": map[string]any{"type": "workspaceWrite"}})
			if test.tightened {
				a.reloadConfig(strings.Replace(config, "danger-full-access", "workspace-write", 1))
				a.resume(thread, map[string]any{})
			}
			w.write("workspace/ready", "")
			a.runTurn(thread, "WAIT")
			if told := w.lastToolOutput(); !strings.Contains(told, "END") {
				t.Errorf("the program has not ended: %q", told)
			}
			if protected, allowed := w.hasFile("workspace/.vscode/made"), w.hasFile("allowed"); protected != test.protected || allowed != test.allowed {
				t.Errorf("written: protected %v, other %v; %q", protected, allowed, w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}
