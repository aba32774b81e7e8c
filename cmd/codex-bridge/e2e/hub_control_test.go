//go:build linux

package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"codex-bridge.example/bridge/codex"
)

// The names of these tests are short, since the path of the control socket has theirs.

// startServe starts codex-bridge serve, and returns when it listens on the socket of Codex's daemon.
func (w *world) startServe() (stop func()) {
	w.t.Helper()
	needsLinux(w.t, "codex-bridge serve listens on a socket")
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
	if said, _, _ := w.runCommand("doctor"); !strings.Contains(said, "each codex that uses a daemon uses codex-bridge serve") {
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
	agents := w.newScreen(codexPath, "agents")
	agents.waitUntil("the session is listed", func() bool { return strings.Contains(visible(agents.text()), "touch") })
	agents.quit()
	w.proxyToControlSocket(codexPath)
	w.proxyToControlSocket(proxyPath)
	stop()
}

// A limit that the guide names: with some flags codex has an app-server in its process, and so no policy.
func TestSocketLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{
		config: strings.Replace(hubConfig, `mode = "require"`, "control_socket = true", 1), codex: codexPath, codexConfig: terminalConfig,
		mute: "the clients of one Codex have no noise",
	})
	w.write("home/config.toml", w.read("home/config.toml")+"\n[projects.\""+w.workspace+"\"]\ntrust_level = \"trusted\"\n")
	stop := w.startServe()
	for i, c := range []struct {
		flags  []string
		leaves bool
	}{
		{nil, false}, {[]string{"-c", `model_verbosity="low"`}, true}, {[]string{"--no-daemon"}, true}, {[]string{"--search"}, true},
		{[]string{"--strict-config"}, true}, {[]string{"-a", "on-request"}, false}, {[]string{"--enable", "goals"}, false}, {[]string{"-m", "gpt-5.5"}, false},
	} {
		if i > 1 && os.Getenv(wideEnv) == "" {
			break
		}
		out, in := fmt.Sprintf("%s/outside-%d", w.root, i), fmt.Sprintf("inside-%d", i)
		line := append([]string{codexPath, "-s", "danger-full-access"}, c.flags...)
		term := w.newScreen(append(line, "RUN: touch "+out+"; touch "+w.workspace+"/"+in)...)
		term.waitUntil("the command has run", func() bool { return w.workspaceHasFile(in) })
		if exists(out) != c.leaves {
			t.Errorf("codex %q leaves the sandbox: %v", c.flags, !c.leaves)
		}
		term.quit()
	}
	stop()
}

// proxyToControlSocket connects by "app-server proxy" of a program, and sees that the policy answers there.
func (w *world) proxyToControlSocket(program string) {
	w.t.Helper()
	cmd := exec.Command(program, "app-server", "proxy")
	cmd.Env, cmd.Dir = w.env, w.workspace
	in, err := cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	near, far := net.Pipe()
	go func() { _, _ = io.Copy(in, far) }() // both end with the connection
	go func() { _, _ = io.Copy(far, out) }()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return near, nil }}
	ws, _, err := websocket.Dial(deadline(w.t), "ws://localhost/rpc", &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}}) //nolint:bodyclose // see its documentation
	if err != nil {
		w.t.Fatal(err)
	}
	stream := codex.NewWebSocket(ws, codex.WebSocketOptions{})
	lines := bufio.NewReader(stream)
	defer time.AfterFunc(patience, func() { stream.Close() }).Stop()
	for _, m := range []struct{ request, want string }{
		{`{"id":1,"method":"initialize","params":{"clientInfo":{"name":"remote","version":"1"},"capabilities":null}}`, `"userAgent"`},
		{`{"id":2,"method":"config/value/write","params":{"keyPath":"sandbox_mode","value":"danger-full-access","mergeStrategy":"replace"}}`, "-32010"},
	} {
		if _, err := io.WriteString(stream, m.request+"\n"); err != nil {
			w.t.Fatal(err)
		}
		id, line := m.request[1:len(`{"id":1`)], ""
		for !strings.Contains(line, id) {
			if line, err = lines.ReadString('\n'); err != nil {
				w.t.Fatal(err)
			}
		}
		if !strings.Contains(line, m.want) {
			w.t.Errorf("%s: %s", m.request, line)
		}
	}
	stream.Close()
	near.Close()
	in.Close()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// stopDaemon ends codex-bridge serve at the end of a test.
