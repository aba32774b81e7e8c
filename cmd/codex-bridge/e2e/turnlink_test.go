//go:build linux

package e2e_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// A command replaces a folder below the workspace, which a turn names, by a link. Codex lets the
// next turn write the target of a root in sandboxPolicy; it does not follow other links.
func TestLinkInPlaceOfTurnFolder(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]func(w *world) map[string]any{
		"cwd": func(w *world) map[string]any { return map[string]any{"cwd": w.workspace + "/a/sub"} },
		"cwd and roots": func(w *world) map[string]any {
			return map[string]any{"cwd": w.workspace + "/a/sub", "runtimeWorkspaceRoots": []string{w.workspace, w.workspace + "/a/sub"}}
		},
		"environment": func(w *world) map[string]any {
			return map[string]any{"environments": []any{map[string]any{"environmentId": "local", "cwd": w.workspace + "/a/sub", "runtimeWorkspaceRoots": []string{w.workspace, w.workspace + "/a/sub"}}}}
		},
		"roots": func(w *world) map[string]any {
			return map[string]any{"runtimeWorkspaceRoots": []string{w.workspace, w.workspace + "/a/sub"}}
		},
		"sandbox": func(w *world) map[string]any {
			return map[string]any{"sandboxPolicy": map[string]any{"type": "workspaceWrite", "writableRoots": []string{w.workspace + "/a/sub"}}}
		},
	} {
		for who, argv := range map[string][]string{"control": {codexPath, "app-server"}, "bridge": proxyArgv} {
			if !isSampledName(3, name+" "+who) {
				continue
			}
			t.Run(name+" "+who, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options{config: gitConfig})
				w.write("workspace/a/sub/file", "")
				outside := filepath.Join(w.root, "outside")
				if err := os.Mkdir(outside, 0o700); err != nil {
					t.Fatal(err)
				}
				a := w.newAcceptingEditor(argv...)
				thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
				folders := more(w)
				if who == "bridge" && name != "cwd" { // a root that the thread was not opened with
					params := input(thread, "RUN: true")
					maps.Copy(params, folders)
					a.mustFail("turn/start", params)
					folders = nil
				}
				turn, mark := a.startTurnWith(thread, "RUN: cd "+w.workspace+" && mv a gone && mkdir a && ln -s "+outside+" a/sub", folders)
				a.waitTurn(thread, turn, mark)
				a.turn(thread, "RUN: cd "+w.workspace+"; touch "+outside+"/written; true")
				output := w.lastToolOutput()
				turn, mark = a.startTurnWith(thread, `CALL: exec_command {"cmd":"touch `+outside+`/written","workdir":"`+w.workspace+`"}`, nil)
				a.waitTurn(thread, turn, mark)
				written := w.hasFile("outside/written")
				if who == "bridge" && written || who == "control" && name == "sandbox" && !written {
					t.Errorf("written %v; %q; %q", written, output, w.lastToolOutput())
				}
				a.closeAndWait()
			})
		}
	}
}
