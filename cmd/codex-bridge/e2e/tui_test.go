//go:build linux

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/serve"
)

// tui is Codex's TUI at a terminal, whose app-server is codex-bridge. The test sees the messages
// between them.
type tui struct {
	*world
	*screen

	mu       sync.Mutex
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
	server := serve.New(serve.Options{Converse: u.runBridge, MaxConnections: 16, Log: slog.New(slog.DiscardHandler)})
	go func() { _ = server.Serve(listener) }() // returns after Close
	w.t.Cleanup(func() { server.Close() })
	u.screen = w.newScreen(codexPath, "--remote", "unix://"+socket)
	return u
}

// runBridge runs the bridge of one connection. It is not started by package child, which would reap the
// processes of other tests. The end of the world kills a bridge that does not end.
func (u *tui) runBridge(_ context.Context, _ serve.Settings, client io.ReadWriter) error {
	cmd := exec.Command(proxyArgv[0], proxyArgv[1:]...)
	cmd.Env, cmd.Dir = u.env, u.workspace
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { // ends with the connection
		defer in.Close()
		_, _ = io.Copy(in, &recordingReader{Reader: client, u: u, sent: true})
	}()
	_, _ = io.Copy(client, &recordingReader{Reader: out, u: u})
	_ = cmd.Wait()
	return nil
}

// recordingReader records the lines that are read.
type recordingReader struct {
	io.Reader
	u    *tui
	sent bool   // by the TUI
	line []byte // that has no end yet
}

func (r *recordingReader) Read(part []byte) (int, error) {
	n, err := r.Reader.Read(part)
	r.line = append(r.line, part[:n]...)
	for {
		line, rest, whole := bytes.Cut(r.line, []byte("\n"))
		if !whole {
			return n, err
		}
		r.u.record(line, r.sent)
		r.line = rest
	}
}

func (u *tui) record(line []byte, sent bool) {
	m := tuiMessage{sent: sent}
	if json.Unmarshal(line, &m) == nil {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.messages = append(u.messages, m)
	}
}

// press sends keys to the TUI.
func (u *tui) press(keys string) {
	u.world.t.Helper()
	u.screen.write(keys)
}

// keyPause is the time after which the TUI takes Enter as a key. Earlier it is part of a paste.
const keyPause = 400 * time.Millisecond

// submit types text and presses Enter until done returns true. (A TUI that gets no processor time
// takes Enter as a part of the text.)
func (u *tui) submit(text, what string, done func() bool) {
	u.world.t.Helper()
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
	u.world.t.Helper()
	for end := time.Now().Add(patience / 2); ; time.Sleep(50 * time.Millisecond) {
		u.mu.Lock()
		ok := done()
		u.mu.Unlock()
		if ok {
			return
		}
		if time.Now().After(end) {
			u.world.t.Fatalf("the TUI hangs: %s", what)
		}
	}
}

// mark returns the number of messages and of bytes of output.
func (u *tui) mark() (messages, bytes int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.messages), len(u.text())
}

