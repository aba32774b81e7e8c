//go:build linux

package e2e_test

import (
	"fmt"
	"maps"
	"os"
	"testing"
)

// movedConfig lets threads write two folders beside their own.
const movedConfig = `
[policy]
approval = ["on-request"]
sandbox = "workspace-write"
writable_roots = ["${workspace}", %q, %q]
`

// A turn is not moved to a folder that another policy file governs, nor is the file made
// writable: not by a turn, not by settings, not for a command of the client's. A folder
// without such a file is the control.
func TestTurnStaysUnderItsPolicyFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codexConfig: inWorkspace, config: movedConfig})
	governed, plain := w.root+"/governed", w.root+"/plain"
	w.write("config.toml", fmt.Sprintf(movedConfig, governed, plain)+unhurried(movedConfig))
	for _, dir := range []string{"governed", "plain"} {
		for _, name := range []string{"HEAD", "objects/x", "refs/x"} {
			w.write(dir+"/.git/"+name, "ref: refs/heads/main\n")
		}
	}
	w.write("plain/.codex-bridge", "no policy file\n")
	w.write("governed/.codex-bridge.toml", workspacePolicy)

	a := w.agreeable(proxyArgv...)
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
			turn, mark := a.beginWith(thread, "RUN: mv "+path+"/"+file+" "+path+"/gone", more)
			a.end(thread, turn, mark)
			if left := w.left(folder + "/" + file); left != (folder == "governed") {
				t.Errorf("%s, %s: the file is left: %v; the model was told %q", folder, name, left, w.told())
			}
		}
		for name, more := range map[string]any{
			"environments":          []any{map[string]any{"environmentId": "local", "cwd": path}},
			"runtimeWorkspaceRoots": []string{w.workspace, path},
		} {
			w.write(folder+"/"+file, workspacePolicy)
			opens := maps.Clone(settings)
			opens[name] = more
			thread := a.thread(opens)
			a.turn(thread, "RUN: touch denied")
			if in := os.Remove(path+"/denied") == nil; in != (folder == "plain" && name == "environments") {
				t.Errorf("%s, thread/start with %s: the turn works there: %v; the model was told %q", folder, name, in, w.told())
			}
			a.turn(thread, "RUN: mv "+path+"/"+file+" "+path+"/gone")
			if left := w.left(folder + "/" + file); left != (folder == "governed") {
				t.Errorf("%s, thread/start with %s: the file is left: %v; the model was told %q", folder, name, left, w.told())
			}
		}
		w.write(folder+"/"+file, workspacePolicy)
		a.must("command/exec", map[string]any{"command": []string{"mv", path + "/" + file, path + "/gone"}, "sandboxPolicy": sandbox})
		if left := w.left(folder + "/" + file); left != (folder == "governed") {
			t.Errorf("%s, command/exec: the file is left: %v", folder, left)
		}
	}

	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	turn, mark := a.beginWith(thread, "RUN: touch denied", map[string]any{"cwd": governed})
	a.end(thread, turn, mark)
	if w.left("governed/denied") || !w.left("workspace/denied") {
		t.Errorf("the turn was moved: %v; the model was told %q", w.left("governed/denied"), w.told())
	}
	a.quit()
}
