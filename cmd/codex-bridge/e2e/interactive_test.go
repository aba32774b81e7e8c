//go:build linux

package e2e_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"codex-bridge.example/bridge/bridgetest"
)

// screen is a program on a terminal of its own.
type screen struct {
	t   *testing.T
	cmd *exec.Cmd
	tty *os.File

	mu     sync.Mutex
	output bytes.Buffer // all that was written, without interpretation
	done   chan struct{}
}

// terminalConfig makes the terminal interface start without its questions about a new model and a
// screen reader.
const terminalConfig = `[tui]
screen_reader_detection_done = true
[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"
`

// trustQuestion is the one that remains: whether the folder is trusted.
const trustQuestion = "Trust and continue"

// answers are what a terminal says to the questions of programs.
var answers = map[string]string{
	"\x1b[6n": "\x1b[1;1R", "\x1b[c": "\x1b[?1;2c",
	"\x1b]10;?\x1b\\": "\x1b]10;rgb:ffff/ffff/ffff\x1b\\", "\x1b]11;?\x1b\\": "\x1b]11;rgb:0000/0000/0000\x1b\\",
}

func (w *world) newScreen(argv ...string) *screen {
	w.t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = w.workspace, append(w.env, "TERM=xterm-256color")
	user, program := bridgetest.Terminal(w.t, 120)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	program.Close()
	term := &screen{t: w.t, cmd: cmd, tty: user, done: make(chan struct{})}
	go term.read()
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-term.done
		if w.t.Failed() {
			w.t.Logf("the terminal got:\n%s", visible(term.text()))
			log, _ := os.ReadFile(filepath.Join(w.root, "state", "terminal.log"))
			w.t.Logf("the bridge's log:\n%s", log)
		}
	})
	return term
}

func (term *screen) read() {
	defer close(term.done)
	part, asked := make([]byte, 64<<10), false
	for {
		n, err := term.tty.Read(part)
		term.mu.Lock()
		term.output.Write(part[:n])
		term.mu.Unlock()
		for question, answer := range answers {
			if bytes.Contains(part[:n], []byte(question)) {
				term.write(answer)
			}
		}
		if !asked && strings.Contains(visible(term.text()), trustQuestion) {
			asked = true
			time.AfterFunc(time.Second, func() { term.write("\r") }) // a question takes no key at once
		}
		if err != nil {
			_ = term.cmd.Wait()
			return
		}
	}
}

// quit ends the program as kill does, and waits.
func (term *screen) quit() {
	term.t.Helper()
	_ = term.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-term.done:
	case <-time.After(patience / 2):
		term.t.Error("the program does not end")
	}
}

func (term *screen) write(text string) { _, _ = term.tty.WriteString(text) }

func (term *screen) text() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.output.String()
}

var controls = regexp.MustCompile("\x1b(\\][^\x07\x1b]*(\x07|\x1b\\\\)|\\[[0-9;?<>=]*[A-Za-z])")

// visible returns the end of an output without the terminal's controls, which become line ends.
func visible(output string) string {
	lines := strings.Split(controls.ReplaceAllString(output, "\n"), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool {
		return strings.TrimSpace(line) == "" || strings.IndexFunc(line, func(r rune) bool { return r >= 0x2800 && r < 0x2900 }) >= 0
	})
	return strings.Join(lines[max(0, len(lines)-80):], "\n")
}

// waitUntil waits for a condition, and fails the test if the program ends before.
func (term *screen) waitUntil(what string, is func() bool) {
	term.t.Helper()
	for late := time.Now().Add(patience / 2); !is(); time.Sleep(20 * time.Millisecond) {
		select {
		case <-term.done:
			if is() {
				return
			}
			term.t.Fatalf("the program ended without: %s", what)
		default:
		}
		if time.Now().After(late) {
			term.t.Fatalf("not seen: %s", what)
		}
	}
}

// terminalPolicy is the policy of these tests. Their Codex has no noise: its terminal interface rejects
// a decision with a member that it does not know.
const terminalPolicy = "[policy]\nmode = \"enforce\"\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\ncommands = []\n"

