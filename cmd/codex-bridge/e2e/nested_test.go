//go:build linux

package e2e_test

import (
	"fmt"
	"path/filepath"
	"testing"
)

// A command that replaces a writable root by a link does not make the link's target writable.
//
// Measured with Codex 0.169: a root of Codex's configuration can't be replaced so. If its path has
// a link that commands can write, Codex runs no command.
// crosses a link that commands can write, Codex runs no command.
func TestLinkInPlaceOfWritableRoot(t *testing.T) {
	t.Parallel()
	const policy = "[policy]\nsandbox = \"workspace-write\"\napproval = [\"on-request\"]\nwritable_roots = [%s]\n"
	for who, argv := range map[string][]string{"control": {codexPath, "app-server"}, "bridge": proxyArgv} {
		for name, named := range map[string]bool{"of a turn": false, "of the policy": true} {
			t.Run(name+" "+who, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options{config: fmt.Sprintf(policy, `"${workspace}"`)})
				sub := filepath.Dir(w.write("workspace/deep/sub/x", ""))
				if named {
					w.write("config.toml", fmt.Sprintf(policy, fmt.Sprintf(`"${workspace}", %q`, sub)))
				}
				w.write("outside/x", "")
				a := w.newAcceptingEditor(argv...)
				settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
				if who == "bridge" { // which refuses a root that the thread was not opened with
					settings["runtimeWorkspaceRoots"] = []string{w.workspace, sub}
				}
				thread := a.thread(settings)
				for _, line := range []string{
					"echo > deep/sub/fine && cp deep/sub/fine fine; mv deep gone; mkdir deep; ln -s " + w.root + "/outside deep/sub; true",
					"echo > " + w.root + "/outside/written; true",
				} {
					turn, mark := a.startTurnWith(thread, "RUN: "+line, map[string]any{"sandboxPolicy": map[string]any{"type": "workspaceWrite", "writableRoots": []string{sub}}})
					a.waitTurn(thread, turn, mark)
				}
				if w.hasFile("outside/written") != (who == "control") || !w.hasFile("workspace/fine") {
					t.Errorf("written: %v, ordinary file: %v; %q", w.hasFile("outside/written"), w.hasFile("workspace/fine"), w.lastToolOutput())
				}
				a.closeAndWait()
			})
		}
	}
}
