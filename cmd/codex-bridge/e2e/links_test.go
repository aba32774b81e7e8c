//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A folder of PATH is a link to another link, which commands can write: they could point it to a
// folder with their own git.
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
			a := w.newAcceptingEditor(argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			a.turn(thread, "RUN: rm way; mkdir way; cp "+w.plantProgram()+" way/git; true")
			planted := w.lastToolOutput()
			a.turn(thread, "good day")
			if w.hasFile("RAN") != (who == "control") {
				t.Errorf("the planted program ran: %v; %q", w.hasFile("RAN"), planted)
			}
			a.CloseInput()
		})
	}
}

// Codex mounts a protected path read-only at the top of a workspace, but not in other writable
// roots. A line that names the path there to change it needs to leave the sandbox.
func TestLinesIntoProtectedPathsOfOtherRoots(t *testing.T) {
	t.Parallel()
	const policy = "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nprotected_paths = [\".github\"]\nwritable_roots = [\"${workspace}\", %q, %q]\n"
	for who, argv := range map[string][]string{"control": {codexPath, "app-server"}, "bridge": proxyArgv} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: gitConfig})
			lib, sub := filepath.Dir(w.write("lib/x", "")), filepath.Dir(w.write("workspace/sub/x", ""))
			w.write("config.toml", fmt.Sprintf(policy, lib, sub)+withLongGrace(policy))
			config := w.read("home/config.toml")
			w.write("home/config.toml", config+fmt.Sprintf("\n[sandbox_workspace_write]\nwritable_roots = [%q]\n", lib))
			a := w.newAcceptingEditor(argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			for _, folder := range []string{"lib", "workspace/sub"} {
				a.turn(thread, "RUN: mkdir -p "+w.root+"/"+folder+"/.github; touch "+w.root+"/"+folder+"/.github/file")
				if w.hasFile(folder+"/.github/file") != (who == "control") {
					t.Errorf("%s: written %v; %q", folder, w.hasFile(folder+"/.github/file"), w.lastToolOutput())
				}
				a.turn(thread, "RUN: touch "+w.root+"/"+folder+"/fine")
				if !w.hasFile(folder + "/fine") {
					t.Errorf("%s: no ordinary file written: %q", folder, w.lastToolOutput())
				}
			}
			a.closeAndWait()
		})
	}
}

// The git that Codex runs, or could run, is a link to a program that commands could write.
func TestCommandsCannotReplaceLinkedGit(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"a program", "a link to nothing", "behind a file that does not run"} {
		for who, argv := range map[string][]string{"control": {codexPath, "app-server"}, "bridge": proxyArgv} {
			t.Run(how+" "+who, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options{config: gitConfig})
				w.write("tools/file", "")
				w.write("more/file", "")
				w.write("workspace/own/file", "")
				at := filepath.Join(w.workspace, "own/git")
				if how != "a link to nothing" {
					w.write("workspace/own/git", "#!/bin/sh\nexec /usr/bin/git \"$@\"\n")
					if err := os.Chmod(at, 0o700); err != nil {
						t.Fatal(err)
					}
				}
				if how == "behind a file that does not run" {
					w.write("more/git", "x")
				}
				if err := os.Symlink(at, filepath.Join(w.root, "tools/git")); err != nil {
					t.Fatal(err)
				}
				w.env = append(w.env, "PATH="+w.root+"/more:"+w.root+"/tools:"+os.Getenv("PATH"))
				a := w.newAcceptingEditor(argv...)
				thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
				a.turn(thread, "RUN: cp "+w.plantProgram()+" own/git; touch own/fine")
				if !w.hasFile("workspace/own/fine") {
					t.Errorf("no ordinary command ran: %q", w.lastToolOutput())
				}
				a.turn(thread, "good day")
				if w.hasFile("RAN") != (who == "control") {
					t.Errorf("the planted program ran: %v", w.hasFile("RAN"))
				}
				a.CloseInput()
			})
		}
	}
}

