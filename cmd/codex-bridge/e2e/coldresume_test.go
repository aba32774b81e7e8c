//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// A turn moves a thread, and Codex unloads it. Without a cwd it is not opened again. With its first folder it
// works there, under that folder's policy file, whose protected files are read-only.
func TestMovedThreadComesBack(t *testing.T) {
	t.Parallel()
	const deny = "[[policy.rule]]\ncommand = \"touch denied\"\ndecision = \"deny\"\n"
	for _, how := range []string{"restart", "archive"} {
		for _, method := range []string{"thread/resume", "thread/fork"} {
			if !isSampledName(3, how+" "+method[len("thread/"):]) {
				continue
			}
			t.Run(how+" "+method[len("thread/"):], func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options{config: "[policy]\n", mute: "many"})
				all := filepath.Join(w.root, "all")
				for _, folder := range []string{"all/other", "all/other/inner", "all/lib"} {
					w.repositoryIn(folder)
				}
				w.write("config.toml", fmt.Sprintf("[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nwritable_roots = [\"${workspace}\", %q]\n", all)+withLongGrace("[policy]"))
				w.write("all/other/.codex-bridge.toml", deny)
				a := w.newAcceptingEditor(proxyArgv...)
				comesBack := func(workspace string, turn map[string]any, text string) {
					thread := a.thread(map[string]any{"cwd": workspace, "approvalPolicy": "on-request", "sandbox": "workspace-write"})
					id, mark := a.startTurnWith(thread, "RUN: pwd", turn)
					a.waitTurn(thread, id, mark)
					if cwd := fmt.Sprint(turn["cwd"]); !strings.Contains(w.lastToolOutput(), cwd) {
						t.Fatalf("the turn does not run in %s: %q", cwd, w.lastToolOutput())
					}
					if how == "restart" {
						a.closeAndWait()
						a = w.newAcceptingEditor(proxyArgv...)
					} else {
						a.must("thread/archive", map[string]any{"threadId": thread})
						a.must("thread/unarchive", map[string]any{"threadId": thread})
					}
					params := map[string]any{"threadId": thread, "sandbox": "workspace-write"}
					if err := a.mustFail(method, params); !strings.Contains(err.Message, "opened in "+workspace+", but") {
						t.Errorf("without a cwd: %v", err)
					}
					params["cwd"] = workspace
					opened := a.must(method, params)
					if cwd := editor.Member(opened, "cwd"); cwd != workspace {
						t.Errorf("the resumed thread works in %s, want %s", cwd, workspace)
					}
					a.turn(editor.Member(opened, "thread", "id"), text)
				}
				other, lib, inner := all+"/other", all+"/lib", all+"/other/inner"
				comesBack(other, map[string]any{"cwd": lib, "runtimeWorkspaceRoots": []string{other, lib}}, "RUN: cd "+other+" && touch denied")
				if w.hasFile("all/other/denied") {
					t.Error("a command that the policy file denies ran")
				}
				comesBack(other, map[string]any{"cwd": inner, "runtimeWorkspaceRoots": []string{other}}, "RUN: touch "+other+"/written "+other+"/.git/config; mv "+other+" "+all+"/moved")
				if !w.hasFile("all/other/written") || w.hasFile("all/other/.git/config") || w.hasFile("all/moved") {
					t.Errorf("the workspace is not writable, its .git is writable, or it was renamed; the model got %q", w.lastToolOutput())
				}
				a.closeAndWait()
			})
		}
	}
}

