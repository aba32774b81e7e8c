//go:build linux

package e2e_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// narrowFolders are the members of a turn for which Codex alone lets commands write only the folder sub.
func narrowFolders(sub string) map[string]map[string]any {
	workspace := filepath.Dir(sub)
	environment := func(more map[string]any) map[string]any {
		more["environmentId"] = "local"
		return map[string]any{"environments": []any{more}}
	}
	return map[string]map[string]any{
		"a cwd":                 {"cwd": sub},
		"a cwd and a sandbox":   {"cwd": sub, "sandboxPolicy": map[string]any{"type": "workspaceWrite"}},
		"a root":                {"runtimeWorkspaceRoots": []string{sub}},
		"an environment":        environment(map[string]any{"cwd": sub}),
		"a root of environment": environment(map[string]any{"cwd": workspace, "runtimeWorkspaceRoots": []string{sub}}),
	}
}

// A turn names a folder of its workspace. With Codex alone, commands can write only that folder, also in the
// next turn. The bridge can't keep a command from replacing the folder by a link, so they write nothing, or
// the turn is refused. With the workspace as a root, they write the workspace with both.
func TestTurnInNarrowerFolder(t *testing.T) {
	t.Parallel()
	for who, argv := range map[string][]string{"codex alone": {codexPath, "app-server"}, "the bridge": proxyArgv} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: gitConfig, mute: "many"})
			sub := filepath.Dir(w.write("workspace/sub/x", ""))
			settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
			a := w.newAcceptingEditor(argv...)
			writes := func(thread string, folders map[string]any) (outer, inner bool) {
				params := input(thread, "RUN: touch "+sub+"/made; touch "+w.workspace+"/made; true")
				maps.Copy(params, folders)
				mark := a.Mark()
				if result, err := a.Call(a.ctx, "turn/start", params); err == nil {
					a.waitTurn(thread, editor.Member(result, "turn", "id"), mark)
				} else if who == "codex alone" {
					t.Errorf("%v: %v", folders, err)
				}
				return os.Remove(w.workspace+"/made") == nil, os.Remove(sub+"/made") == nil
			}
			for name, folders := range narrowFolders(sub) {
				thread := a.thread(settings)
				if outer, inner := writes(thread, folders); outer || inner != (who == "codex alone") {
					t.Errorf("%s: written in the workspace: %v, in the folder: %v; the model got %q", name, outer, inner, w.lastToolOutput())
				}
				if outer, _ := writes(thread, map[string]any{}); outer && (who == "codex alone" || folders["cwd"] != nil) {
					t.Errorf("%s: written in the workspace by the next turn", name)
				}
			}
			thread := a.thread(settings)
			if outer, inner := writes(thread, map[string]any{"cwd": sub, "runtimeWorkspaceRoots": []string{w.workspace}}); !outer || !inner {
				t.Errorf("with the workspace as root: written in the workspace: %v, in the folder: %v; the model got %q", outer, inner, w.lastToolOutput())
			}
			unknown := map[string]any{"environments": []any{map[string]any{"environmentId": "nosuch", "cwd": w.workspace}}}
			maps.Copy(unknown, input(thread, "RUN: touch made"))
			a.mustFail("turn/start", unknown)
			delete(unknown, "threadId")
			maps.Copy(unknown, settings)
			a.mustFail("thread/start", unknown)
			a.closeAndWait()
		})
	}
}
