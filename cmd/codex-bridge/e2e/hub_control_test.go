//go:build linux

package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// startServe starts codex-bridge serve, and returns when it listens on the socket of Codex's daemon.
func (w *world) startServe() (stop func()) {
	w.t.Helper()
	cmd := exec.Command(proxyPath, "serve")
	cmd.Env, cmd.Dir, cmd.Stderr = w.env, w.workspace, os.Stderr
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	socket := filepath.Join(w.home, "app-server-control", "app-server-control.sock")
	for end := time.Now().Add(patience); !exists(socket); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatal("codex-bridge serve does not listen")
		}
	}
	return func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			w.t.Error(err)
		}
		if exists(socket) {
			w.t.Error("the socket stays")
		}
	}
}

// With serve.control_socket a codex that the bridge does not start runs under the policy: its terminal
// interface and codex queue.
func TestControlSocket(t *testing.T) {
	t.Parallel()
	config := strings.NewReplacer(`mode = "require"`, "control_socket = true", `"ask"`, `"deny"`).Replace(hubConfig)
	w := newWorld(t, options{config: config, codex: codexPath, codexConfig: terminalConfig, mute: "the clients of one Codex have no noise"})
	// Else its terminal interface asks whether to trust the folder, and the policy refuses to store that.
	w.write("home/config.toml", w.read("home/config.toml")+"\n[projects.\""+w.workspace+"\"]\ntrust_level = \"trusted\"\n")
	stop := w.startServe()
	out := w.root + "/outside"
	term := w.newScreen(codexPath, "-s", "workspace-write", "ESCALATE: touch "+out+"\nRUN: touch inside")
	term.waitUntil("the turn has ended", func() bool { return w.workspaceHasFile("inside") })
	if exists(out) {
		t.Error("a command of codex left the sandbox")
	}
	if said, _, _ := w.runCommand("doctor"); !strings.Contains(said, "each codex uses codex-bridge serve") {
		t.Errorf("doctor: %s", said)
	}
	queue := exec.Command(codexPath, "queue", "--thread", latestThread(t, w), "--message", "SAY: queued by a command")
	queue.Env, queue.Dir = w.env, w.workspace
	if text, err := queue.CombinedOutput(); err != nil {
		t.Errorf("codex queue: %v: %s", err, text)
	}
	term.waitUntil("the queued turn", func() bool { return strings.Contains(visible(term.text()), "queued by a command") })
	daemon := exec.Command(codexPath, "app-server", "daemon", "version")
	daemon.Env = w.env
	if text, err := daemon.CombinedOutput(); err != nil || !strings.Contains(string(text), `"status":"running"`) {
		t.Errorf("codex app-server daemon version: %v: %s", err, text)
	}
	term.quit()
	stop()
}

// latestThread returns the id of the only thread.
func latestThread(t *testing.T, w *world) string {
	t.Helper()
	files, err := filepath.Glob(w.home + "/sessions/*/*/*/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no thread", err)
	}
	name := strings.TrimSuffix(filepath.Base(files[0]), ".jsonl")
	return name[len(name)-36:]
}