// With Codex alone a moved thread resumes in the folder of the turn.
func TestMovedThreadComesBackWithoutBridge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.write("workspace/inner/x", "")
	c := w.open(codexPath, "app-server")
	c.initialize(map[string]any{"experimentalApi": true})
	thread := c.thread(map[string]any{"approvalPolicy": "never", "sandbox": "workspace-write"})
	turn, mark := c.startTurnWith(thread, "RUN: pwd", map[string]any{"cwd": w.workspace + "/inner", "runtimeWorkspaceRoots": []string{w.workspace}})
	c.waitTurn(thread, turn, mark)
	c.must("thread/archive", map[string]any{"threadId": thread})
	c.must("thread/unarchive", map[string]any{"threadId": thread})
	opened := c.must("thread/resume", map[string]any{"threadId": thread})
	if cwd, roots := editor.Member(opened, "cwd"), editor.Member(opened, "runtimeWorkspaceRoots"); cwd != w.workspace+"/inner" || !strings.Contains(roots, w.workspace) {
		t.Errorf("the resumed thread works in %s with roots %s", cwd, roots)
	}
	c.closeAndWait()
}

// Of two simultaneous turns of two threads with nested folders, only one gets its folder. The other one is
// refused if that is its only root.
func TestNestedRootsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\n", mute: "many"})
	lib, sub := filepath.Dir(w.write("lib/x", "")), filepath.Dir(w.write("lib/a/sub/x", ""))
	w.write("config.toml", fmt.Sprintf("[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nwritable_roots = [\"${workspace}\", %q]\n", lib)+withLongGrace("[policy]"))
	a := w.newAcceptingEditor(proxyArgv...)
	settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
	threads := map[string][]string{a.thread(settings): {w.workspace, lib}, a.thread(settings): {sub}}
	mark := a.Mark()
	started := make(chan string)
	for thread, roots := range threads {
		go func() {
			params := input(thread, "RUN: touch "+roots[len(roots)-1]+"/made")
			params["runtimeWorkspaceRoots"] = roots
			if _, err := a.Call(a.ctx, "turn/start", params); err != nil && strings.Contains(err.Message, "a command could replace") {
				thread = ""
			} else if err != nil {
				t.Error(err)
			}
			started <- thread
		}()
	}
	for range threads {
		thread := <-started
		if thread == "" {
			continue
		}
		a.waitFor(mark, "turn/completed", func(m editor.Message) bool { return m.Param("threadId") == thread })
	}
	if w.hasFile("lib/made") == w.hasFile("lib/a/sub/made") {
		t.Errorf("both or no folders were writable; the model got %q", w.lastToolOutput())
	}
	a.closeAndWait()
}

// A thread whose root is inside a folder that another thread's commands could write does not open.
func TestRootInWritableFolderComesBack(t *testing.T) {
	t.Parallel()
	for name, opens := range map[string]bool{"no command writes around it": true, "another thread does": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\n", mute: "many"})
			lib, sub := filepath.Dir(w.write("lib/x", "")), filepath.Dir(w.write("lib/a/sub/x", ""))
			w.write("config.toml", fmt.Sprintf("[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nwritable_roots = [\"${workspace}\", %q]\n", lib)+withLongGrace("[policy]"))
			a := w.newAcceptingEditor(proxyArgv...)
			with := func(thread string, roots ...string) {
				turn, mark := a.startTurnWith(thread, "RUN: touch "+roots[len(roots)-1]+"/made", map[string]any{"runtimeWorkspaceRoots": roots})
				a.waitTurn(thread, turn, mark)
			}
			settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
			thread := a.thread(settings)
			with(thread, w.workspace, sub)
			if !w.hasFile("lib/a/sub/made") {
				t.Fatalf("the root is not writable: %q", w.lastToolOutput())
			}
			a.closeAndWait()
			a = w.newAcceptingEditor(proxyArgv...)
			if !opens {
				with(a.thread(settings), w.workspace, lib)
				if !w.hasFile("lib/made") {
					t.Fatalf("the other thread's root is not writable: %q", w.lastToolOutput())
				}
				if err := a.mustFail("thread/resume", map[string]any{"threadId": thread}); !strings.Contains(err.Message, "replace the inner folder by a link") {
					t.Errorf("error %v", err)
				}
			} else {
				a.must("thread/resume", map[string]any{"threadId": thread})
			}
			a.closeAndWait()
		})
	}
}

