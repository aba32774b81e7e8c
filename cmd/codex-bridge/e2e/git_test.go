//go:build linux

package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
)

// git runs git in a folder of the world.
func (w *world) git(folder string, args ...string) {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = filepath.Join(w.root, folder)
	cmd.Env = append(w.env, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// addFilter makes a folder a repository whose attributes name the filter x. It returns a program
// for the filter, which creates the file RAN.
func (w *world) addFilter(folder string) (program string) {
	w.t.Helper()
	program = w.write("filter", "#!/bin/sh\ntouch "+filepath.Join(w.root, "RAN")+"\ncat\n")
	if err := os.Chmod(program, 0o700); err != nil {
		w.t.Fatal(err)
	}
	w.write(folder+"/file", "text\n")
	w.git(folder, "init", "-q")
	w.git(folder, "add", ".")
	w.git(folder, "commit", "-qm", "first")
	w.write(folder+"/.gitattributes", "* filter=x\n")
	w.write(folder+"/file", "text\n") // git has to read it again
	return program
}

// waitFilter waits until the filter has run.
func (a *acceptingEditor) waitFilter() {
	a.t.Helper()
	for !a.hasFile("RAN") {
		if a.ctx.Err() != nil {
			a.t.Fatal("the filter did not run")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

const gitConfig = `
[policy]
approval = ["on-request"]
sandbox = "workspace-write"
`

// Codex runs git at the start of a turn, and git runs the clean filter of .git/config. With the
// bridge no thread opens if a repository names its own program, unless the user trusts the project.
// The user's own filters still run.
func TestProjectGitFiltersDoNotRun(t *testing.T) {
	t.Parallel()
	settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
	t.Run("control", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, options{})
		w.git("workspace", "config", "filter.x.clean", w.addFilter("workspace"))
		a := w.newAcceptingEditor(codexPath, "app-server")
		a.turn(a.thread(settings), "good day")
		a.waitFilter()
		a.closeAndWait()
	})
	t.Run("bridge", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, options{config: gitConfig})
		program := w.addFilter("workspace")
		a := w.newAcceptingEditor(proxyArgv...)
		thread := a.thread(settings)
		a.turn(thread, "good day")

		w.git("workspace", "config", "filter.x.clean", program)
		named := map[string]any{"threadId": thread}
		for method, params := range map[string]any{
			"thread/start": map[string]any{"cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": "read-only"},
			"thread/fork":  named, "thread/resume": named, "turn/start": input(thread, "good day"),
		} {
			err := a.mustFail(method, params)
			if err.Code != -32010 || !strings.Contains(err.Message, "filter.x.clean") || !strings.Contains(err.Message, ".git/config") || !strings.Contains(err.Message, "git config --global") {
				t.Errorf("%s: %v", method, err)
			}
		}
		if w.hasFile("RAN") {
			t.Error("the filter ran")
		}

		// With the filter in the user's configuration, the filter runs.
		w.git("workspace", "config", "--unset", "filter.x.clean")
		w.git("workspace", "config", "--global", "filter.x.clean", program)
		a.turn(thread, "good day")
		a.waitFilter()
		a.closeAndWait()
	})
	t.Run("trusted", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, options{config: gitConfig})
		w.write("home/config.toml", w.read("home/config.toml")+"\n[projects."+marshal(t, w.workspace)+"]\ntrust_level = \"trusted\"\n")
		w.git("workspace", "config", "filter.x.clean", w.addFilter("workspace"))
		a := w.newAcceptingEditor(proxyArgv...)
		thread := a.thread(settings)
		a.turn(thread, "good day")
		a.waitFilter()

		// A repository inside it is another one: a command could have created it.
		if err := os.Remove(filepath.Join(w.root, "RAN")); err != nil {
			t.Fatal(err)
		}
		w.git("workspace", "config", "--unset", "filter.x.clean")
		program := w.addFilter("workspace/sub")
		w.git("workspace/sub", "config", "filter.x.clean", program)
		moved := input(thread, "good day")
		moved["cwd"] = filepath.Join(w.workspace, "sub")
		if err := a.mustFail("turn/start", moved); !strings.Contains(err.Message, "filter.x.clean") || w.hasFile("RAN") {
			t.Errorf("%v; ran %v", err, w.hasFile("RAN"))
		}
		a.closeAndWait()
	})
	// A command creates a repository below the workspace, and the client moves a turn there.
	for name, argv := range map[string][]string{"made by a command, control": {codexPath, "app-server"}, "made by a command": proxyArgv} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: gitConfig})
			program := w.addFilter("made")
			w.git("made", "config", "filter.x.clean", program)
			a := w.newAcceptingEditor(argv...)
			thread := a.thread(settings)
			a.turn(thread, "RUN: cp -r "+filepath.Join(w.root, "made")+" sub")
			if !w.hasFile("workspace/sub/.git/config") {
				t.Fatal("the command created no repository")
			}
			moved := input(thread, "good day")
			moved["cwd"] = filepath.Join(w.workspace, "sub")
			if strings.HasSuffix(name, "control") {
				mark := a.Mark()
				a.waitTurn(thread, editor.Member(a.must("turn/start", moved), "turn", "id"), mark)
				a.waitFilter()
			} else if err := a.mustFail("turn/start", moved); !strings.Contains(err.Message, "filter.x.clean") || w.hasFile("RAN") {
				t.Errorf("%v; ran %v", err, w.hasFile("RAN"))
			}
			a.closeAndWait()
		})
	}
}
