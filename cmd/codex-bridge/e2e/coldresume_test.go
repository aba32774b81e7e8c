//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge/cmd/internal/editor"
)

// A turn moves a thread, and Codex unloads the thread. When it comes back it works where it was opened, under
// the policy file of that folder, whose protected files can't be written.
func TestMovedThreadComesBack(t *testing.T) {
	t.Parallel()
	const deny = "[[policy.rule]]\ncommand = \"touch denied\"\ndecision = \"deny\"\n"
	for _, how := range []string{"restart", "archive"} {
		for _, method := range []string{"thread/resume", "thread/fork"} {
			t.Run(how+" "+method[len("thread/"):], func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options{config: "[policy]\n", mute: "many"})
				all := filepath.Join(w.root, "all")
				for _, folder := range []string{"all/other", "all/other/inner", "all/lib"} {
					w.repositoryIn(folder)
				}
				w.write("config.toml", fmt.Sprintf("[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nwritable_roots = [\"${workspace}\", %q]\n", all)+unhurried("[policy]"))
				w.write("all/other/.codex-bridge.toml", deny)
				a := w.agreeable(proxyArgv...)
				comesBack := func(workspace string, turn map[string]any, text string) {
					thread := a.thread(map[string]any{"cwd": workspace, "approvalPolicy": "on-request", "sandbox": "workspace-write"})
					id, mark := a.beginWith(thread, "RUN: pwd", turn)
					a.end(thread, id, mark)
					if cwd := fmt.Sprint(turn["cwd"]); !strings.Contains(w.told(), cwd) {
						t.Fatalf("the turn is not in %s: %q", cwd, w.told())
					}
					if how == "restart" {
						a.quit()
						a = w.agreeable(proxyArgv...)
					} else {
						a.must("thread/archive", map[string]any{"threadId": thread})
						a.must("thread/unarchive", map[string]any{"threadId": thread})
					}
					opened := a.must(method, map[string]any{"threadId": thread, "sandbox": "workspace-write"})
					if cwd := editor.Member(opened, "cwd"); cwd != workspace {
						t.Errorf("the thread comes back in %s, want %s", cwd, workspace)
					}
					a.turn(editor.Member(opened, "thread", "id"), text)
				}
				other, lib, inner := all+"/other", all+"/lib", all+"/other/inner"
				comesBack(other, map[string]any{"cwd": lib, "runtimeWorkspaceRoots": []string{other, lib}}, "RUN: cd "+other+" && touch denied")
				if w.left("all/other/denied") {
					t.Error("what the policy file denies has run")
				}
				comesBack(other, map[string]any{"cwd": inner}, "RUN: touch "+other+"/written "+other+"/.git/config; mv "+other+" "+all+"/moved")
				if !w.left("all/other/written") || w.left("all/other/.git/config") || w.left("all/moved") {
					t.Errorf("the workspace is not writable, or its .git is, or it was renamed; the model was told %q", w.told())
				}
				a.quit()
			})
		}
	}
}

// Codex alone brings a moved thread back where the turn was.
func TestMovedThreadComesBackWithoutBridge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.write("workspace/inner/x", "")
	c := w.open(codexPath, "app-server")
	c.initialize(map[string]any{"experimentalApi": true})
	thread := c.thread(map[string]any{"approvalPolicy": "never", "sandbox": "workspace-write"})
	turn, mark := c.beginWith(thread, "RUN: pwd", map[string]any{"cwd": w.workspace + "/inner", "runtimeWorkspaceRoots": []string{w.workspace}})
	c.end(thread, turn, mark)
	c.must("thread/archive", map[string]any{"threadId": thread})
	c.must("thread/unarchive", map[string]any{"threadId": thread})
	opened := c.must("thread/resume", map[string]any{"threadId": thread})
	if cwd, roots := editor.Member(opened, "cwd"), editor.Member(opened, "runtimeWorkspaceRoots"); cwd != w.workspace+"/inner" || !strings.Contains(roots, w.workspace) {
		t.Errorf("the thread comes back in %s with the roots %s", cwd, roots)
	}
	c.quit()
}

// Two turns of two threads at the same time do not both get their folder, one of which is inside the other.
func TestNestedRootsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\n", mute: "many"})
	lib, sub := filepath.Dir(w.write("lib/x", "")), filepath.Dir(w.write("lib/a/sub/x", ""))
	w.write("config.toml", fmt.Sprintf("[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nwritable_roots = [\"${workspace}\", %q]\n", lib)+unhurried("[policy]"))
	a := w.agreeable(proxyArgv...)
	settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
	threads := map[string][]string{a.thread(settings): {w.workspace, lib}, a.thread(settings): {sub}}
	mark := a.Mark()
	answers := make(chan error)
	for thread, roots := range threads {
		go func() {
			params := input(thread, "RUN: touch "+roots[len(roots)-1]+"/made")
			params["runtimeWorkspaceRoots"] = roots
			if _, err := a.Call(a.ctx, "turn/start", params); err != nil {
				answers <- err
				return
			}
			answers <- nil
		}()
	}
	for range threads {
		if err := <-answers; err != nil {
			t.Fatal(err)
		}
	}
	for thread := range threads {
		a.waitFor(mark, "turn/completed", func(m editor.Message) bool { return m.Param("threadId") == thread })
	}
	if w.left("lib/made") == w.left("lib/a/sub/made") {
		t.Errorf("both folders were writable, or none; the model was told %q", w.told())
	}
	a.quit()
}

