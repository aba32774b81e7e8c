//go:build linux

package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// writeHandler writes a handler script for an event and returns its configuration.
func (w *world) writeHandler(event, timeout, script string) string {
	w.t.Helper()
	path := w.write(event+".sh", "#!/bin/sh\n"+script+"\n")
	if err := os.Chmod(path, 0o700); err != nil {
		w.t.Fatal(err)
	}
	return fmt.Sprintf("[[hooks.handler]]\nevent = %q\ncommand = [%q]\ntimeout = %q\n", event, path, timeout)
}

// newHookWorld returns a world under hooksPolicy and more configuration.
func newHookWorld(t *testing.T, more func(*world) string) *world {
	t.Helper()
	w := newWorld(t, options{config: hooksPolicy})
	w.write("config.toml", hooksPolicy+withLongGrace(hooksPolicy)+more(w))
	return w
}

var writing = map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}

// A missing response or an error declines.
func TestRelayUnanswered(t *testing.T) {
	t.Parallel()
	hangs := "exec sleep 3600"
	for name, test := range map[string]struct {
		more   func(*world) string
		client func(*editor.Editor, editor.Message) // nil: the client gets no hook
		want   string
	}{
		"handler past its timeout": {
			more: func(w *world) string { return w.writeHandler("pre_tool_use", "300ms", hangs) }, want: "no answer within its timeout of 300ms",
		},
		"handler past the hook's": {
			more: func(w *world) string {
				return "[hooks]\ntimeout = \"3s\"\n" + w.writeHandler("pre_tool_use", "1m", hangs)
			},
			want: "was not run",
		},
		"client": {
			more:   func(*world) string { return "[hooks]\ntimeout = \"3s\"\n" },
			client: func(*editor.Editor, editor.Message) {}, want: "was not run",
		},
		"client with an error": {
			more: func(*world) string { return "" },
			client: func(e *editor.Editor, m editor.Message) {
				_ = e.ReplyError(m, &editor.Error{Code: -32000, Message: "failed"})
			}, want: "refused bridge/hook: failed",
		},
		"client that allows what it can't": {
			more:   func(*world) string { return "" },
			client: func(e *editor.Editor, m editor.Message) { _ = e.Reply(m, decision("allow")) }, want: `"allow" is not valid`,
		},
	} {
		if !isSampledName(2, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHookWorld(t, test.more)
			c := w.open(proxyArgv...)
			capabilities := map[string]any{"experimentalApi": true}
			if test.client != nil {
				capabilities["bridge"] = map[string]any{"version": 1, "hooks": []string{"preToolUse"}}
			}
			c.initialize(capabilities)
			thread := c.thread(writing)
			turn, mark := c.startTurn(thread, "RUN: echo x > undecided")
			if test.client != nil {
				test.client(c.Editor, c.waitFor(mark, "bridge/hook", nil))
			}
			if status := c.waitTurn(thread, turn, mark); status != "completed" || !strings.Contains(w.lastToolOutput(), test.want) {
				t.Errorf("status %q, the model got %q", status, w.lastToolOutput())
			}
			c.checkAbsent("undecided")
			if left := w.waitProcesses(func([]int) bool { return len(w.sleepers()) == 0 }); len(w.sleepers()) > 0 {
				t.Errorf("still running after 2 s:%s", describe(left))
			}
			c.closeAndWait()
		})
	}
}

