//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// A background command replaces a folder of the workspace by a link after a turn moved there. Codex
// resolves the cwd for each command, and would let the next one write the link's target.
func TestCwdReplacedByLink(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		argv    []string
		config  string
		written bool
	}{
		"codex alone":                  {[]string{codexPath, "app-server"}, gitConfig, true},
		"the bridge":                   {proxyArgv, gitConfig, false},
		"the bridge, with its profile": {proxyArgv, gitConfig + "protected_paths = [\".github\"]\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: test.config, mute: "many"})
			w.write("workspace/a/sub/x", "")
			w.write("outside/x", "")
			a := w.newAcceptingEditor(test.argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			script := "while [ ! -e go ]; do sleep 0.05; done; mv a gone; mkdir a; ln -s " + w.root + "/outside a/sub; sleep 60"
			a.turn(thread, `CALL: exec_command {"cmd":`+marshal(t, script)+`,"yield_time_ms":500}`)
			folders := map[string]any{"cwd": filepath.Join(w.workspace, "a", "sub")}
			if !test.written { // with the bridge, the turn could write nothing else
				folders["runtimeWorkspaceRoots"] = []string{w.workspace}
			}
			turn, mark := a.startTurnWith(thread, "RUN: touch inside", folders)
			a.waitTurn(thread, turn, mark)
			if !w.hasFile("workspace/a/sub/inside") {
				t.Fatalf("the turn is not in its folder: %q", w.lastToolOutput())
			}
			w.write("workspace/go", "")
			for {
				if info, err := os.Lstat(filepath.Join(w.workspace, "a", "sub")); err == nil && info.Mode()&os.ModeSymlink != 0 {
					break
				}
				if a.ctx.Err() != nil {
					t.Fatal("the background command has not replaced the folder")
				}
				time.Sleep(20 * time.Millisecond)
			}
			a.turn(thread, "RUN: touch "+w.root+"/outside/written; pwd -P")
			if w.hasFile("outside/written") != test.written {
				t.Errorf("written outside of the workspace: %v; the model got %q", !test.written, w.lastToolOutput())
			}
			a.turn(thread, "RUN: touch "+w.workspace+"/after")
			if !test.written && !w.hasFile("workspace/after") {
				t.Errorf("the workspace can't be written: %q", w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}

// A command replaces a folder by a link that a grant of the same turn names. With the grant alone, it
// could write where the link leads.
func TestGrantedFolderReplacedByLink(t *testing.T) {
	t.Parallel()
	for who, argv := range map[string][]string{"codex alone": {codexPath, "app-server"}, "the bridge": proxyArgv} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: gitConfig, codexConfig: permissionsConfig})
			w.write("workspace/a/sub/x", "")
			w.write("outside/x", "")
			w.model.Add(scripted.Step{When: "PERMIT", Reply: wants(t, filepath.Join(w.workspace, "a", "sub"))})
			w.model.Add(scripted.Step{When: "permissions", Reply: runs(t, "cd "+w.workspace+" && mv a gone; mkdir a; ln -s "+w.root+"/outside a/sub; echo SWAPPED")})
			w.model.Add(scripted.Step{When: "SWAPPED", Reply: runs(t, "touch "+w.root+"/outside/written; echo DONE")})
			a := &conversation{world: w, ctx: deadline(t), Editor: w.start(argv, editor.Options{Answer: grantsAll(t)})}
			a.initialize(map[string]any{"experimentalApi": true})
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			turn, mark := a.startTurn(thread, "PERMIT")
			a.waitTurn(thread, turn, mark)
			if alone := who == "codex alone"; w.hasFile("outside/written") != alone {
				t.Errorf("written outside of the workspace: %v; the model got %q", !alone, w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}

// A turn moves a thread into an inner folder, and the client forks the thread. A command of another
// thread in the workspace replaces the folder by a link, and a command of the fork would write
// where it leads.
func TestForkOfThreadInInnerFolder(t *testing.T) {
	t.Parallel()
	for name, argv := range map[string][]string{"codex alone": {codexPath, "app-server"}, "the bridge": proxyArgv} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: gitConfig, mute: "many"})
			w.write("workspace/a/sub/x", "")
			w.write("outside/x", "")
			a := w.newAcceptingEditor(argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			turn, mark := a.startTurnWith(thread, "RUN: true", map[string]any{"cwd": filepath.Join(w.workspace, "a", "sub")})
			a.waitTurn(thread, turn, mark)
			params := map[string]any{"threadId": thread}
			if name == "the bridge" {
				if err := a.mustFail("thread/fork", params); !strings.Contains(err.Message, "as cwd") {
					t.Errorf("a fork without a cwd: %v", err)
				}
				params["cwd"], params["sandbox"] = w.workspace, "workspace-write"
			}
			fork := editor.Member(a.must("thread/fork", params), "thread", "id")
			other := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			a.turn(other, "RUN: mv a gone; mkdir a; ln -s "+w.root+"/outside a/sub")
			a.turn(fork, "RUN: touch "+w.root+"/outside/written")
			if alone := name == "codex alone"; w.hasFile("outside/written") != alone {
				t.Errorf("written outside: %v; the model got %q", !alone, w.lastToolOutput())
			}
			a.turn(fork, "RUN: touch "+w.workspace+"/after")
			if name == "the bridge" && !w.hasFile("workspace/after") {
				t.Errorf("the workspace can't be written: %q", w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}

// Two threads are open in one folder. A turn of one of them that works in an inner folder writes nothing; the
// thread then works in its folder again.
func TestTurnInFolderOfOtherThread(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{"plain": gitConfig, "with the bridge's profile": gitConfig + "protected_paths = [\".github\"]\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: config, mute: "many"})
			w.write("workspace/sub/x", "")
			a := w.newAcceptingEditor(proxyArgv...)
			settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
			a.thread(settings)
			thread := a.thread(settings)
			run := func(text string, folders map[string]any) string {
				turn, mark := a.startTurnWith(thread, "RUN: "+text, folders)
				a.waitTurn(thread, turn, mark)
				return w.lastToolOutput()
			}
			for range 2 {
				if got := run("pwd; touch inside", map[string]any{"cwd": w.workspace + "/sub"}); !strings.Contains(got, w.workspace+"/sub") || w.hasFile("workspace/sub/inside") {
					t.Errorf("the turn is not in its folder, or writes it: %q", got)
				}
			}
			got := run("pwd; touch after", map[string]any{"cwd": w.workspace, "sandboxPolicy": map[string]any{"type": "workspaceWrite"}})
			if !w.hasFile("workspace/after") {
				t.Errorf("the thread does not work in its folder again: %q", got)
			}
			a.closeAndWait()
		})
	}
}
