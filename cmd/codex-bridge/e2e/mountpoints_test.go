//go:build linux

package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
)

const missingConfig = `
[policy]
approval = ["on-request"]
sandbox = "workspace-write"
protected_paths = [".git", ".codex", ".agents", ".github/workflows", ".vscode"]
`

// names returns the paths in the workspace, without those in .git and the mount points of Codex
// itself, which it leaves there if it is killed.
func (w *world) names() (names []string) {
	w.t.Helper()
	err := filepath.WalkDir(w.workspace, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // it has just been removed
		case err != nil:
			return err
		}
		switch d.Name() {
		case ".git", ".codex", ".agents", ".aws":
			return fs.SkipDir
		}
		if path != w.workspace {
			names = append(names, strings.TrimPrefix(path, w.workspace+"/"))
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return names
}

// waitNames waits until the workspace has only these paths.
func (c *conversation) waitNames(what string, want ...string) {
	c.t.Helper()
	for !slices.Equal(c.names(), want) {
		if c.ctx.Err() != nil {
			c.t.Fatalf("%s: the workspace has %q, want %q", what, c.names(), want)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Scripts that create a missing protected path, each with the file that they write. A script's name
// shows nothing to the bridge.
var creators = map[string]struct{ script, file string }{
	"folder":        {"mkdir -p .github/workflows; echo x > .github/workflows/a.yml", ".github/workflows/a.yml"},
	"file":          {"mkdir .vscode; echo x > .vscode/tasks.json", ".vscode/tasks.json"},
	"rename":        {"mkdir p; echo x > p/tasks.json; rmdir .vscode; mv -T p .vscode", ".vscode/tasks.json"},
	"rename parent": {"mkdir -p q/workflows; echo x > q/workflows/b.yml; rm -rf .github; mv -T q .github", ".github/workflows/b.yml"},
	"move parent":   {"mv .github gone; mkdir -p .github/workflows; echo x > .github/workflows/c.yml", ".github/workflows/c.yml"},
	"link":          {"mkdir r; echo x > r/tasks.json; rmdir .vscode; ln -sT r .vscode", ".vscode/tasks.json"},
	"link below":    {"mkdir s; echo x > s/d.yml; mkdir .github; rmdir .github/workflows; ln -sT ../s .github/workflows", ".github/workflows/d.yml"},
	"git": {
		"git init -q other; cd other; mkdir .vscode; echo x > .vscode/tasks.json; git add .; git -c user.name=a -c user.email=b commit -qm a; cd ..; git --git-dir=other/.git --work-tree=. checkout -q -f HEAD -- .",
		".vscode/tasks.json",
	},
}

// A command can't create a protected path that does not exist. Codex alone lets each script do so.
// During the command git lists nothing of it, and after the turn nothing is left.
func TestMissingProtectedPath(t *testing.T) {
	t.Parallel()
	for name, argv := range map[string][]string{"codex alone": {codexPath, "app-server"}, "the bridge": proxyArgv} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			alone := name == "codex alone"
			w := newWorld(t, options{config: missingConfig})
			a := w.newAcceptingEditor(argv...)
			opened := a.must("thread/start", map[string]any{"cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": "workspace-write"})
			thread := editor.Member(opened, "thread", "id")
			if roots := editor.Member(opened, "sandbox", "writableRoots"); roots != "[]" {
				t.Errorf("the client got the writable roots %s", roots)
			}
			for name, creator := range creators {
				w.write("scripts/run.sh", creator.script)
				a.turn(thread, "RUN: sh ../scripts/run.sh; git status --porcelain --untracked-files=all -- .github .vscode; echo RAN")
				output := w.lastToolOutput()
				if !strings.Contains(output, "RAN") || w.hasFile("workspace/"+creator.file) != alone {
					t.Errorf("%s: written %v; the model got %q", name, w.hasFile("workspace/"+creator.file), output)
				}
				if strings.Contains(output, "?? ") != alone {
					t.Errorf("%s: git listed %q", name, output)
				}
				if !alone {
					a.waitUntil(name+": nothing is left", func() bool {
						return !slices.ContainsFunc(w.names(), func(made string) bool { return strings.HasPrefix(made, ".") })
					})
				}
				for _, made := range w.names() {
					if err := os.RemoveAll(filepath.Join(w.workspace, made)); err != nil {
						t.Error(err)
					}
				}
			}
			// The user creates the path at any time, and Codex sees it.
			if err := os.RemoveAll(filepath.Join(w.workspace, ".vscode")); err != nil {
				t.Fatal(err)
			}
			w.write("workspace/.vscode/settings.json", "{}")
			a.turn(thread, "RUN: cat .vscode/settings.json; touch .vscode/mine; true")
			if output := w.lastToolOutput(); !strings.Contains(output, "{}") || w.hasFile("workspace/.vscode/mine") != alone {
				t.Errorf("written in the user's folder: %v; the model got %q", w.hasFile("workspace/.vscode/mine"), output)
			}
			a.closeAndWait()
			if !w.hasFile("workspace/.vscode/settings.json") {
				t.Error("the user's file is gone")
			}
		})
	}
}

// commandEnds are the ways in which a command ends before it is done. restarts says that the bridge
// has to be started again.
var commandEnds = map[string]struct {
	end      func(c *conversation, thread, turn string)
	restarts bool
}{
	"interrupt": {func(c *conversation, thread, turn string) {
		c.must("turn/interrupt", map[string]any{"threadId": thread, "turnId": turn})
	}, false},
	"sandbox killed": {func(c *conversation, _, _ string) { killAll(c.sandboxes()) }, false},
	"codex killed":   {func(c *conversation, _, _ string) { killAll([]int{c.codexPID()}) }, true},
	"bridge killed":  {func(c *conversation, _, _ string) { killAll([]int{c.Process.Pid}) }, true},
	"all killed":     {func(c *conversation, _, _ string) { killAll(c.processes()) }, true},
}

// sandboxes returns the processes of Codex's sandbox, without the command.
func (w *world) sandboxes() (pids []int) {
	for _, pid := range w.processes() {
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if bytes.HasPrefix(name, []byte("bwrap\x00")) || bytes.HasPrefix(name, []byte("codex-linux-sandbox\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// However a command ends, a later command runs, and nothing is left in the workspace. If the bridge
// itself is killed, empty folders may stay until the next one.
func TestEndedCommandLeavesNoMountPoint(t *testing.T) {
	t.Parallel()
	for name, way := range commandEnds {
		for _, stage := range []string{"starting", "running"} {
			if !isSampledName(3, name+stage) {
				continue
			}
			t.Run(name+"/"+stage, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options{config: missingConfig, mute: "many"})
				w.env = append(w.env, "PATH="+w.workspace+"/tools/bin:"+os.Getenv("PATH"))
				c := w.open(proxyArgv...)
				c.initialize(nil)
				settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
				thread := c.thread(settings)
				turn, mark := c.startTurn(thread, "RUN: sleep 3600")
				c.waitFor(mark, "item/started", func(m editor.Message) bool { return m.Param("item", "type") == "commandExecution" })
				if stage == "running" {
					c.waitUntil("a sleep", func() bool { return len(w.sleepers()) > 0 })
				}
				way.end(c, thread, turn)
				if way.restarts {
					w.waitProcesses(noProcesses)
					if name == "codex killed" {
						c.waitNames(name)
					}
					c = w.open(proxyArgv...)
					c.initialize(nil)
					thread = c.thread(settings)
				} else {
					c.waitTurn(thread, turn, mark)
					killAll(w.sleepers()) // Codex does not end the command of an interrupted turn
					c.waitNames(name)
				}
				c.runTurn(thread, "RUN: echo LATER; ls -d .github/workflows .vscode tools/bin; touch tools/bin/git")
				if output := w.lastToolOutput(); !strings.Contains(output, "LATER") || !strings.Contains(output, ".github/workflows\n.vscode\ntools/bin\n") {
					t.Errorf("the model got %q", output)
				}
				c.waitNames("after a later command")
				c.closeAndWait()
			})
		}
	}
}

// A command that goes on after its turn stays confined, and the mount points are removed at its end.
func TestMissingProtectedPathInBackground(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: missingConfig})
	a := w.newAcceptingEditor()
	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	script := "while [ ! -e go ]; do sleep 0.05; done; rm go; rmdir .vscode; mkdir .vscode; echo x > .vscode/tasks.json; touch tried; while [ -e tried ]; do sleep 0.05; done"
	a.turn(thread, `CALL: exec_command {"cmd":`+marshal(t, script)+`,"yield_time_ms":250}`)
	a.turn(thread, "RUN: true")
	w.write("workspace/go", "")
	a.waitUntil("the background command", func() bool { return w.hasFile("workspace/tried") })
	if w.hasFile("workspace/.vscode/tasks.json") {
		t.Error("the background command has written a protected path")
	}
	if err := os.Remove(filepath.Join(w.workspace, "tried")); err != nil {
		t.Fatal(err)
	}
	a.waitNames("after the background command")
	a.closeAndWait()
}

// A turn ends while its command is still starting, in the background. The command stays confined: the mount points are
// not removed between its start and its mounts.
func TestStartingCommandStaysConfined(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: missingConfig, mute: "many"})
	w.holdSandboxes("*tasks.json*")
	a := w.newAcceptingEditor()
	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	w.write("hold", "")
	a.turn(thread, `CALL: exec_command {"cmd":"mkdir -p .vscode; echo x > .vscode/tasks.json; touch ended","yield_time_ms":250}`)
	if !w.hasFile("held") {
		t.Fatalf("the sandbox does not start: %q", w.lastToolOutput())
	}
	time.Sleep(1500 * time.Millisecond) // without the look at the processes, the folders are removed meanwhile
	if !w.hasFile("workspace/.vscode") || !w.hasFile("workspace/.github/workflows") {
		t.Error("the mount points are removed before the command mounts them")
	}
	w.remove("hold")
	a.waitUntil("the command", func() bool { return w.hasFile("workspace/ended") })
	if w.hasFile("workspace/.vscode/tasks.json") {
		t.Error("the command has written a protected path")
	}
	a.waitNames("after the command", "ended")
	a.closeAndWait()
}

