//go:build linux

package e2e_test

import (
	"bufio"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/websocket"
	"golang.org/x/sys/unix"

	"codex-bridge/cmd/internal/editor"
)

// tui is Codex's TUI at a terminal. Its app-server is codex-bridge: the TUI speaks WebSocket over a
// socket, and each of its connections gets a bridge of its own.
type tui struct {
	*world
	user *os.File // the user's end of the terminal

	mu       sync.Mutex
	screen   strings.Builder // everything that the TUI has written
	messages []tuiMessage
}

// tuiMessage is a message between the TUI and a bridge.
type tuiMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Error  json.RawMessage `json:"error"`
	sent   bool            // by the TUI
}

// tuiConfig makes the TUI start without its questions about a new model and a screen reader.
const tuiConfig = `[tui]
screen_reader_detection_done = true
[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"
`

// startTUI starts the TUI in the world.
func (w *world) startTUI() *tui {
	w.t.Helper()
	folder, err := os.MkdirTemp("", "tui") // the path of a socket must be short
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { os.RemoveAll(folder) })
	socket := filepath.Join(folder, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		w.t.Fatal(err)
	}
	u := &tui{world: w}
	server := &http.Server{Handler: websocket.Server{Handler: u.serve}, ReadHeaderTimeout: patience}
	go func() { _ = server.Serve(listener) }() // returns when Close closes the listener
	w.t.Cleanup(func() { server.Close() })

	user, program := terminal(w.t)
	u.user = user
	if err := unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 130}); err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.CommandContext(deadline(w.t), codexPath, "--remote", "unix://"+socket)
	cmd.Env, cmd.Dir = append(w.env, "TERM=xterm-256color"), w.workspace
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	program.Close()
	var reading sync.WaitGroup
	reading.Go(u.read)
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have exited
		_ = cmd.Wait()         // killed
		reading.Wait()
		if w.t.Failed() {
			screen := u.screen.String()
			w.t.Logf("the end of the terminal's output: %q", screen[max(0, len(screen)-4000):])
		}
	})
	return u
}

// serve connects one WebSocket connection to a new bridge.
func (u *tui) serve(c *websocket.Conn) {
	cmd := exec.Command(proxyArgv[0], proxyArgv[1:]...)
	cmd.Env, cmd.Dir = u.env, u.workspace
	in, err := cmd.StdinPipe()
	if err != nil {
		u.t.Error(err)
		return
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		u.t.Error(err)
		return
	}
	if err := cmd.Start(); err != nil {
		u.t.Error(err)
		return
	}
	go func() {
		for {
			var text string
			if websocket.Message.Receive(c, &text) != nil {
				in.Close()
				return
			}
			u.record(text, true)
			_, _ = in.Write([]byte(text + "\n")) // the bridge may have exited
		}
	}()
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		u.record(line, false)
		_ = websocket.Message.Send(c, strings.TrimSuffix(line, "\n")) // the TUI may have exited
	}
	_ = cmd.Wait() // the world kills it
}

func (u *tui) record(line string, sent bool) {
	m := tuiMessage{sent: sent}
	if json.Unmarshal([]byte(line), &m) == nil {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.messages = append(u.messages, m)
	}
}

// read reads the TUI's output, and responds to its queries as a terminal does.
func (u *tui) read() {
	for b := make([]byte, 1<<16); ; {
		n, err := u.user.Read(b)
		u.mu.Lock()
		u.screen.Write(b[:n])
		u.mu.Unlock()
		for query, answer := range map[string]string{"\x1b[6n": "\x1b[1;1R", "\x1b[c": "\x1b[?62c"} {
			if strings.Contains(string(b[:n]), query) {
				_, _ = u.user.WriteString(answer) // the TUI may have exited
			}
		}
		if err != nil {
			return
		}
	}
}

// press sends keys to the TUI.
func (u *tui) press(keys string) {
	u.t.Helper()
	if _, err := u.user.WriteString(keys); err != nil {
		u.t.Fatal(err)
	}
}

// keyPause is the time after which the TUI takes Enter as a key. Earlier it is part of a paste.
const keyPause = 400 * time.Millisecond

// submit types text and presses Enter until done returns true. (A TUI that gets no processor time
// takes Enter as a part of the text.)
func (u *tui) submit(text, what string, done func() bool) {
	u.t.Helper()
	u.press(text)
	time.Sleep(keyPause)
	next := time.Now()
	u.waitUntil(what, func() bool {
		if done() {
			return true
		}
		if time.Now().After(next) {
			next = next.Add(2 * time.Second)
			u.press("\r")
		}
		return false
	})
}