func (w *world) stopDaemon() {
	cmd := exec.Command(proxyPath, "app-server", "daemon", "stop")
	cmd.Env, cmd.Dir = w.env, w.workspace
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Errorf("daemon stop: %v: %s", err, out)
	}
}

// Codex's commands for its daemon start and end codex-bridge serve, which does not end by itself then.
func TestDaemonCommands(t *testing.T) {
	t.Parallel()
	w := newHubWorld(t, strings.Replace(hubConfig, `idle = "5s"`, "control_socket = true\nidle = \"1s\"", 1)+"commands = [\"*\", \"app-server daemon\", \"app-server proxy\"]\n")
	daemon := func(words ...string) (status string, pid int) {
		t.Helper()
		out, said, code := w.runCommand(append([]string{"app-server", "daemon"}, words...)...)
		var result struct {
			Status string
			PID    int
		}
		if err := json.Unmarshal([]byte(out), &result); err != nil || code != 0 {
			t.Fatalf("daemon %s: %d, %s%s", words, code, out, said)
		}
		return result.Status, result.PID
	}
	want := func(command, status string) int {
		t.Helper()
		got, pid := daemon(command)
		if got != status {
			t.Errorf("daemon %s: %q, want %q", command, got, status)
		}
		return pid
	}
	want("stop", "notRunning")
	first := want("start", "started")
	t.Cleanup(w.stopDaemon)
	if again := want("start", "alreadyRunning"); again != first {
		t.Errorf("process %d, then %d", first, again)
	}
	c := w.joined()
	thread := c.thread(nil)
	c.runTurn(thread, "SAY: one")
	c.closeAndWait()
	time.Sleep(2 * time.Second) // longer than serve.idle
	want("version", "running")
	for _, line := range []string{"daemon restart", "daemon bootstrap", "daemon enable-remote-control", "daemon start --x", "daemon", "daemon -- start", "proxy --x", "--stdio daemon start"} {
		if _, said, code := w.runCommand(append([]string{"app-server"}, strings.Fields(line)...)...); code != 2 || !strings.Contains(said, "Its commands are start, stop and version") {
			t.Errorf("app-server %s: %d, %s", line, code, said)
		}
	}
	if _, said, code := w.runCommand("-c", "model=x", "app-server", "daemon", "start"); code != 2 {
		t.Errorf("with an override: %d, %s", code, said)
	}
	if out, said, code := w.runCommand("app-server", "daemon", "--help"); code != 0 || !strings.Contains(out, "Usage") {
		t.Errorf("help: %d, %s", code, said)
	}
	want("stop", "stopped")
	want("stop", "notRunning")
}

// Codex's own daemon on the control socket is named and ends by the command that is named.
func TestForeignDaemon(t *testing.T) {
	t.Parallel()
	config := strings.Replace(hubConfig, "[policy]", "[policy]\ncommands = [\"queue\"]", 1)
	w := newHubWorld(t, strings.Replace(config, `idle = "5s"`, "control_socket = true", 1))
	daemon := exec.CommandContext(deadline(t), codexPath, "app-server", "--listen", "unix://")
	daemon.Dir, daemon.Env = w.workspace, w.env
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = daemon.Process.Kill(); _ = daemon.Wait() }()
	for end := time.Now().Add(patience); !exists(filepath.Join(w.home, "app-server-control", "app-server-control.sock")); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the daemon does not listen")
		}
	}
	for _, words := range []string{"app-server daemon start", "serve", "app-server proxy", "queue --thread x --message y"} {
		if _, said, code := w.runCommand(strings.Fields(words)...); code == 0 || !strings.Contains(said, "a Codex daemon without this policy listens") {
			t.Errorf("%s: %d, %s", words, code, said)
		}
	}
	if out, said, _ := w.runCommand("app-server", "daemon", "stop"); strings.Contains(out, "notRunning") || !strings.Contains(out+said, "not managed") {
		t.Errorf("stop is not Codex's: %s%s", out, said)
	}
}