// The terminal interface runs under the policy: it can't ask for more, neither by flags nor in a
// later session.
func TestTerminalInterfaceUnderPolicy(t *testing.T) {
	t.Parallel()
	// In a remote Codex a session that comes back has Codex's default sandbox.
	w := newWorld(t, options{codexConfig: "sandbox_mode = \"workspace-write\"\n" + terminalConfig, codex: codexPath, config: terminalPolicy})
	for _, argv := range [][]string{
		{"-s", "workspace-write", "-a", "never", "-c", `sandbox_mode="danger-full-access"`, "--", "RUN: touch ../outside; touch first"},
		{"resume", "--last", "RUN: touch ../outside; touch second"},
		{"fork", "--last", "RUN: touch ../outside; touch third"},
	} {
		term := w.newScreen(append([]string{proxyPath}, argv...)...)
		made := argv[len(argv)-1][len("RUN: touch ../outside; touch "):]
		term.waitUntil("the command has run", func() bool { return w.workspaceHasFile(made) })
		if w.hasFile("outside") {
			t.Errorf("%q wrote a file outside the workspace", argv)
		}
		term.quit()
	}
	out, _, _ := w.runCommand("decisions", "list")
	if !strings.Contains(out, "thread/start") || !strings.Contains(out, "thread/resume") || !strings.Contains(out, "thread/fork") {
		t.Errorf("decisions:\n%s", out)
	}
}

// Without the bridge the same flags reach outside the workspace.
func TestTerminalInterfaceControl(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codexConfig: terminalConfig, codex: codexPath})
	term := w.newScreen(codexPath, "--no-daemon", "-s", "danger-full-access", "-a", "never", "RUN: touch ../outside; touch first")
	term.waitUntil("the command has run", func() bool { return w.hasFile("outside") })
	term.quit()
}

// The user of the terminal interface is asked about what leaves the sandbox, and answers there.
func TestTerminalInterfaceAsks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codexConfig: terminalConfig, codex: codexPath, config: terminalPolicy + "escalation = \"ask\"\n"})
	term := w.newScreen(proxyPath, "-s", "workspace-write", "ESCALATE: touch ../outside")
	term.waitUntil("the question", func() bool { return strings.Contains(visible(term.text()), "Yes, proceed") })
	if w.hasFile("outside") {
		t.Error("the command ran before the answer")
	}
	time.Sleep(time.Second) // a question takes no key at once
	term.write("y")
	term.waitUntil("the command has run", func() bool { return w.hasFile("outside") })
	term.quit()
}

// Flags that would pass the policy by end the start with a hint.
func TestTerminalInterfaceRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: terminalPolicy})
	for _, argv := range [][]string{{"--remote", "unix:///x"}, {"resume", "--remote=ws://127.0.0.1:1"}, {"--yolo"}, {"fork", "--dangerously-bypass-hook-trust"}} {
		if _, text, code := w.runShell("", argv...); code != 2 || !strings.Contains(text, "remove it") {
			t.Errorf("%q ends with %d: %s", argv, code, text)
		}
	}
}

// A policy that can't be enforced is an error before Codex starts. If commands can write in the state
// folder, no file in it is opened.
func TestTerminalInterfaceChecksFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: terminalPolicy})
	state := filepath.Join(w.home+".tmp", "state") // in a temporary folder
	w.env = append(w.env, "CODEX_BRIDGE_STATE="+state)
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(w.root, "victim"), filepath.Join(state, "terminal.log")); err != nil {
		t.Fatal(err)
	}
	if _, text, code := w.runShell("", "-s", "workspace-write"); code != 2 || !strings.HasPrefix(text, "codex-bridge: ") || !strings.Contains(text, state) {
		t.Errorf("it ends with %d: %s", code, text)
	}
	if w.hasFile("victim") {
		t.Error("the log was opened through a link that a command can make")
	}
}

// connectProgram connects to each socket of the bridges in a folder, and prints the replies to an upgrade.
const connectProgram = `import glob, os, socket, sys
for folder in glob.glob(sys.argv[1] + "/*"):
    os.chdir(folder)
    try:
        s = socket.socket(socket.AF_UNIX)
        s.connect("hook.sock")
        s.send(b"GET /rpc HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
        print(s.recv(100))
    except OSError as e:
        print(e)
`