// A missing folder of PATH in the workspace does not stop patches.
func TestPatchBesideMissingFolderOfPATH(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"bin", ".venv/bin", "a/b/c"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: gitConfig})
			w.env = append(w.env, "PATH="+w.workspace+"/"+folder+":"+os.Getenv("PATH"))
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			a.turn(thread, `CALL: exec_command {"cmd":`+marshal(t, "apply_patch <<'E'\n*** Begin Patch\n*** Add File: new/file\n+x\n*** End Patch\nE")+`}`)
			if !w.hasFile("workspace/new/file") {
				t.Errorf("no patch applied: %q", w.lastToolOutput())
			}
			a.turn(thread, "RUN: touch fine; ls -la; git status --short")
			if !w.hasFile("workspace/fine") {
				t.Errorf("no command ran: %q", w.lastToolOutput())
			}
			t.Log(w.lastToolOutput())
			a.closeAndWait()
		})
	}
}

// $TMPDIR is a link that commands can write. Codex lets each command write its target.
func TestLinkThatIsTMPDIR(t *testing.T) {
	t.Parallel()
	for who, argv := range map[string][]string{"control": {codexPath, "app-server"}, "bridge": proxyArgv} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: gitConfig})
			w.write("outside/x", "")
			w.write("real/x", "")
			if err := os.Symlink(w.root+"/real", filepath.Join(w.workspace, "tmp")); err != nil {
				t.Fatal(err)
			}
			w.env = append(w.env, "TMPDIR="+w.workspace+"/tmp")
			a := w.newAcceptingEditor(argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			a.turn(thread, "RUN: rm tmp; ln -s "+w.root+"/outside tmp; true")
			output := w.lastToolOutput()
			a.turn(thread, "RUN: touch "+w.root+"/outside/written; true")
			if w.hasFile("outside/written") != (who == "control") {
				t.Errorf("written %v; %q; %q", w.hasFile("outside/written"), output, w.lastToolOutput())
			}
			a.CloseInput()
		})
	}
}

// The path of the user's configuration has a link that commands could write: they could point it to
// their own configuration, which the bridge would read.
func TestCommandsCannotTurnLinkOfConfiguration(t *testing.T) {
	t.Parallel()
	for who, argv := range map[string][]string{"control": {codexPath, "app-server"}, "bridge": proxyArgv} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: gitConfig})
			w.write("conf/bridge.toml", gitConfig+withLongGrace(gitConfig))
			if err := os.Symlink(w.root+"/conf", filepath.Join(w.workspace, "way")); err != nil {
				t.Fatal(err)
			}
			w.env = append(w.env, "CODEX_BRIDGE_CONFIG="+w.workspace+"/way/bridge.toml")
			a := w.newAcceptingEditor(argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			a.turn(thread, `CALL: exec_command {"cmd":`+marshal(t, "rm way; mkdir way; printf '[policy]\nmode = \"off\"\n' > way/bridge.toml")+`}`)
			if _, err := os.Readlink(filepath.Join(w.workspace, "way")); (err != nil) != (who == "control") {
				t.Errorf("the link: %v; %q", err, w.lastToolOutput())
			}
			a.CloseInput()
		})
	}
}

// The path of Codex's folder has a link that commands could write: they could point it to their own
// folder, with a configuration for the next start.
func TestCommandsCannotTurnLinkOfCodexHome(t *testing.T) {
	t.Parallel()
	for name, variable := range map[string]string{"named": "CODEX_HOME=$ROOT/user/.codex", "relative": "CODEX_HOME=way", "default": ""} {
		for who, argv := range map[string][]string{"control": {codexPath, "app-server"}, "bridge": proxyArgv} {
			t.Run(name+" "+who, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options{config: gitConfig})
				way := filepath.Join(w.workspace, "way")
				for link, to := range map[string]string{way: w.home, filepath.Join(w.root, "user/.codex"): way} {
					if err := os.Symlink(to, link); err != nil {
						t.Fatal(err)
					}
				}
				w.env = slices.DeleteFunc(w.env, func(s string) bool { return strings.HasPrefix(s, "CODEX_HOME=") })
				if variable != "" {
					w.env = append(w.env, strings.ReplaceAll(variable, "$ROOT", w.root))
				}
				a := w.newAcceptingEditor(argv...)
				thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
				a.turn(thread, `CALL: exec_command {"cmd":`+marshal(t, "rm way; mkdir way; echo 'model = \"other\"' > way/config.toml")+`}`)
				if _, err := os.Readlink(way); (err != nil) != (who == "control") {
					t.Errorf("the link: %v; %q", err, w.lastToolOutput())
				}
				a.CloseInput()
			})
		}
	}
}