// pick opens a menu by its command. It waits for a word of each menu, and presses a key in it.
func (u *tui) pick(command string, words, keys []string) {
	u.world.t.Helper()
	_, mark := u.mark()
	shows := func(word string) func() bool {
		return func() bool { return strings.Contains(u.text()[mark:], word) }
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
	u.world.t.Helper()
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
	u.world.t.Helper()
	from, _ := u.mark()
	thread := ""
	u.submit(prompt, "the prompt "+prompt, func() bool {
		for _, m := range u.messages[from:] {
			from++
			switch {
			case m.sent && m.Method == "turn/start" && promptOf(m.Params) == prompt:
				thread = editor.Member(m.Params, "threadId")
			case m.sent || thread == "" || editor.Member(m.Params, "threadId") != thread: // a title has a thread of its own
			case m.Method == "turn/completed":
				return true
			}
		}
		return false
	})
}

// waitThread waits for the first thread.
func (u *tui) waitThread() {
	u.world.t.Helper()
	u.waitUntil("the first thread", func() bool {
		return slices.ContainsFunc(u.messages, func(m tuiMessage) bool { return m.Method == "thread/started" })
	})
}

// questions returns the number of approvals that the TUI was asked for.
func (u *tui) questions(from int) (n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, m := range u.messages[from:] {
		if !m.sent && len(m.ID) > 0 && strings.HasSuffix(m.Method, "/requestApproval") {
			n++
		}
	}
	return n
}

// Under each profile the user of Codex's TUI can choose permissions and a model. The TUI goes on,
// whether the policy allows the choice or not.
func TestTUIUnderProfile(t *testing.T) {
	t.Parallel()
	for profile, can := range map[string]struct{ choose, write bool }{
		"careful": {false, true}, "team": {true, true}, "read-only": {}, "locked": {},
	} {
		if profile != "team" && !wide() {
			continue
		}
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "# the profile follows\n", codexConfig: terminalConfig, codex: codexPath})
			text, _, _ := w.runCommand("init", "--profile", profile, "--stdout")
			w.write("config.toml", text)
			w.trustWorkspace()
			u := w.startTUI()
			u.waitThread()
			u.says("SAY: hello")
			from, _ := u.mark()
			if can.choose { // "ask for approval" is current here, and the TUI does not send the current choice
				u.pick("/permissions", []string{"Permissions"}, []string{"4"}) // read only
				if problem := u.answered(from, "thread/settings/update"); problem != "" {
					t.Errorf("read only: %s", problem)
				}
				u.says("SAY: after read only")
			}
			from, _ = u.mark()
			u.pick("/permissions", []string{"Permissions"}, []string{"1"}) // ask for approval
			if problem := u.answered(from, "thread/settings/update"); (problem == "") != can.choose {
				t.Errorf("ask for approval: %s", problem)
			}
			u.says("SAY: after the choice")
			from, _ = u.mark()
			u.pick("/permissions", []string{"Permissions", "Enable"}, []string{"3", "\r"}) // full access
			if problem := u.answered(from, "thread/settings/update"); problem == "" {
				t.Error("full access is allowed")
			}
			u.says("SAY: after the refusal")
			if u.says("RUN: touch made"); w.hasFile("workspace/made") != can.write {
				t.Errorf("a command wrote in the workspace: %v", !can.write)
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

// In a folder that the user does not trust, the TUI opens a read-only thread. Under a policy that lets threads
// write, its user learns why, and how to change it: by the notice, and where the choice of permissions is refused.
func TestTUIInUntrustedFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "# the profile follows\n", codexConfig: terminalConfig, codex: codexPath})
	text, _, _ := w.runCommand("init", "--profile", "careful", "--stdout")
	w.write("config.toml", text)
	u := w.startTUI()
	u.waitUntil("the notice", func() bool {
		return slices.ContainsFunc(u.messages, func(m tuiMessage) bool {
			return m.Method == "configWarning" && strings.Contains(editor.Member(m.Params, "summary"), "start with -s workspace-write")
		})
	})
	u.says("SAY: hello")
	u.press("\x1bOQ") // F2 opens the warnings, and → has the next one
	for range 2 {
		time.Sleep(keyPause)
		u.press("\x1b[C")
	}
	u.waitUntil("the notice on the screen", func() bool {
		return strings.Contains(strings.Join(strings.Fields(visible(u.text())), " "), "this thread read-only") // the TUI draws only what differs
	})
	u.press("\x1b")
	time.Sleep(keyPause)
	from, _ := u.mark()
	u.pick("/permissions", []string{"Permissions"}, []string{"1"}) // ask for approval
	if problem := u.answered(from, "thread/settings/update"); !strings.Contains(problem, "codex-bridge -s workspace-write") {
		t.Errorf("ask for approval: %s", problem)
	}
	u.says("SAY: after the refusal")
}

// trustWorkspace marks the workspace as trusted in the user's configuration of Codex.
func (w *world) trustWorkspace() {
	w.t.Helper()
	w.write("home/config.toml", w.read("home/config.toml")+"\n[projects.\""+w.workspace+"\"]\ntrust_level = \"trusted\"\n")
}