// A sandboxed command with network can't connect to the socket of the terminal interface, where it
// could answer its own questions.
func TestTerminalInterfaceSocket(t *testing.T) {
	t.Parallel()
	needsLinux(t, "the terminal interface has a socket; elsewhere it has a local port with a token")
	w := newWorld(t, options{codex: codexPath, config: terminalPolicy + "network = true\n", codexConfig: terminalConfig + "[sandbox_workspace_write]\nnetwork_access = true\n"})
	connect := []string{"python3", w.write("workspace/connect.py", connectProgram), filepath.Join(w.root, "state", "run")}
	term := w.newScreen(proxyPath, "-s", "workspace-write", "RUN: "+strings.Join(connect, " ")+" >replies 2>&1; touch done")
	term.waitUntil("the command has run", func() bool { return w.workspaceHasFile("done") })
	replies, err := os.ReadFile(filepath.Join(w.workspace, "replies"))
	if err != nil || len(replies) == 0 || bytes.Contains(replies, []byte("101 Switching")) {
		t.Errorf("a sandboxed command gets %q, %v", replies, err)
	}
	if out, err := exec.Command(connect[0], connect[1:]...).CombinedOutput(); err != nil || !bytes.Contains(out, []byte("101 Switching")) {
		t.Errorf("another process gets %q, %v", out, err)
	}
	term.quit()
}

// After Codex's own hint, which names the private socket, the user reads how to resume.
func TestTerminalInterfaceResumeHint(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codexConfig: terminalConfig, codex: codexPath, config: terminalPolicy})
	term := w.newScreen(proxyPath, "-s", "workspace-write", "RUN: touch first")
	term.waitUntil("the turn has ended", func() bool { return strings.Contains(visible(term.text()), "Worked for") })
	term.write("/exit")
	time.Sleep(time.Second) // else Codex takes the next key as pasted
	term.write("\r")
	term.waitUntil("the hint", func() bool { return strings.Contains(visible(term.text()), `"codex-bridge resume" opens`) })
	if text := visible(term.text()); strings.Index(text, "To reconnect") > strings.Index(text, "does not hold here") {
		t.Errorf("Codex's hint comes last:\n%s", text)
	}
}

// The user can interrupt a bridge that waits for an app-server which does not end.
func TestTerminalInterfaceInterruptedEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codexConfig: terminalConfig, codex: codexPath, config: terminalPolicy})
	term := w.newScreen(proxyPath, "-s", "workspace-write", "RUN: touch first")
	term.waitUntil("the turn has ended", func() bool { return strings.Contains(visible(term.text()), "Worked for") })
	for _, pid := range w.processesOf(codexPath, "app-server") {
		_ = syscall.Kill(pid, syscall.SIGSTOP)
	}
	for _, pid := range w.processesOf(codexPath, "--remote") {
		_ = syscall.Kill(pid, syscall.SIGTERM)
	}
	term.waitUntil("Codex has ended", func() bool { return len(w.processesOf(codexPath, "--remote")) == 0 })
	time.Sleep(time.Second)                              // the bridge sees the end
	for _, pid := range w.processesOf(proxyPath, "-s") { // Codex was killed, and so left the terminal raw
		_ = syscall.Kill(pid, syscall.SIGINT)
	}
	select {
	case <-term.done:
	case <-time.After(patience / 2):
		t.Error("the bridge still waits")
	}
}

// The terminal interface shows a warning for each removed argument.
func TestTerminalInterfaceNotices(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codexConfig: terminalConfig, codex: codexPath, config: terminalPolicy})
	term := w.newScreen(proxyPath, "-s", "workspace-write", "-c", `sandbox_mode="danger-full-access"`, "RUN: touch first")
	term.waitUntil("the command has run", func() bool { return w.workspaceHasFile("first") })
	term.waitUntil("the warnings can be opened", func() bool { return strings.Contains(visible(term.text()), "warnings") })
	term.write("\x1bOQ") // F2: the first one
	term.waitUntil("the first warning", func() bool { return strings.Contains(visible(term.text()), "1 of 2") })
	term.write("\x1b[C")
	term.waitUntil("the notice is shown", func() bool {
		return strings.Contains(strings.Join(strings.Fields(visible(term.text())), " "), "from the command line: the policy never") // the screen is not drawn anew
	})
	term.write("\x1b")
	term.quit()
}