// Empty read-only files at protected paths stay, though a killed command leaves such files: they may be the user's. Commands
// run and can't change them. A file that comes in place of a folder of an open thread stops its commands; the client
// gets its name. Codex alone keeps the files, too.
func TestReadOnlyFilesAtProtectedPaths(t *testing.T) {
	t.Parallel()
	for name, argv := range map[string][]string{"codex alone": {codexPath, "app-server"}, "the bridge": proxyArgv} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: strings.Replace(missingConfig, `".vscode"`, `".vscode", "pkg/py.typed"`, 1)})
			w.write("workspace/pkg/a.py", "")
			files := []string{".github", ".vscode", "pkg/py.typed"}
			for _, file := range files {
				w.writeEmpty(file)
			}
			a := w.newAcceptingEditor(argv...)
			settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
			script, thread := "true", a.thread(settings)
			if name == "the bridge" {
				script = "for f in .github .vscode pkg/py.typed; do echo x > $f; rm -f $f; mv $f $f.gone; done"
			}
			a.turn(thread, "RUN: ("+script+") 2>&1; echo RAN")
			if output := w.lastToolOutput(); !strings.Contains(output, "RAN") {
				t.Errorf("the model got %q", output)
			}
			if name == "the bridge" {
				w.remove("workspace/.github")
				thread = a.thread(settings)
				w.writeEmpty(".github")
				a.turn(thread, "RUN: echo RAN")
				if output := w.lastToolOutput(); strings.Contains(output, "RAN") {
					t.Errorf("a command ran: %q", output)
				}
				a.waitFor(0, "configWarning", func(m editor.Message) bool {
					return strings.Contains(m.Param("summary"), filepath.Join(w.workspace, ".github")+`" is a file`)
				})
			}
			a.closeAndWait()
			for _, file := range files {
				if info, err := os.Lstat(filepath.Join(w.workspace, file)); err != nil || info.Mode() != 0o444 || info.Size() != 0 {
					t.Errorf("%s: %v, %v", file, info, err)
				}
			}
			if names := w.names(); !slices.Equal(names, []string{".github", ".vscode", "pkg", "pkg/a.py", "pkg/py.typed"}) {
				t.Errorf("the workspace has %q", names)
			}
		})
	}
}

// writeEmpty creates an empty read-only file in the workspace.
func (w *world) writeEmpty(name string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.workspace, name), nil, 0o444); err != nil {
		w.t.Fatal(err)
	}
}
