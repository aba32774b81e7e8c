//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// A cwd with more than read-only makes Codex trust the repository for good, and start its servers at once. Where a
// client names no cwd, or is a command that Codex alone has without one, a folder that the bridge adds does neither.
func TestAddedFolderTrustsNothing(t *testing.T) {
	t.Parallel()
	const (
		serve  = "[serve]\nmode = \"require\"\nidle = \"5s\"\n"
		policy = "[policy]\napproval = [\"on-request\", \"never\"]\nsandbox = \"workspace-write\"\n"
		audit  = policy + "mode = \"audit\"\n"
		codex  = policy + "project_trust = \"codex\"\n"
	)
	start := func(argv ...string) func(*world) {
		return func(w *world) {
			c := w.open(argv...)
			c.initialize(nil)
			c.runTurn(editor.Member(c.must("thread/start", map[string]any{"sandbox": "workspace-write"}), "thread", "id"), "SAY: hello")
			c.Close(patience)
		}
	}
	command := func(args ...string) func(*world) {
		return func(w *world) {
			if _, stderr, status := w.runCommand(append(args, "SAY: hello")...); status != 0 {
				t.Errorf("%s: status %d; %s", args[0], status, stderr)
			}
		}
	}
	for name, test := range map[string]struct {
		config string
		open   func(*world)
	}{
		"Codex alone":            {"", start(codexPath, "app-server")},
		"shared, no policy":      {serve, start(proxyArgv...)},
		"shared, audit":          {audit + serve, start(proxyArgv...)},
		"shared, trust as Codex": {codex + serve, start(proxyArgv...)},
		"run":                    {"", command("run", "--session", "s", "--sandbox", "workspace-write")},
		"run in another thread": {"[thread]\nmax_rollout = \"1KiB\"\n", func(w *world) {
			for range 2 {
				command("run", "--session", "s", "--sandbox", "workspace-write")(w)
			}
		}},
		"exec, trust as Codex":       {codex, command("exec", "-s", "workspace-write")},
		"fork, no policy":            {"", (*world).forkStale},
		"fork, audit":                {audit, (*world).forkStale},
		"shared run, trust as Codex": {codex + serve, command("run", "--session", "s", "--sandbox", "workspace-write")},
	} {
		w := newWorld(t, options{config: test.config, codex: codexPath, mute: "the clients of one Codex have no noise"})
		w.writeFiles("workspace", hostile)
		test.open(w)
		if trusts := strings.Contains(w.read("home/config.toml"), `"trusted"`); trusts || w.hasFile("marker-server") {
			t.Errorf("%s: Codex trusts the repository: %t; its server was started: %t", name, trusts, w.hasFile("marker-server"))
		}
		if name != "Codex alone" {
			continue
		}
		c := w.open(codexPath, "app-server")
		c.initialize(nil)
		c.runTurn(c.thread(map[string]any{"sandbox": "workspace-write", "cwd": w.workspace}), "SAY: hello")
		if !w.hasFile("marker-server") {
			t.Error("a named cwd starts no server of the repository")
		}
	}
}

// A shared Codex starts in an empty folder, so that a client's command without a cwd can't write the state.
func TestCommandInStartFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[serve]\nmode = \"require\"\nidle = \"5s\"\n", codex: codexPath, mute: "the clients of one Codex have no noise"})
	c := w.open(proxyArgv...)
	c.initialize(nil)
	out := c.must("command/exec", map[string]any{
		"command": []string{"sh", "-c", "touch made && echo made; touch ../state.db && echo written"}, "sandboxPolicy": map[string]any{"type": "workspaceWrite"},
	})
	_, err := os.Stat(filepath.Join(w.state, "made"))
	if said := editor.Member(out, "stdout"); said != "made\n" || err == nil {
		t.Errorf("the command said %q; it wrote in the state folder: %v", said, err == nil)
	}
	c.closeAndWait()
}

// forkStale resumes a thread whose tools have changed since, so that the client gets a new thread.
func (w *world) forkStale() {
	w.t.Helper()
	config := ""
	if w.hasFile("config.toml") {
		config = w.read("config.toml")
	}
	open := func(tool string) *conversation {
		w.env = append(w.env, "CODEX_BRIDGE_CONFIG="+w.write("config.toml", config+"\n[thread]\non_stale_tools = \"fork\"\n[tools."+tool+"]\ndescription = \"d\"\ncommand = [\"/bin/true\"]\n"))
		c := w.open(proxyArgv...)
		c.initialize(nil)
		return c
	}
	c := open("one")
	thread := editor.Member(c.must("thread/start", map[string]any{"sandbox": "workspace-write"}), "thread", "id")
	c.runTurn(thread, "SAY: hello")
	c.closeAndWait()
	c = open("two")
	fork := editor.Member(c.must("thread/resume", map[string]any{"threadId": thread, "sandbox": "workspace-write"}), "thread", "id")
	if fork == thread {
		w.t.Error("the thread is not forked")
	}
	c.runTurn(fork, "SAY: hello")
	c.closeAndWait()
}