// A thread whose settings changed after its last turn resumes with the changed settings.
func TestChangedThreadComesBack(t *testing.T) {
	t.Parallel()
	for sandbox, alone := range map[string]bool{"danger-full-access": false, "workspace-write": false, "danger-full-access by Codex alone": true} {
		for _, how := range []string{"restart", "archive", "fork"} {
			if !isSampledName(4, how+" "+sandbox) {
				continue
			}
			t.Run(how+" "+sandbox, func(t *testing.T) {
				t.Parallel()
				sandbox, _, _ := strings.Cut(sandbox, " ")
				w := newWorld(t, options{
					config: "[policy]\napproval = [\"on-request\"]\nsandbox = \"" + sandbox + "\"\nprotected_paths = [\".github\"]\n",
					mute:   "many", codexConfig: "sandbox_mode = \"read-only\"\n",
				})
				inner := filepath.Dir(w.write("workspace/inner/x", ""))
				argv := proxyArgv
				if alone {
					argv = []string{codexPath, "app-server"}
				}
				a := w.newAcceptingEditor(argv...)
				thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": sandbox})
				a.turn(thread, "RUN: true")
				mark := a.Mark()
				change := map[string]any{"threadId": thread, "sandboxPolicy": map[string]any{"type": "readOnly"}}
				if alone { // the bridge refuses a folder that a command could replace
					change["cwd"] = inner
				}
				a.must("thread/settings/update", change)
				a.waitFor(mark, "thread/settings/updated", nil)
				method := "thread/resume"
				switch how {
				case "restart":
					a.closeAndWait()
					a = w.newAcceptingEditor(argv...)
				case "archive":
					a.must("thread/archive", map[string]any{"threadId": thread})
					a.must("thread/unarchive", map[string]any{"threadId": thread})
				case "fork":
					method = "thread/fork"
				}
				opened := a.must(method, map[string]any{"threadId": thread})
				if mode := editor.Member(opened, "sandbox", "type"); mode != "readOnly" {
					t.Errorf("sandbox %s", mode)
				}
				if cwd := editor.Member(opened, "cwd"); (cwd == w.workspace) == alone {
					t.Errorf("the thread works in %s", cwd)
				}
				a.turn(editor.Member(opened, "thread", "id"), "RUN: touch "+w.root+"/outside "+w.workspace+"/written")
				if w.hasFile("outside") || w.hasFile("workspace/written") {
					t.Error("a command of the read-only thread wrote a file")
				}
				a.closeAndWait()
			})
		}
	}
}

// Two threads have a second root, and a protected path of several names, for which the bridge's
// profile names a folder in that root too.
func TestSecondRootBesideProtectedPath(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\n", mute: "many"})
	lib := filepath.Dir(w.write("lib/.github/x", ""))
	lib = filepath.Dir(lib)
	w.write("config.toml", fmt.Sprintf("[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nprotected_paths = [\".github/workflows\"]\nwritable_roots = [\"${workspace}\", %q]\n", lib)+withLongGrace("[policy]"))
	a := w.newAcceptingEditor(proxyArgv...)
	settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write", "runtimeWorkspaceRoots": []string{w.workspace, lib}}
	first := a.thread(settings)
	a.turn(first, "RUN: touch "+lib+"/first")
	second := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	turn, mark := a.startTurnWith(second, "RUN: touch "+lib+"/second", map[string]any{"runtimeWorkspaceRoots": []string{w.workspace, lib}})
	a.waitTurn(second, turn, mark)
	a.must("thread/resume", map[string]any{"threadId": first})
	a.turn(first, "RUN: touch "+lib+"/third")
	for _, name := range []string{"first", "second", "third"} {
		if !w.hasFile("lib/" + name) {
			t.Errorf("%s does not exist; the model got %q", name, w.lastToolOutput())
		}
	}
	a.closeAndWait()
}