// waitingHandler returns a handler that, for a call with the word WAIT, creates the file waiting
// and waits for content in the file go.
func (w *world) waitingHandler() string {
	w.t.Helper()
	if err := syscall.Mkfifo(filepath.Join(w.root, "go"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return "[hooks]\ntimeout = \"2m\"\n" + w.writeHandler("pre_tool_use", "2m", fmt.Sprintf(
		"cd %q; case \"$(cat)\" in *WAIT*) : > waiting; read word < go; rm waiting;; esac", w.root))
}

// startAtHandler starts a turn whose command waits at the handler.
func (c *conversation) startAtHandler(thread, command string) (turn string, mark int) {
	c.t.Helper()
	turn, mark = c.startTurn(thread, "RUN: : WAIT; "+command)
	for ; !c.hasFile("waiting"); time.Sleep(10 * time.Millisecond) {
		if c.ctx.Err() != nil {
			c.t.Fatal("the handler was not called")
		}
	}
	return turn, mark
}

// hookProcesses returns the world's processes that Codex started as hooks.
func (w *world) hookProcesses() []int {
	return slices.DeleteFunc(w.processes(), func(pid int) bool {
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		words := bytes.Split(cmdline, []byte{0})
		return len(words) < 2 || string(words[0]) != proxyPath || string(words[1]) != "hook"
	})
}

// A tool does not run before the decision about its call, however long that takes. If the hook
// process is killed, Codex runs the tool (measured): the bridge interrupts the turn and the tool.
// If the bridge is killed, the tool does not run and no process remains; the next bridge decides
// again.
func TestRelayKilled(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t, (*world).waitingHandler)
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(writing)

	turn, mark := c.startAtHandler(thread, "echo x > slow")
	c.checkAbsent("slow")
	pipe, err := os.OpenFile(filepath.Join(w.root, "go"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pipe.WriteString("go\n"); err != nil {
		t.Fatal(err)
	}
	if err := pipe.Close(); err != nil {
		t.Fatal(err)
	}
	if status := c.waitTurn(thread, turn, mark); status != "completed" {
		t.Errorf("status of the turn with a slow hook: %q", status)
	}
	c.checkPresent("slow")

	turn, mark = c.startAtHandler(thread, "sleep 3600")
	killed := w.hookProcesses()
	if len(killed) != 1 {
		t.Fatalf("hook processes:%s", describe(w.processes()))
	}
	if err := syscall.Kill(killed[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	m := c.waitFor(mark, "hook/completed", hookRun)
	if status := m.Param("run", "status"); status != "failed" {
		t.Errorf("status of the killed hook: %q", status)
	}
	if status := c.waitTurn(thread, turn, mark); status != "interrupted" {
		t.Errorf("status of its turn: %q", status)
	}
	if w.waitProcesses(func([]int) bool { return len(w.sleepers()) == 0 }); len(w.sleepers()) > 0 {
		t.Errorf("still running after 2 s:%s", describe(w.processes()))
	}
	if err := os.Remove(filepath.Join(w.root, "waiting")); err != nil { // the handler ended too
		t.Fatal(err)
	}

	c.startAtHandler(thread, "echo x > undecided")
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if left := w.waitProcesses(noProcesses); len(left) > 0 {
		t.Errorf("running 2 s after the bridge:%s", describe(left))
	}
	c.checkAbsent("undecided")

	c = w.open(proxyArgv...)
	c.initialize(nil)
	c.resume(thread, map[string]any{})
	c.checkRules("restarted", thread)
	c.closeAndWait()
}

// The decision log has the denial of a handler, and of one that gives no answer in time.
func TestDenialOfHandlerIsLogged(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ handler, timeout, want string }{
		{`echo '{"decision":"deny","reason":"not today"}'`, "2m", "has denied it: not today"},
		{"sleep 3600", "100ms", "failed: no answer within its timeout of 100ms"},
	} {
		w := newHookWorld(t, func(w *world) string {
			return "[hooks]\ntimeout = \"2m\"\n" + w.writeHandler("pre_tool_use", test.timeout, test.handler)
		})
		c := w.open(proxyArgv...)
		c.initialize(nil)
		c.toolOutput(c.thread(writing), "RUN: echo x > undecided")
		c.checkAbsent("undecided")
		c.closeAndWait()
		if log, _, _ := w.runCommand("decisions", "list", "--json", "--verdict", "deny"); strings.Count(log, `"hooks.handler"`) != 1 || !strings.Contains(log, test.want) {
			t.Errorf("%s: the log has\n%s", test.handler, log)
		}
	}
}

// impostor listens instead of the bridge and allows everything.
func impostor(t *testing.T, socket string, answers bool) {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err == nil {
		err = os.Chmod(socket, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed below
			}
			serving.Go(func() {
				defer conn.Close()
				defer context.AfterFunc(ctx, func() { conn.Close() })()
				in := bufio.NewReader(conn)
				for {
					line, err := in.ReadBytes('\n')
					if err != nil {
						return
					}
					var question struct {
						ID     json.RawMessage
						Params struct{ Token string }
					}
					if answers && json.Unmarshal(line, &question) == nil {
						fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":%s,"result":{"token":%q,"answer":{}}}`+"\n", question.ID, question.Params.Token)
					}
				}
			})
		}
	})
	t.Cleanup(func() { stop(); l.Close(); serving.Wait() })
}

// With a bridge that hangs, or another process at its socket, no call runs, and the model gets the
// reason. A running bridge decides again.
func TestImpostorAtRelaySocket(t *testing.T) {
	t.Parallel()
	const timeouts = "[hooks]\ntimeout = \"2s\"\n[approvals]\ntimeout = \"1s\"\n"
	w := newHookWorld(t, func(*world) string { return timeouts })
	// Where program starts are decided, a bridge that hangs lets not even the hook start.
	w.write("config.toml", strings.Replace(hooksPolicy, "[policy]\n", "[policy]\nexec_rules = \"off\"\n", 1)+withLongGrace(hooksPolicy)+timeouts)
	release := make(chan struct{})
	w.model.Add(scripted.Step{When: "HOLD", Reply: scripted.Reply{scripted.Paused{Until: release}, scripted.Run("echo x > undecided")}})
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(writing)
	refused := func(name, want string) {
		t.Helper()
		c.toolOutput(thread, "RUN: echo x > undecided")
		if told := w.lastToolOutput(); !strings.Contains(told, want) {
			t.Errorf("%s: the model got %q", name, told)
		}
		c.checkAbsent("undecided")
	}

	turn, mark := c.startTurn(thread, "HOLD")
	c.waitFor(mark, "item/agentMessage/delta", nil)
	if err := syscall.Kill(c.Process.Pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	close(release)
	for requests := w.model.Requests(); len(requests[len(requests)-1].ToolOutputs()) == 0; requests = w.model.Requests() {
		if c.ctx.Err() != nil {
			t.Fatal("the model got no output of its call")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := syscall.Kill(c.Process.Pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if status := c.waitTurn(thread, turn, mark); status != "completed" || !strings.Contains(w.lastToolOutput(), "gave no answer within 2.5s") {
		t.Errorf("hung: status %q, the model got %q", status, w.lastToolOutput())
	}
	c.checkAbsent("undecided")

	sockets, err := filepath.Glob(filepath.Join(w.root, "state", "run", "*", "hook.sock"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("%v; sockets %v", err, sockets)
	}
	socket, token := sockets[0], filepath.Join(filepath.Dir(sockets[0]), "token")
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	place := func(what func() error) {
		t.Helper()
		if err := what(); err != nil {
			t.Fatal(err)
		}
	}
	away := socket + ".away"

	rename(socket, away)
	impostor(t, socket, true)
	refused("impostor", "which is not the bridge")
	place(func() error { return os.Remove(socket) })
	impostor(t, socket, false)
	refused("silent impostor", "which is not the bridge")
	place(func() error { return os.Remove(socket) })
	place(func() error { return os.Symlink(away, socket) })
	refused("link", "is a symbolic link")
	place(func() error { return os.Remove(socket) })
	rename(away, socket)

	rename(token, away)
	place(func() error { return os.WriteFile(token, []byte("ANOTHER\nTOKEN\n"), 0o600) })
	refused("wrong token", "the token is not that of this bridge")
	place(func() error { return os.Chmod(token, 0o644) })
	refused("open token", "token")
	place(func() error { return os.Remove(token) })
	refused("no token", "the bridge's token can't be read")
	rename(away, token)

	c.toolOutput(thread, "RUN: touch undecided")
	if told := w.lastToolOutput(); !strings.Contains(told, "Nothing is touched here") {
		t.Errorf("back: the model got %q", told)
	}
	c.toolOutput(thread, "RUN: echo fine > decided")
	c.checkAbsent("undecided")
	// The hung bridge, two impostors, a link, and three tokens.
	const denials = 7
	warned := 0
	for _, m := range c.Messages() {
		if m.Method == "warning" && strings.Contains(m.Param("message"), "codex-bridge has refused a tool call: ") {
			warned++
		}
	}
	log, _, _ := w.runCommand("decisions", "list", "--json", "--verdict", "deny")
	if strings.Count(log, `"hooks.on_failure"`) != denials || warned != denials || !strings.Contains(log, "gave no answer within 2.5s") {
		t.Errorf("%d warnings; the log has\n%s", warned, log)
	}
	c.checkPresent("decided")
	c.closeAndWait()
}
