//go:build linux

package e2e_test

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
)

// movedConfig lets threads write two more folders.
const movedConfig = `
[policy]
approval = ["on-request"]
sandbox = "workspace-write"
writable_roots = ["${workspace}", %q, %q]
`

// A turn does not move to a folder with another policy file, and that file does not become
// writable: by a turn, by settings, or by the client's command. A folder without a policy file is
// the control.
func TestTurnStaysUnderItsPolicyFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codexConfig: inWorkspace, config: movedConfig})
	governed, plain := w.root+"/governed", w.root+"/plain"
	w.write("config.toml", fmt.Sprintf(movedConfig, governed, plain)+withLongGrace(movedConfig))
	for _, dir := range []string{"governed", "plain"} {
		for _, name := range []string{"HEAD", "objects/x", "refs/x"} {
			w.write(dir+"/.git/"+name, "ref: refs/heads/main\n")
		}
	}
	w.write("plain/.codex-bridge", "no policy file\n")
	w.write("governed/.codex-bridge.toml", workspacePolicy)

	a := w.newAcceptingEditor(proxyArgv...)
	for folder, file := range map[string]string{"governed": ".codex-bridge.toml", "plain": ".codex-bridge"} {
		path := w.root + "/" + folder
		sandbox := map[string]any{"type": "workspaceWrite", "writableRoots": []string{path}, "excludeSlashTmp": true, "excludeTmpdirEnvVar": true}
		settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
		for name, more := range map[string]map[string]any{
			"cwd":         {"cwd": path},
			"environment": {"environments": []any{map[string]any{"environmentId": "local", "cwd": path}}},
			"roots":       {"runtimeWorkspaceRoots": []string{w.workspace, path}},
			"sandbox":     {"sandboxPolicy": sandbox},
		} {
			w.write(folder+"/"+file, workspacePolicy)
			thread := a.thread(settings)
			if folder == "governed" && (name == "cwd" || name == "environment") {
				params := input(thread, "RUN: true")
				maps.Copy(params, more)
				if err := a.mustFail("turn/start", params); !strings.Contains(err.Message, "under the policy file") {
					t.Errorf("%s, %s: %v", folder, name, err)
				}
				more = nil
			}
			turn, mark := a.startTurnWith(thread, "RUN: mv "+path+"/"+file+" "+path+"/gone", more)
			a.waitTurn(thread, turn, mark)
			if left := w.hasFile(folder + "/" + file); left != (folder == "governed") {
				t.Errorf("%s, %s: file exists: %v; the model got %q", folder, name, left, w.lastToolOutput())
			}
		}
		for name, more := range map[string]any{
			"environments":          []any{map[string]any{"environmentId": "local", "cwd": path}},
			"runtimeWorkspaceRoots": []string{w.workspace, path},
		} {
			w.write(folder+"/"+file, workspacePolicy)
			opens := maps.Clone(settings)
			opens[name] = more
			if folder == "governed" && name == "environments" {
				a.mustFail("thread/start", opens)
				continue
			}
			thread := a.thread(opens)
			a.turn(thread, "RUN: touch denied")
			if in := os.Remove(path+"/denied") == nil; in != (folder == "plain" && name == "environments") {
				t.Errorf("%s, thread/start with %s: turn runs there: %v; the model got %q", folder, name, in, w.lastToolOutput())
			}
			a.turn(thread, "RUN: mv "+path+"/"+file+" "+path+"/gone")
			if left := w.hasFile(folder + "/" + file); left != (folder == "governed") {
				t.Errorf("%s, thread/start with %s: file exists: %v; the model got %q", folder, name, left, w.lastToolOutput())
			}
		}
		w.write(folder+"/"+file, workspacePolicy)
		a.must("command/exec", map[string]any{"command": []string{"mv", path + "/" + file, path + "/gone"}, "sandboxPolicy": sandbox})
		if left := w.hasFile(folder + "/" + file); left != (folder == "governed") {
			t.Errorf("%s, command/exec: file exists: %v", folder, left)
		}
	}

	a.closeAndWait()
}
