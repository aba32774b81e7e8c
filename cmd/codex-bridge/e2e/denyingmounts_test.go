//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// A profile that denies reading has Codex read AGENTS.md inside the sandbox, whenever a thread opens. The tests
// here are about the mount points of these reads.

// holdReads has each read inside the sandbox wait before it mounts anything, while the file "hold" exists. Then
// "held" exists, too.
func (w *world) holdReads() { w.holdSandboxes("*--codex-run-as-fs-helper*") }

// holdSandboxes does the same for each sandbox with arguments that the shell's pattern matches.
func (w *world) holdSandboxes(pattern string) {
	w.t.Helper()
	bwrap := filepath.Join(filepath.Dir(filepath.Dir(codexPath)), "codex-resources", "bwrap")
	w.write("bin/bwrap", fmt.Sprintf("#!/bin/sh\ncase \"$*\" in %[3]s)\n\twhile [ -e %[1]q/hold ]; do : > %[1]q/held; sleep 0.02; done;;\nesac\nexec %[2]q \"$@\"\n", w.root, bwrap, pattern))
	if err := os.Chmod(filepath.Join(w.root, "bin/bwrap"), 0o700); err != nil {
		w.t.Fatal(err)
	}
	w.env = append(w.env, "PATH="+filepath.Join(w.root, "bin")+":"+os.Getenv("PATH"))
}

// remove removes files of the world.
func (w *world) remove(names ...string) {
	w.t.Helper()
	for _, name := range names {
		if err := os.Remove(filepath.Join(w.root, name)); err != nil {
			w.t.Error(err)
		}
	}
}

// startOpening sends thread/start, and returns the channel that gets the error of the response, or nil.
func (c *conversation) startOpening() <-chan *editor.Error {
	opened := make(chan *editor.Error, 1)
	go func() {
		_, err := c.Call(c.ctx, "thread/start", map[string]any{"cwd": c.workspace, "approvalPolicy": "on-request"})
		opened <- err
	}()
	return opened
}

// A thread opens although the last turn of another bridge in the workspace, and then that bridge, end just when
// Codex has found the mount points and is about to mount them. At the end nothing is left.
func TestThreadOpensWhileOtherBridgeEnds(t *testing.T) {
	t.Parallel()
	for name, argv := range map[string][]string{"codex alone": {codexPath, "app-server"}, "the bridge": proxyArgv} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newDenyingWorld(t, missingConfig, denyingProfile)
			w.holdReads()
			before := w.names()
			a, b := w.newAcceptingEditor(argv...), w.newAcceptingEditor(argv...)
			thread := b.thread(map[string]any{"approvalPolicy": "on-request"})
			turn, mark := b.startTurn(thread, "RUN: touch began; while [ ! -e end ]; do sleep 0.05; done")
			b.waitUntil("a command", func() bool { return w.hasFile("workspace/began") })
			at := filepath.Join(w.workspace, ".vscode")
			first, _ := os.Stat(at)
			w.write("hold", "")
			opened := a.startOpening()
			a.waitUntil("a read inside the sandbox", func() bool { return w.hasFile("held") })
			w.write("workspace/end", "")
			b.waitTurn(thread, turn, mark)
			b.closeAndWait()
			w.remove("hold", "workspace/began", "workspace/end")
			if err := <-opened; err != nil {
				t.Error(err)
			}
			if last, err := os.Stat(at); name == "the bridge" && (err != nil || !os.SameFile(first, last)) {
				t.Errorf("the mount point was removed: %v", err)
			}
			a.closeAndWait()
			if got := w.names(); !slices.Equal(got, before) {
				t.Errorf("the workspace has %q, want %q", got, before)
			}
		})
	}
}

// Threads open in one bridge and in another while turns end.
func TestThreadsOpenBesideEndingTurns(t *testing.T) {
	t.Parallel()
	for name, argv := range map[string][]string{"codex alone": {codexPath, "app-server"}, "the bridge": proxyArgv} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newDenyingWorld(t, missingConfig, denyingProfile)
			before := w.names()
			a, b := w.newAcceptingEditor(argv...), w.newAcceptingEditor(argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request"})
			for range 6 {
				beside, elsewhere := a.startOpening(), b.startOpening()
				a.runTurn(thread, "RUN: true")
				a.runTurn(thread, "RUN: true")
				for _, opened := range []<-chan *editor.Error{beside, elsewhere} {
					if err := <-opened; err != nil {
						t.Error(err)
					}
				}
			}
			a.closeAndWait()
			b.closeAndWait()
			if got := w.names(); !slices.Equal(got, before) {
				t.Errorf("the workspace has %q, want %q", got, before)
			}
		})
	}
}

// A turn may move to another folder, or add one, in which protected paths do not exist, either. A resume restores that
// folder, unless it names others. After kill -9 the next bridge removes the mount points in both.
func TestTurnsInOtherRootOfDenyingProfile(t *testing.T) {
	t.Parallel()
	for name, argv := range map[string][]string{"codex alone": {codexPath, "app-server"}, "the bridge": proxyArgv} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newDenyingWorld(t, missingConfig, denyingProfile)
			other := filepath.Dir(w.write("other/AGENTS.md", "be brief"))
			w.write("config.toml", missingConfig+fmt.Sprintf("writable_roots = [\"${workspace}\", %q]\n", other)+withLongGrace(missingConfig))
			before := w.names()
			a := w.newAcceptingEditor(argv...)
			run := func(thread string, more map[string]any) {
				t.Helper()
				turn, mark := a.startTurnWith(thread, "RUN: true", more)
				if status := a.waitTurn(thread, turn, mark); status != "completed" {
					t.Errorf("%v: the turn is %s", more, status)
				}
			}
			thread := a.thread(map[string]any{"approvalPolicy": "on-request"})
			run(thread, map[string]any{"runtimeWorkspaceRoots": []any{w.workspace, other}})
			a.closeAndWait()
			a = w.newAcceptingEditor(argv...)
			a.must("thread/resume", map[string]any{"threadId": thread})
			run(a.thread(map[string]any{"approvalPolicy": "on-request"}), map[string]any{"cwd": other, "sandboxPolicy": map[string]any{"type": "workspaceWrite"}})
			if name == "the bridge" {
				killAll(a.processes())
				w.waitProcesses(noProcesses)
				if !w.hasFile("workspace/.vscode") || !w.hasFile("other/.vscode") {
					t.Error("the killed bridge had no mount points")
				}
				a = w.newAcceptingEditor(argv...)
				a.must("thread/resume", map[string]any{"threadId": thread, "cwd": w.workspace, "runtimeWorkspaceRoots": []any{w.workspace}})
				if !w.hasFile("workspace/.vscode") || w.hasFile("other/.vscode") {
					t.Error("a resume with roots of its own has other mount points than in these")
				}
			}
			a.closeAndWait()
			if got := w.names(); !slices.Equal(got, before) {
				t.Errorf("the workspace has %q, want %q", got, before)
			}
			for _, made := range []string{".github", ".vscode"} {
				if w.hasFile(filepath.Join("other", made)) {
					t.Errorf("%s is left in the other folder", made)
				}
			}
		})
	}
}