// A codex-bridge without an enforced policy does not take the control socket over from one with it.
func TestSocketKept(t *testing.T) {
	t.Parallel()
	w := newHubWorld(t, strings.Replace(hubConfig, `mode = "require"`, "control_socket = true", 1))
	lax := "[serve]\ncontrol_socket = true\nlisten = [\"unix://" + w.root + "/s/s\"]\n[policy]\nmode = \"audit\"\n"
	w.write("lax.toml", lax)
	startLax := func() *exec.Cmd {
		cmd := exec.CommandContext(deadline(t), proxyPath, "serve")
		cmd.Env, cmd.Dir = append(w.env, "CODEX_BRIDGE_CONFIG="+w.root+"/lax.toml"), w.workspace
		return cmd
	}
	stop := w.startServe()
	if out, err := startLax().CombinedOutput(); err == nil || !strings.Contains(string(out), "under an enforced policy, and this one enforces none") {
		t.Errorf("%v: %s", err, out)
	}
	socket := filepath.Join(w.home, "app-server-control", "app-server-control.sock")
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); !exists(socket); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a socket that was removed is not replaced")
		}
	}
	stop()

	// The other way round, the one with the policy takes over.
	t.Cleanup(w.stopDaemon)
	cmd := startLax()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	for end := time.Now().Add(patience); !exists(socket); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the lax one does not listen")
		}
	}
	if out, said, code := w.runCommand("app-server", "daemon", "start"); code != 0 || !strings.Contains(out, `"started"`) {
		t.Errorf("%d: %s%s", code, out, said)
	}
	w.proxyToControlSocket(codexPath)
}

// A newer codex-bridge takes the control socket over. The older one goes on with its clients, and ends with
// the last of them, if the newer one does not crash.
func TestSocketTakenOver(t *testing.T) {
	t.Parallel()
	w := newHubWorld(t, strings.Replace(hubConfig, `idle = "5s"`, "control_socket = true\nidle = \"1s\"", 1))
	t.Cleanup(w.stopDaemon)
	c := w.joined()
	thread := c.thread(nil)
	c.runTurn(thread, "SAY: one")
	socket := filepath.Join(w.home, "app-server-control", "app-server-control.sock")
	older := w.processesOf("codex-bridge", "serve")
	if !exists(socket) || len(older) != 1 {
		t.Fatal("no control socket", older)
	}
	newer := w.root + "/newer"
	program, err := os.ReadFile(proxyPath)
	if err == nil {
		err = os.WriteFile(newer, program, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	takeOver := func(times int) {
		w.open(newer, "app-server").initialize(nil)
		for end := time.Now().Add(patience); strings.Count(w.read("state/serve.log"), "taken the control socket over") < times; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the older one still has the socket")
			}
		}
	}
	takeOver(1)
	c.runTurn(thread, "SAY: two")
	// It has the socket again if the newer one crashes.
	for _, pid := range w.processesOf("codex-bridge", "serve") {
		if pid != older[0] {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if out, _, _ := w.runCommand("app-server", "daemon", "version"); strings.Contains(out, fmt.Sprintf(`"pid":%d,`, older[0])) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the older one does not take the socket back")
		}
	}
	takeOver(2)
	c.closeAndWait()
	for end := time.Now().Add(patience); slices.Contains(w.processesOf("codex-bridge", "serve"), older[0]); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the older one does not end")
		}
	}
	if out, said, _ := w.runCommand("app-server", "daemon", "version"); !strings.Contains(out, `"running"`) {
		t.Errorf("%s%s", out, said)
	}
}

// latestThread returns the id of the newest thread.
func latestThread(t *testing.T, w *world) string {
	t.Helper()
	files, err := filepath.Glob(w.home + "/sessions/*/*/*/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no thread", err)
	}
	name := strings.TrimSuffix(filepath.Base(files[len(files)-1]), ".jsonl") // they begin with the time
	return name[len(name)-36:]
}
