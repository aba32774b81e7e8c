//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"codex-bridge.example/bridge/child"
	"codex-bridge.example/cmd/internal/editor"
)

// hubConfig makes editors share a Codex, under a policy that lets the person decide about escalations.
const hubConfig = `
[serve]
mode = "require"
idle = "5s"
[policy]
approval = ["on-request", "untrusted"]
sandbox = "workspace-write"
escalation = "ask"
`

func newHubWorld(t *testing.T, config string) *world {
	needsLinux(t, "clients share a Codex by a socket")
	return newWorld(t, options{config: config, codex: codexPath, mute: "the clients of one Codex have no noise"})
}

// joined returns an editor that has joined the shared Codex.
func (w *world) joined() *conversation {
	w.t.Helper()
	c := w.open(proxyArgv...)
	c.initialize(nil)
	return c
}

// escalate starts a turn with a command that leaves the sandbox, and returns the file that it writes.
func (c *conversation) escalate(thread, name string) (file, turn string, mark int) {
	c.t.Helper()
	file = c.root + "/" + name
	turn, mark = c.startTurn(thread, "ESCALATE: touch "+file)
	return file, turn, mark
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Two editors work on one thread: each sees the turns of the other.
func TestClientsShareThread(t *testing.T) {
	t.Parallel()
	w := newHubWorld(t, hubConfig)
	a, b := w.joined(), w.joined()
	thread := a.thread(nil)
	a.runTurn(thread, "SAY: one")
	if err := b.mustFail("turn/start", input(thread, "SAY: too early")); !strings.Contains(err.Message, "has not opened the thread") || editor.Member(err.Data, "rule") != "serve.mode" {
		t.Error(err, string(err.Data))
	}
	if log, _, _ := w.runCommand("decisions", "list"); !strings.Contains(log, "serve.mode") {
		t.Errorf("the decision log lacks the refused request:\n%s", log)
	}
	b.must("thread/resume", map[string]any{"threadId": thread})
	for _, pair := range [][2]*conversation{{a, b}, {b, a}} {
		mark := pair[1].Mark()
		pair[0].runTurn(thread, "SAY: for both")
		pair[1].waitFor(mark, "item/completed", func(m editor.Message) bool { return strings.Contains(m.Param("item", "text"), "for both") })
	}
	// A client and its Codex end; the other goes on.
	a.Close(5 * time.Second)
	b.runTurn(thread, "SAY: alone")
}

// The policy holds for each client of a shared Codex, and for a thread that no client has open.
func TestPolicyOfSharedCodex(t *testing.T) {
	t.Parallel()
	w := newHubWorld(t, strings.Replace(hubConfig, `"ask"`, `"deny"`, 1))
	a, b := w.joined(), w.joined()
	thread := a.thread(map[string]any{"sandbox": "workspace-write"})
	a.runTurn(thread, "SAY: one")
	b.must("thread/resume", map[string]any{"threadId": thread, "sandbox": "danger-full-access", "approvalPolicy": "never"})
	for _, c := range []*conversation{a, b} {
		file, turn, mark := c.escalate(thread, "outside")
		if c.waitTurn(thread, turn, mark); exists(file) {
			t.Error("a command left the sandbox")
		}
		c.mustFail("thread/shellCommand", map[string]any{"threadId": thread, "command": "touch " + file})
	}
	a.must("thread/unsubscribe", map[string]any{"threadId": thread})
	b.runTurn(thread, "RUN: touch inside")
	if err := a.mustFail("turn/start", input(thread, "SAY: no")); !strings.Contains(err.Message, "has not opened the thread") {
		t.Error(err)
	}
	// Codex loads a thread without clients anew.
	b.Close(5 * time.Second)
	a.must("thread/resume", map[string]any{"threadId": thread, "sandbox": "danger-full-access"})
	file, turn, mark := a.escalate(thread, "outside")
	if a.waitTurn(thread, turn, mark); exists(file) {
		t.Error("a command left the sandbox")
	}
	a.runTurn(thread, "RUN: touch inside2")
	for _, name := range []string{"inside", "inside2"} {
		if !exists(w.workspace + "/" + name) {
			t.Errorf("%s: no command runs in the sandbox", name)
		}
	}
}

// An editor and Codex's terminal interface work on one thread.
func TestTerminalAndEditorShareThread(t *testing.T) {
	t.Parallel()
	needsLinux(t, "clients share a Codex by a socket")
	w := newWorld(t, options{config: hubConfig, codex: codexPath, codexConfig: terminalConfig, mute: "the clients of one Codex have no noise"})
	term := w.newScreen(proxyPath, "-s", "workspace-write", "RUN: touch first")
	term.waitUntil("the turn has ended", func() bool { return strings.Contains(visible(term.text()), "Worked for") })
	e := w.joined()
	var list struct{ Data []struct{ ID string } }
	if err := json.Unmarshal(e.must("thread/list", map[string]any{}), &list); err != nil || len(list.Data) == 0 {
		t.Fatal(err, list)
	}
	thread := list.Data[0].ID
	e.must("thread/resume", map[string]any{"threadId": thread})
	e.runTurn(thread, "SAY: from the editor")
	term.waitUntil("the editor's turn", func() bool { return strings.Contains(visible(term.text()), "from the editor") })
	mark := e.Mark()
	term.write("SAY: from the terminal")
	time.Sleep(time.Second) // else Codex takes the next key as pasted
	term.write("\r")
	e.waitFor(mark, "item/completed", func(m editor.Message) bool { return strings.Contains(m.Param("item", "text"), "from the terminal") })
}

// One thread is open at once in a real Neovim, in Codex's terminal interface, started without the bridge, and
// in an editor. Each shows the turns of the others.
func TestThreeClients(t *testing.T) {
	t.Parallel()
	needsLinux(t, "clients share a Codex by a socket")
	config := strings.Replace(hubConfig, `mode = "require"`, "mode = \"auto\"\ncontrol_socket = true", 1)
	w := newWorld(t, options{config: config, codex: codexPath, codexConfig: terminalConfig, mute: "the clients of one Codex have no noise"})
	w.write("home/config.toml", w.read("home/config.toml")+"\n[projects.\""+w.workspace+"\"]\ntrust_level = \"trusted\"\n")
	t.Cleanup(w.stopDaemon)
	v := w.neovim("{}")
	v.typeKeys(":Codex<CR>")
	v.waitScreen("Ask Codex…")
	v.runText("SAY: said in neovim")
	thread := latestThread(t, w)
	term := w.newScreen(codexPath, "resume", thread)
	term.waitUntil("the turn of Neovim", func() bool { return strings.Contains(visible(term.text()), "said in neovim") })
	e := w.joined()
	e.must("thread/resume", map[string]any{"threadId": thread})

	term.write("SAY: said in the terminal")
	time.Sleep(time.Second) // else Codex takes the next key as pasted
	term.write("\r")
	v.waitScreen("said in the terminal")
	mark := e.Mark()
	e.runTurn(thread, "SAY: said in the editor")
	v.waitScreen("said in the editor")
	term.waitUntil("the editor's turn", func() bool { return strings.Contains(visible(term.text()), "said in the editor") })
	v.runText("SAY: said in neovim again")
	e.waitFor(mark, "item/completed", func(m editor.Message) bool { return m.Param("item", "text") == "said in neovim again" })
	term.waitUntil("the second turn of Neovim", func() bool { return strings.Contains(visible(term.text()), "neovim again") })
}

// A session belongs to one client of a shared Codex, as to one process.
func TestSessionOfSharedCodex(t *testing.T) {
	t.Parallel()
	w := newHubWorld(t, hubConfig)
	session := map[string]any{"cwd": w.workspace, "bridge": map[string]any{"sessionKey": "s"}}
	knows := map[string]any{"experimentalApi": true, "bridge": map[string]any{"version": 1}}
	a, b := w.open(proxyArgv...), w.open(proxyArgv...)
	a.initialize(knows)
	b.initialize(knows)
	thread := editor.Member(a.must("thread/start", session), "thread", "id")
	a.runTurn(thread, "SAY: one")
	if err := b.mustFail("thread/start", session); err.Code != -32015 {
		t.Error(err)
	}
	if n := editor.Member(b.must("bridge/status", nil), "clients"); n != "2" {
		t.Errorf("%s clients", n)
	}
	a.Close(5 * time.Second)
	for try := 0; ; try++ { // the end of a client reaches the shared Codex a moment later
		result, err := b.Call(b.ctx, "thread/start", session)
		if err == nil {
			if editor.Member(result, "thread", "id") != thread {
				t.Error("the session goes on in another thread")
			}
			break
		}
		if err.Code != -32015 || try == 100 {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// A client on which the header of the LSP base protocol comes first is served with headers.
func TestJoinedClientWithHeaders(t *testing.T) {
	t.Parallel()
	w := newHubWorld(t, hubConfig)
	c := w.open(proxyArgv...)
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":"lsp","version":"1"}}}`
	if err := c.SendBytes([]byte("Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Wait(c.ctx, 0, func(m editor.Message) bool { return strings.Contains(string(m.Raw), `"jsonrpc":"2.0"`) && !m.Sent }); err != nil {
		t.Error(err)
	}
}

// With serve.mode "auto" a client that can't join has a Codex of its own, with "require" it ends.
func TestClientThatCannotJoin(t *testing.T) {
	t.Parallel()
	own := append(slices.Clone(proxyArgv), "--strict-config")
	w := newHubWorld(t, strings.Replace(hubConfig, "require", "auto", 1))
	c := w.open(own...)
	c.initialize(nil)
	if _, err := c.WaitStderr(c.ctx, func(text string) bool { return strings.Contains(text, "this client gets a Codex of its own") }); err != nil {
		t.Error(err)
	}
	w = newHubWorld(t, hubConfig)
	c = w.open(own...)
	exit, err := c.Exit(c.ctx)
	if err != nil || exit.Code == 0 || !strings.Contains(c.Stderr(), `serve.mode is "require": the argument --strict-config`) {
		t.Errorf("%v, %v: %s", exit, err, c.Stderr())
	}
}

// hubProcess returns the id of the process with the shared Codex, and those of its descendants, without the
// sentry, which ends with it.
func (w *world) hubProcess() (hub int, others []int) {
	w.t.Helper()
	hubs := w.processesOf("codex-bridge", "serve")
	if len(hubs) != 1 {
		w.t.Fatalf("%d processes of codex-bridge serve", len(hubs))
	}
	isSentry := func(pid int) bool {
		line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		return strings.Contains(string(line), "codex-bridge-sentry")
	}
	return hubs[0], slices.DeleteFunc(child.Descendants(hubs[0]), isSentry)
}

// awaitEnd waits until processes have ended.
func (w *world) awaitEnd(what string, pids ...int) {
	w.t.Helper()
	for end := time.Now().Add(patience); slices.ContainsFunc(pids, isAlive); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("%s: still running: %s", what, describe(pids))
		}
	}
}

// awaitStop waits until no thread of a process runs. The signal that stops a process reaches one thread after another.
func (w *world) awaitStop(pid int) {
	w.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil {
			w.t.Fatal(err)
		}
		if len(threads) > 0 && !slices.ContainsFunc(threads, func(path string) bool {
			stat, err := os.ReadFile(path)
			return err == nil && !strings.Contains(string(stat), ") T ")
		}) {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("process %d does not stop", pid)
		}
	}
}

// isAlive reports whether a process runs and is no zombie.
func isAlive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// A shared Codex ends some time after its last client, with the bridge that serves it, and alone.
func TestEndsOfSharedCodex(t *testing.T) {
	t.Parallel()
	w := newHubWorld(t, strings.Replace(hubConfig, `"5s"`, `"1s"`, 1))
	a := w.joined()
	hub, others := w.hubProcess()
	a.Close(5 * time.Second)
	w.awaitEnd("idle", append(others, hub)...)

	// Codex is killed: its clients read that, and the next one gets another Codex.
	a, b := w.joined(), w.joined()
	thread := a.thread(map[string]any{"sandbox": "workspace-write"})
	a.runTurn(thread, "SAY: one")
	a.must("turn/start", input(thread, "RUN: touch started; sleep 600"))
	w.waitFile("started")
	_, others = w.hubProcess()
	codex := slices.DeleteFunc(w.processesOf(codexPath, "app-server"), func(pid int) bool { return !slices.Contains(others, pid) })
	for _, pid := range codex {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	for _, c := range []*conversation{a, b} {
		if exit, err := c.Exit(c.ctx); err != nil || exit.Code == 0 || !strings.Contains(c.Stderr(), "the connection to codex-bridge serve has ended") {
			t.Errorf("%v, %v: %s", exit, err, c.Stderr())
		}
	}
	c := w.joined()
	c.must("thread/resume", map[string]any{"threadId": thread})
	c.runTurn(thread, "SAY: again")
	w.awaitEnd("the commands of a killed Codex", others...)

	// The bridge is killed: nothing that it has started runs on, and each pending request gets an error.
	c.must("turn/start", input(thread, "RUN: touch again; sleep 600"))
	w.waitFile("again")
	failed := make(chan *editor.Error)
	go func() {
		_, err := c.Call(c.ctx, "command/exec", map[string]any{"command": []string{"sleep", "600"}, "timeoutMs": 600000})
		failed <- err
	}()
	for ; len(w.sleepers()) < 2; time.Sleep(10 * time.Millisecond) {
		if c.ctx.Err() != nil {
			t.Fatalf("the second command did not start; processes:%s", describe(w.processes()))
		}
	}
	hub, _ = w.hubProcess()
	_ = syscall.Kill(hub, syscall.SIGKILL)
	if err := <-failed; err == nil || err.Code != -32011 {
		t.Errorf("a pending request: %v", err)
	}
	if left := w.waitProcesses(noProcesses); len(left) > 0 {
		t.Errorf("2 s after kill -9 of the bridge:%s", describe(left))
	}
	d := w.joined()
	d.must("thread/resume", map[string]any{"threadId": thread})
	d.runTurn(thread, "SAY: once more")
}

// waitFile waits for a file in the workspace.
func (w *world) waitFile(name string) {
	w.t.Helper()
	for end := time.Now().Add(patience); !exists(filepath.Join(w.workspace, name)); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("%s was not written", name)
		}
	}
}

// The overrides of a joined client are those of its threads, as VS Code's extension has one.
func TestOverridesOfJoinedClient(t *testing.T) {
	t.Parallel()
	w := newHubWorld(t, hubConfig)
	a := w.open(proxyPath, "-c", "features.code_mode_host=true", "-c", "model=gpt-from-arguments", "app-server", "--analytics-default-enabled", "-c", `sandbox_mode="danger-full-access"`)
	b := w.joined()
	a.initialize(nil)
	result := a.must("thread/start", map[string]any{"cwd": w.workspace})
	if model := editor.Member(result, "model"); model != "gpt-from-arguments" {
		t.Errorf("model %s", model)
	}
	thread := editor.Member(result, "thread", "id")
	file, turn, mark := a.escalate(thread, "outside")
	if err := a.Reply(a.waitFor(mark, commandApproval, nil), decision("decline")); err != nil {
		t.Fatal(err)
	}
	if a.waitTurn(thread, turn, mark); exists(file) {
		t.Error("a command left the sandbox")
	}
	if model := editor.Member(b.must("thread/start", map[string]any{"cwd": w.workspace}), "model"); model == "gpt-from-arguments" {
		t.Error("the override of one client is that of another")
	}
	if editor.Member(a.must("thread/start", map[string]any{}), "cwd") != w.workspace {
		t.Error("a thread without a cwd is not in the folder of the client")
	}
}
