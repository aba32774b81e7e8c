//go:build linux && wine

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// The bridge for Windows holds the real Codex for Windows to the policy, both in Wine; testdata/wine.sh
// starts the test. The control is a policy without the rule.
func TestCodexForWindows(t *testing.T) {
	const rule = "[[policy.rule]]\ncommand = \"git push **\"\ndecision = \"deny\"\nreason = \"The pipeline pushes.\"\n"
	for name, test := range map[string]struct {
		rules, output string
		asked         int
	}{
		"rule":    {rule, "The pipeline pushes", 0},
		"no rule": {"", "rejected by user", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{})
			a := w.newEditorInWine("[policy]\napproval = [\"untrusted\"]\nsandbox = \"workspace-write\"\n" + test.rules)
			result := a.must("thread/start", map[string]any{"cwd": inWine(w.workspace), "sandbox": "danger-full-access", "approvalPolicy": "on-request"})
			// Codex itself makes workspace-write read-only where its sandbox of Windows is not set up.
			if editor.Member(result, "sandbox", "type") != "readOnly" || editor.Member(result, "approvalPolicy") != "untrusted" {
				t.Errorf("the thread is not under the policy: %s", result)
			}
			thread := editor.Member(result, "thread", "id")
			w.model.Add(scripted.Step{When: "push it", Reply: scripted.Reply{scripted.Run("git push origin main")}})
			turn, mark := a.startTurn(thread, "push it")
			asked := 0
			for asked < test.asked {
				m := a.waitFor(mark, "item/commandExecution/requestApproval", nil)
				asked++
				if err := a.Reply(m, map[string]any{"decision": "decline"}); err != nil {
					t.Fatal(err)
				}
			}
			if status := a.waitTurn(thread, turn, mark); status != "completed" || !strings.Contains(w.lastToolOutput(), test.output) {
				t.Errorf("%s: the model got %q", status, w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}

// inWine returns the path in Wine of one in the container.
func inWine(path string) string { return "Z:" + path }

// newEditorInWine starts the bridge for Windows in front of Codex for Windows. Measured with Codex
// 0.169.0 in Wine: Codex can't create its file installation_id, since Wine locks files in another way.
func (w *world) newEditorInWine(config string) *conversation {
	w.t.Helper()
	run := os.Getenv("WINE_RUN")
	if run == "" {
		w.t.Fatal("WINE_RUN is not set; start the test by `make wine`")
	}
	w.home = filepath.Dir(w.write("windows/installation_id", "00000000-0000-4000-8000-000000000000"))
	if err := scripted.Home(w.home, w.model.URL(), withoutPlugins("")); err != nil {
		w.t.Fatal(err)
	}
	file := w.write("windows.toml", "[codex]\ncommand = 'Z:/home/codex/codex.exe'\nshutdown_grace = \"1m\"\n"+config)
	w.env = append(w.env, "WINE_ROOT="+os.Getenv("WINE_ROOT"), "WINE_SOURCE="+os.Getenv("WINE_SOURCE"), "WINE_ENV="+strings.Join([]string{
		"CODEX_HOME=" + inWine(w.home), "CODEX_BRIDGE_CONFIG=" + inWine(file), "CODEX_BRIDGE_STATE=" + inWine(w.root) + "/state", w.marker,
	}, " "))
	c := &conversation{world: w, ctx: deadline(w.t), Editor: w.start([]string{run, "/tmp/codex-bridge.exe", "app-server"}, editor.Options{})}
	c.initialize(nil)
	return c
}