// A loaded thread whose settings were raised or lowered without a turn resumes as it is. A fork and
// a reloaded thread keep the temporary folders read-only.
func TestChangedThreadIsResumed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		sandbox string
		change  map[string]any
	}{
		"raised":  {"read-only", map[string]any{"type": "workspaceWrite"}},
		"tmp":     {"workspace-write", map[string]any{"type": "workspaceWrite", "excludeSlashTmp": true}},
		"network": {"workspace-write", map[string]any{"type": "workspaceWrite", "networkAccess": true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nnetwork = true\nprotected_paths = [\".github\"]\n", mute: "many"})
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": test.sandbox})
			a.turn(thread, "RUN: true")
			mark := a.Mark()
			a.must("thread/settings/update", map[string]any{"threadId": thread, "sandboxPolicy": test.change})
			a.waitFor(mark, "thread/settings/updated", nil)
			a.must("thread/resume", map[string]any{"threadId": thread})
			a.turn(thread, "RUN: touch resumed")
			if !w.hasFile("workspace/resumed") {
				t.Errorf("the model got %q", w.lastToolOutput())
			}
			noTmp := func(opened json.RawMessage) {
				t.Helper()
				if got, want := editor.Member(opened, "sandbox", "excludeSlashTmp"), fmt.Sprint(name == "tmp"); name != "raised" && got != want {
					t.Errorf("excludeSlashTmp is %s, want %s", got, want)
				}
			}
			noTmp(a.must("thread/fork", map[string]any{"threadId": thread}))
			a.closeAndWait()
			a = w.newAcceptingEditor(proxyArgv...)
			noTmp(a.must("thread/resume", map[string]any{"threadId": thread}))
			a.closeAndWait()
		})
	}
}

// With project_trust = "codex" a thread resumes after a restart without a cwd, and its commands
// can't write protected files.
func TestColdResumeUnderCodexTrust(t *testing.T) {
	t.Parallel()
	const config = "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nproject_trust = \"codex\"\nprotected_paths = [\"protected\"]\n"
	w := newWorld(t, options{config: config})
	w.repository()
	w.write("workspace/protected/file", "")
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	a.turn(thread, "RUN: true")
	a.closeAndWait()

	a = w.newAcceptingEditor(proxyArgv...)
	a.must("thread/resume", map[string]any{"threadId": thread})
	a.turn(thread, "RUN: touch written protected/written")
	if !w.hasFile("workspace/written") || w.hasFile("workspace/protected/written") {
		t.Errorf("the workspace is not writable, or the protected folder is; the model got %q", w.lastToolOutput())
	}
	a.closeAndWait()
}

// Codex does not restore an externalSandbox, but takes its default. The bridge takes it for no more.
func TestExternalSandboxIsNotRestored(t *testing.T) {
	t.Parallel()
	const config = "[policy]\napproval = [\"on-request\", \"never\"]\nsandbox = \"danger-full-access\"\nproject_trust = \"codex\"\nprotected_paths = [\".git\", \".codex\", \".agents\", \"kept\"]\n"
	for name, argv := range map[string][]string{"Codex alone": {codexPath, "app-server"}, "bridge": proxyArgv} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: config})
			a := w.newAcceptingEditor(argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "never"})
			a.turnWith(thread, "RUN: touch ../before", map[string]any{"sandboxPolicy": map[string]any{"type": "externalSandbox"}})
			a.closeAndWait()
			a = w.newAcceptingEditor(argv...)
			for _, method := range []string{"thread/fork", "thread/resume"} {
				opened := a.must(method, map[string]any{"threadId": thread})
				a.turn(editor.Member(opened, "thread", "id"), "RUN: touch ../after")
			}
			if !w.hasFile("before") || w.hasFile("after") {
				t.Errorf("before: %v, after: %v", w.hasFile("before"), w.hasFile("after"))
			}
			a.closeAndWait()
		})
	}
}
