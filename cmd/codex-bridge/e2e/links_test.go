//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A folder of PATH is found by a link that leads to another link, which commands can write. They could
// turn that one to a folder with a program git of theirs.
func TestCommandsCannotTurnLinksBehindPATH(t *testing.T) {
	t.Parallel()
	for who, argv := range map[string][]string{"control": {codexPath, "app-server"}, "bridge": proxyArgv} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: gitConfig})
			w.write("real/file", "")
			for link, to := range map[string]string{"workspace/way": w.root + "/real", "tools": "workspace/way"} {
				if err := os.Symlink(to, filepath.Join(w.root, link)); err != nil {
					t.Fatal(err)
				}
			}
			w.env = append(w.env, "PATH="+w.root+"/tools:"+os.Getenv("PATH"))
			a := w.agreeable(argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			a.turn(thread, "RUN: rm way; mkdir way; cp "+w.planted()+" way/git; true")
			planted := w.told()
			a.turn(thread, "good day")
			if w.left("RAN") != (who == "control") {
				t.Errorf("the program ran: %v; %q", w.left("RAN"), planted)
			}
			a.CloseInput()
		})
	}
}

// Codex mounts a protected path read-only at the top of a workspace, but of no other writable root. A
// line that names it there to change it leaves the sandbox.
func TestLinesIntoProtectedPathsOfOtherRoots(t *testing.T) {
	t.Parallel()
	const policy = "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nprotected_paths = [\".github\"]\nwritable_roots = [\"${workspace}\", %q, %q]\n"
	for who, argv := range map[string][]string{"control": {codexPath, "app-server"}, "bridge": proxyArgv} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: gitConfig})
			lib, sub := filepath.Dir(w.write("lib/x", "")), filepath.Dir(w.write("workspace/sub/x", ""))
			w.write("config.toml", fmt.Sprintf(policy, lib, sub)+unhurried(policy))
			config := w.read("home/config.toml")
			w.write("home/config.toml", config+fmt.Sprintf("\n[sandbox_workspace_write]\nwritable_roots = [%q]\n", lib))
			a := w.agreeable(argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			for _, folder := range []string{"lib", "workspace/sub"} {
				a.turn(thread, "RUN: mkdir -p "+w.root+"/"+folder+"/.github; touch "+w.root+"/"+folder+"/.github/file")
				if w.left(folder+"/.github/file") != (who == "control") {
					t.Errorf("%s: written: %v; %q", folder, w.left(folder+"/.github/file"), w.told())
				}
				a.turn(thread, "RUN: touch "+w.root+"/"+folder+"/fine")
				if !w.left(folder + "/fine") {
					t.Errorf("%s: an ordinary file is not written: %q", folder, w.told())
				}
			}
			a.quit()
		})
	}
}