// A thread comes back with a root inside a folder that a command of another thread could write. It is not opened.
func TestRootInWritableFolderComesBack(t *testing.T) {
	t.Parallel()
	for name, opens := range map[string]bool{"nobody writes around it": true, "another thread does": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\n", mute: "many"})
			lib, sub := filepath.Dir(w.write("lib/x", "")), filepath.Dir(w.write("lib/a/sub/x", ""))
			w.write("config.toml", fmt.Sprintf("[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nwritable_roots = [\"${workspace}\", %q]\n", lib)+unhurried("[policy]"))
			a := w.agreeable(proxyArgv...)
			with := func(thread string, roots ...string) {
				turn, mark := a.beginWith(thread, "RUN: touch "+roots[len(roots)-1]+"/made", map[string]any{"runtimeWorkspaceRoots": roots})
				a.end(thread, turn, mark)
			}
			settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
			thread := a.thread(settings)
			with(thread, w.workspace, sub)
			if !w.left("lib/a/sub/made") {
				t.Fatalf("the root is not writable: %q", w.told())
			}
			a.quit()
			a = w.agreeable(proxyArgv...)
			if !opens {
				with(a.thread(settings), w.workspace, lib)
				if !w.left("lib/made") {
					t.Fatalf("the other thread's root is not writable: %q", w.told())
				}
				if err := a.refused("thread/resume", map[string]any{"threadId": thread}); !strings.Contains(err.Message, "in place of the inner folder") {
					t.Errorf("it is refused with %v", err)
				}
			} else {
				a.must("thread/resume", map[string]any{"threadId": thread})
			}
			a.quit()
		})
	}
}

// A thread whose settings were changed after its last turn comes back with them, and not with those of the turn.
func TestChangedThreadComesBack(t *testing.T) {
	t.Parallel()
	for sandbox, alone := range map[string]bool{"danger-full-access": false, "workspace-write": false, "danger-full-access by Codex alone": true} {
		for _, how := range []string{"restart", "archive", "fork"} {
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
				a := w.agreeable(argv...)
				thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": sandbox})
				a.turn(thread, "RUN: true")
				mark := a.Mark()
				a.must("thread/settings/update", map[string]any{"threadId": thread, "cwd": inner, "sandboxPolicy": map[string]any{"type": "readOnly"}})
				a.waitFor(mark, "thread/settings/updated", nil)
				method := "thread/resume"
				switch how {
				case "restart":
					a.quit()
					a = w.agreeable(argv...)
				case "archive":
					a.must("thread/archive", map[string]any{"threadId": thread})
					a.must("thread/unarchive", map[string]any{"threadId": thread})
				case "fork":
					method = "thread/fork"
				}
				opened := a.must(method, map[string]any{"threadId": thread})
				if mode := editor.Member(opened, "sandbox", "type"); mode != "readOnly" {
					t.Errorf("the sandbox is %s", mode)
				}
				if cwd := editor.Member(opened, "cwd"); (cwd == w.workspace) == alone {
					t.Errorf("the thread works in %s", cwd)
				}
				a.turn(editor.Member(opened, "thread", "id"), "RUN: touch "+w.root+"/outside "+w.workspace+"/written")
				if w.left("outside") || w.left("workspace/written") {
					t.Error("a command of a read-only thread has written")
				}
				a.quit()
			})
		}
	}
}

// Two threads have the same second root beside a protected path of several names, for which the bridge's profile
// names a folder in that root, too.
func TestSecondRootBesideProtectedPath(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\n", mute: "many"})
	lib := filepath.Dir(w.write("lib/.github/x", ""))
	lib = filepath.Dir(lib)
	w.write("config.toml", fmt.Sprintf("[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nprotected_paths = [\".github/workflows\"]\nwritable_roots = [\"${workspace}\", %q]\n", lib)+unhurried("[policy]"))
	a := w.agreeable(proxyArgv...)
	settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write", "runtimeWorkspaceRoots": []string{w.workspace, lib}}
	first := a.thread(settings)
	a.turn(first, "RUN: touch "+lib+"/first")
	second := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	turn, mark := a.beginWith(second, "RUN: touch "+lib+"/second", map[string]any{"runtimeWorkspaceRoots": []string{w.workspace, lib}})
	a.end(second, turn, mark)
	a.must("thread/resume", map[string]any{"threadId": first})
	a.turn(first, "RUN: touch "+lib+"/third")
	for _, name := range []string{"first", "second", "third"} {
		if !w.left("lib/" + name) {
			t.Errorf("%s is not there; the model was told %q", name, w.told())
		}
	}
	a.quit()
}

// A thread that a change of settings has raised or lowered without a turn is opened again as it is, where Codex has
// it loaded. A fork, and a thread that comes back, keep the temporary folders from being written.
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
			a := w.agreeable(proxyArgv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": test.sandbox})
			a.turn(thread, "RUN: true")
			mark := a.Mark()
			a.must("thread/settings/update", map[string]any{"threadId": thread, "sandboxPolicy": test.change})
			a.waitFor(mark, "thread/settings/updated", nil)
			a.must("thread/resume", map[string]any{"threadId": thread})
			a.turn(thread, "RUN: touch resumed")
			if !w.left("workspace/resumed") {
				t.Errorf("the model was told %q", w.told())
			}
			noTmp := func(opened json.RawMessage) {
				t.Helper()
				if got, want := editor.Member(opened, "sandbox", "excludeSlashTmp"), fmt.Sprint(name == "tmp"); name != "raised" && got != want {
					t.Errorf("excludeSlashTmp is %s, want %s", got, want)
				}
			}
			noTmp(a.must("thread/fork", map[string]any{"threadId": thread}))
			a.quit()
			a = w.agreeable(proxyArgv...)
			noTmp(a.must("thread/resume", map[string]any{"threadId": thread}))
			a.quit()
		})
	}
}
