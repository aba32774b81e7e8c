//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"testing"
)

// A command puts a link in the place of a folder that a turn names, below the workspace. Codex lets the
// next turn write where the link of a sandboxPolicy's root leads; the others it does not follow.
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
			t.Run(name+" "+who, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options{config: gitConfig})
				w.write("workspace/a/sub/file", "")
				outside := filepath.Join(w.root, "outside")
				if err := os.Mkdir(outside, 0o700); err != nil {
					t.Fatal(err)
				}
				a := w.agreeable(argv...)
				thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
				turn, mark := a.beginWith(thread, "RUN: cd "+w.workspace+" && mv a gone && mkdir a && ln -s "+outside+" a/sub", more(w))
				a.end(thread, turn, mark)
				a.turn(thread, "RUN: cd "+w.workspace+"; touch "+outside+"/written; true")
				told := w.told()
				turn, mark = a.beginWith(thread, `CALL: exec_command {"cmd":"touch `+outside+`/written","workdir":"`+w.workspace+`"}`, nil)
				a.end(thread, turn, mark)
				written := w.left("outside/written")
				if who == "bridge" && written || who == "control" && name == "sandbox" && !written {
					t.Errorf("written: %v; %q; %q", written, told, w.told())
				}
				a.quit()
			})
		}
	}
}