// The log does not go to the screen. It has the warnings about the configuration.
func TestTerminalInterfaceLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codexConfig: terminalConfig, codex: codexPath, config: terminalPolicy, env: []string{"CODEX_BRIDGE_LOG=debug"}})
	w.write("workspace/.codex-bridge.toml", "[policy]\nsandbox = \"danger-full-access\"\n")
	term := w.newScreen(proxyPath, "-s", "workspace-write", "RUN: touch first")
	term.waitUntil("the command has run", func() bool { return w.workspaceHasFile("first") })
	term.quit()
	log, err := os.ReadFile(filepath.Join(w.root, "state", "terminal.log"))
	if err != nil || !strings.Contains(string(log), "level=DEBUG") || !strings.Contains(string(log), "danger-full-access\\\" is looser than") {
		t.Errorf("the log is %q, %v", log, err)
	}
	if strings.Contains(term.text(), "level=DEBUG") {
		t.Error("the screen has the log")
	}
}

// When the bridge is killed, or the terminal goes away, nothing that it started goes on. A shell, which
// keeps the terminal, starts the bridge.
func TestTerminalInterfaceEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world, term *screen){
		"kill": func(w *world, _ *screen) {
			for _, pid := range w.processesOf(proxyPath, "-s") {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		},
		"hangup": func(_ *world, term *screen) { term.tty.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{codexConfig: terminalConfig, codex: codexPath, config: terminalPolicy})
			term := w.newScreen("sh", "-c", `"$@"; sleep 600`, "sh", proxyPath, "-s", "workspace-write", "RUN: touch first; sleep 600")
			term.waitUntil("the command runs", func() bool { return w.workspaceHasFile("first") })
			end(w, term)
			running := func() []int { return append(w.processesOf(proxyPath), w.processesOf(codexPath)...) }
			for late := time.Now().Add(patience / 2); len(running()) > 0; time.Sleep(20 * time.Millisecond) {
				if time.Now().After(late) {
					t.Fatalf("still running: %s", describe(w.processes()))
				}
			}
		})
	}
}

// doctor names a daemon of Codex, which a codex that the bridge does not start uses.
func TestDoctorNamesDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: terminalPolicy})
	if out, _, _ := w.runCommand("doctor"); !strings.Contains(out, "ok      terminal") {
		t.Errorf("without a daemon:\n%s", out)
	}
	daemon := exec.CommandContext(deadline(t), codexPath, "app-server", "--listen", "unix://")
	daemon.Dir, daemon.Env = w.workspace, w.env
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = daemon.Process.Kill(); _ = daemon.Wait() }()
	for {
		out, _, _ := w.runCommand("doctor")
		if strings.Contains(out, "warn    terminal") && strings.Contains(out, "app-server daemon stop") {
			return
		}
		if deadline(t).Err() != nil {
			t.Fatalf("with a daemon:\n%s", out)
		}
	}
}

// A task that the user starts in Codex's agent command center runs under the policy, too, whatever
// Codex's configuration says.
func TestAgentCommandCenterUnderPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codexConfig: "sandbox_mode = \"danger-full-access\"\napproval_policy = \"never\"\n" + terminalConfig, codex: codexPath, config: terminalPolicy})
	term := w.newScreen(proxyPath, "agents")
	term.waitUntil("the command center", func() bool { return strings.Contains(visible(term.text()), "task") })
	for _, keys := range []string{"n", "RUN: touch ../outside; touch made", "\r"} {
		time.Sleep(time.Second) // a question takes no key at once
		term.write(keys)
	}
	typed := time.Now()
	term.waitUntil("the command has run", func() bool {
		if time.Since(typed) > 5*time.Second { // Codex takes Enter soon after a text as a part of what was pasted
			typed = time.Now()
			term.write("\r")
		}
		return w.workspaceHasFile("made")
	})
	if w.hasFile("outside") {
		t.Error("it wrote a file outside the workspace")
	}
	term.quit()
}

// processesOf returns the processes of this world that were started with these first arguments.
func (w *world) processesOf(argv ...string) []int {
	w.t.Helper()
	prefix := strings.Join(argv, "\x00") + "\x00"
	return slices.DeleteFunc(w.processes(), func(pid int) bool {
		line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		return !strings.HasPrefix(string(line), prefix)
	})
}