// waitUntil waits until done returns true.
func (u *tui) waitUntil(what string, done func() bool) {
	u.t.Helper()
	for end := time.Now().Add(patience / 2); ; time.Sleep(50 * time.Millisecond) {
		u.mu.Lock()
		ok := done()
		u.mu.Unlock()
		if ok {
			return
		}
		if time.Now().After(end) {
			u.t.Fatalf("the TUI hangs: %s", what)
		}
	}
}

// mark returns the number of messages and of bytes of output.
func (u *tui) mark() (messages, bytes int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.messages), u.screen.Len()
}

// pick opens a menu by its command. It waits for a word of each menu, and presses a key in it.
func (u *tui) pick(command string, words, keys []string) {
	u.t.Helper()
	_, mark := u.mark()
	shows := func(word string) func() bool {
		return func() bool { return strings.Contains(u.screen.String()[mark:], word) }
	}
	u.submit(command, command, shows(words[0]))
	for i, word := range words {
		u.waitUntil(word, shows(word))
		time.Sleep(keyPause) // the menu takes keys
		_, mark = u.mark()
		u.press(keys[i])
	}
}

// answered waits for the response to the TUI's next request of a method, and returns its error.
func (u *tui) answered(from int, method string) string {
	u.t.Helper()
	var problem string
	u.waitUntil(method, func() bool {
		var id string
		for _, m := range u.messages[from:] {
			switch {
			case id == "" && m.sent && m.Method == method:
				id = string(m.ID)
			case id != "" && !m.sent && m.Method == "" && string(m.ID) == id:
				problem = string(m.Error)
				return true
			}
		}
		return false
	})
	return problem
}

// says sends a prompt and waits for the end of its turn. Enter accepts the turn's questions.
func (u *tui) says(prompt string) {
	u.t.Helper()
	from, _ := u.mark()
	thread := ""
	u.submit(prompt, "the prompt "+prompt, func() bool {
		for _, m := range u.messages[from:] {
			from++
			switch {
			case m.sent && m.Method == "turn/start" && strings.Contains(string(m.Params), marshal(u.t, prompt)):
				thread = editor.Member(m.Params, "threadId")
			case m.sent || thread == "" || editor.Member(m.Params, "threadId") != thread: // a title has a thread of its own
			case m.Method == "turn/completed":
				return true
			}
		}
		return false
	})
}

// Under each profile the user of Codex's TUI can choose permissions and a model. The TUI goes on,
// whether the policy allows the choice or not.
func TestTUIUnderProfile(t *testing.T) {
	t.Parallel()
	for profile, writes := range map[string]bool{"careful": false, "team": true, "locked": false} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "# the profile follows\n", codexConfig: tuiConfig, codex: codexPath})
			text, _, _ := w.runCommand("init", "--profile", profile, "--stdout")
			w.write("config.toml", text)
			u := w.startTUI()
			u.waitUntil("the first thread", func() bool {
				for _, m := range u.messages {
					if m.Method == "thread/started" {
						return true
					}
				}
				return false
			})
			u.says("SAY: hello")
			from, _ := u.mark()
			u.pick("/permissions", []string{"Permissions"}, []string{"1"}) // ask for approval
			if problem := u.answered(from, "thread/settings/update"); (problem == "") != writes {
				t.Errorf("ask for approval: %s", problem)
			}
			u.says("SAY: after the choice")
			from, _ = u.mark()
			u.pick("/permissions", []string{"Permissions", "Enable"}, []string{"3", "\r"}) // full access
			if problem := u.answered(from, "thread/settings/update"); problem == "" {
				t.Error("full access is allowed")
			}
			u.says("SAY: after the refusal")
			if u.says("RUN: touch made"); w.hasFile("workspace/made") != writes {
				t.Errorf("a command wrote in the workspace: %v", !writes)
			}
			from, _ = u.mark()
			u.pick("/model", []string{"Model", "Reasoning"}, []string{"\r", "\r"})
			if problem := u.answered(from, "config/batchWrite"); problem != "" && profile != "locked" {
				t.Errorf("model: %s", problem)
			}
			u.says("SAY: after the model")
		})
	}
}
