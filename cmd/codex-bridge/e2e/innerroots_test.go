//go:build linux

package e2e_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// Codex protects .git, .codex and .agents of a root inside the workspace, and the root itself from being renamed. The
// bridge removes such a root, since a command could replace a folder above it by a link, and its profile protects the same.
// A turn with a root that the thread does not have is refused. After a restart Codex has the thread without the root.
func TestInnerRootStaysProtected(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	for name, configured := range map[string]bool{"of the configuration": true, "of the thread": false} {
		for who, argv := range map[string][]string{"control": {codexPath, "app-server"}, "bridge": proxyArgv} {
			t.Run(name+" "+who, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options{config: "[policy]\nsandbox = \"workspace-write\"\napproval = [\"on-request\"]\n"})
				w.write("workspace/a/sub/.git/config", "[core]\n")
				w.write("workspace/a/other/x", "")
				// The bridge judges names in lines, but not in scripts.
				w.write("attack", "touch fine-$1 a/sub/fine-$1\nmv a/sub a/moved\nfor name in .git .codex .agents; do mkdir a/sub/$name; touch a/sub/$name/x; done\n")
				sub := w.workspace + "/a/sub"
				settings, roots := object{"approvalPolicy": "on-request", "sandbox": "workspace-write"}, object{"runtimeWorkspaceRoots": []string{w.workspace, sub}}
				if configured {
					w.write("home/config.toml", w.read("home/config.toml")+fmt.Sprintf("\n[sandbox_workspace_write]\nwritable_roots = [%q]\n", sub))
				} else {
					maps.Copy(settings, roots)
				}
				a := w.newAcceptingEditor(argv...)
				thread := a.thread(settings)
				check := func(run string) {
					t.Helper()
					a.turn(thread, "RUN: sh ../attack "+run)
					for file, want := range map[string]bool{
						"fine-" + run: true, "a/sub/fine-" + run: true, "a/moved": false, "a/sub/.git/x": false, "a/sub/.codex/x": false, "a/sub/.agents/x": false,
					} {
						if got := w.hasFile("workspace/" + file); got != want {
							t.Errorf("%s, %s: there is %v, want %v; %q", run, file, got, want, w.lastToolOutput())
						}
					}
				}
				check("first")
				if who == "bridge" {
					turn := input(thread, "RUN: true")
					turn["runtimeWorkspaceRoots"] = []string{w.workspace, w.workspace + "/a/other"}
					if err := a.mustFail("turn/start", turn); !strings.Contains(err.Message, "Codex's protection of its .git") {
						t.Errorf("another inner root: %v", err)
					}
					turn["runtimeWorkspaceRoots"] = roots["runtimeWorkspaceRoots"]
					a.must("turn/start", turn)
					a.closeAndWait()
					a = w.newAcceptingEditor(argv...)
					a.must("thread/resume", object{"threadId": thread, "sandbox": "workspace-write"})
					check("resumed")
					a.closeAndWait()
					a = w.newAcceptingEditor(argv...)
					a.must("thread/resume", object{"threadId": thread, "cwd": sub}) // Codex puts the cwd in place of the outer root
				}
				a.closeAndWait()
			})
		}
	}
}
