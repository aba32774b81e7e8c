//go:build linux

package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"codex-bridge/cmd/internal/editor"
)

// initializeLine is a request as bytes.
const initializeLine = `{"id":0,"method":"initialize","params":{"clientInfo":{"name":"x","version":"0"}}}`

// endings are the ways in which a client takes its leave. Each says all that
// matters of what came of it, apart from the exit.
var endings = map[string]func(*conversation) string{
	"end of input at once": func(c *conversation) string {
		c.CloseInput()
		return ""
	},
	"end of input": func(c *conversation) string {
		c.initialize(nil)
		c.CloseInput()
		return ""
	},
	"end of input in a turn": func(c *conversation) string {
		c.initialize(nil)
		thread := c.thread(map[string]any{"approvalPolicy": "never", "sandbox": "read-only"})
		_, mark := c.begin(thread, "RUN: sleep 3600")
		c.waitFor(mark, "item/started", func(m editor.Message) bool { return m.Param("item", "type") == "commandExecution" })
		c.CloseInput()
		return ""
	},
	"end of input in an approval": func(c *conversation) string {
		c.initialize(nil)
		thread := c.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"})
		_, mark := c.begin(thread, "RUN: touch marker")
		c.waitFor(mark, commandApproval, nil)
		c.CloseInput()
		return ""
	},
	"SIGTERM": signalled(syscall.SIGTERM),
	"SIGINT":  signalled(syscall.SIGINT),
	"SIGHUP":  signalled(syscall.SIGHUP),
	// Go has handlers of its own for these; codex dies of them.
	"SIGQUIT": signalled(syscall.SIGQUIT),
	"SIGUSR1": signalled(syscall.SIGUSR1),
	"end of input and SIGTERM": func(c *conversation) string {
		c.initialize(nil)
		c.CloseInput()
		c.Process.Signal(syscall.SIGTERM)
		return ""
	},
	"SIGTERM in a turn": func(c *conversation) string {
		c.initialize(nil)
		thread := c.thread(map[string]any{"approvalPolicy": "never", "sandbox": "read-only"})
		_, mark := c.begin(thread, "RUN: sleep 3600")
		c.waitFor(mark, "item/started", func(m editor.Message) bool { return m.Param("item", "type") == "commandExecution" })
		c.Process.Signal(syscall.SIGTERM)
		return ""
	},
	// It does not stop codex: the exit is that of the end of input after it.
	"output closed": func(c *conversation) string {
		c.initialize(nil)
		c.CloseOutput()
		c.Notify("initialized", nil)
		c.Send([]byte(`{"id":1,"method":"thread/start","params":{}}`))
		c.Send([]byte(`{"id":2,"method":"thread/list","params":{}}`))
		// The thread's folder is the proof that the request after the loss was
		// still carried out.
		for c.ctx.Err() == nil {
			if locks, _ := filepath.Glob(filepath.Join(c.home, "thread-writer-locks", "*")); len(locks) > 0 {
				c.CloseInput()
				return "thread started"
			}
			time.Sleep(10 * time.Millisecond)
		}
		return "no thread"
	},
	// Measured: codex takes it for a line like any other. Whether an answer still
	// comes, for the end of input follows, is a race that codex loses about once
	// in ten times, with a newline or without.
	"last line without a newline": func(c *conversation) string {
		c.Send([]byte(initializeLine))
		c.waitAnswer("0")
		c.SendBytes([]byte(`{"id":1,"method":"thread/list","params":{}}`))
		c.CloseInput()
		return ""
	},
	"only a line without a newline": func(c *conversation) string {
		c.SendBytes([]byte(initializeLine))
		c.CloseInput()
		return ""
	},
	"CRLF": func(c *conversation) string {
		c.SendBytes([]byte(initializeLine + "\r\n"))
		c.waitAnswer("0")
		c.SendBytes([]byte(`{"method":"initialized"}` + "\r\n" + `{"id":1,"method":"thread/list","params":{}}` + "\r\n"))
		c.waitAnswer("1")
		c.CloseInput()
		return c.answered()
	},
	"a line in pieces": func(c *conversation) string {
		for _, b := range []byte(initializeLine + "\n") {
			c.SendBytes([]byte{b})
		}
		c.waitAnswer("0")
		c.CloseInput()
		return c.answered()
	},
	"a long line": func(c *conversation) string {
		c.Send([]byte(initializeLine))
		c.waitAnswer("0")
		c.Send([]byte(`{"id":1,"method":"thread/list","params":{"unknown":"` + strings.Repeat("x", 3<<20) + `"}}`))
		c.waitAnswer("1")
		c.CloseInput()
		return c.answered()
	},
}

func signalled(sig syscall.Signal) func(*conversation) string {
	return func(c *conversation) string {
		c.initialize(nil)
		c.Process.Signal(sig)
		return ""
	}
}

// waitAnswer waits for the answer with an id.
func (c *conversation) waitAnswer(id string) {
	c.t.Helper()
	if _, err := c.Wait(c.ctx, 0, func(m editor.Message) bool {
		return !m.Sent && m.IsAnswer() && string(m.ID) == id
	}); err != nil {
		c.t.Fatalf("the answer to %s: %v", id, err)
	}
}

// answered are the ids of the answers that came, when no more can come.
func (c *conversation) answered() string {
	c.t.Helper()
	c.drain()
	var ids []string
	for _, m := range c.Messages() {
		if !m.Sent && m.IsAnswer() {
			ids = append(ids, string(m.ID))
		}
	}
	slices.Sort(ids)
	return fmt.Sprint(ids)
}

// A client may leave in any way: codex-bridge ends as codex does, and leaves no
// process behind where codex leaves none.
func TestEndings(t *testing.T) {
	t.Parallel()
	for name, leave := range endings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end := func(argv []string) string {
				w := newWorld(t, options{config: "[codex]\nshutdown_grace = \"1m\"\n"}) // of the bridge alone
				c := w.open(argv...)
				said := leave(c)
				exit, err := c.Exit(c.ctx)
				if err != nil {
					t.Fatal(err)
				}
				if left := w.await(none); len(left) > 0 {
					t.Errorf("%s left behind:%s", filepath.Base(argv[0]), describe(left))
				}
				return fmt.Sprintf("%v %s", exit, said)
			}
			direct := end([]string{codexPath, "app-server"})
			compare(t, direct, end(proxyArgv))
		})
	}
}

// none is await's wish that nothing is left.
func none(pids []int) bool { return len(pids) == 0 }

// await waits until the world's processes are as wished, for 2 seconds, which is
// the promise (contract.md, section 5), and returns them.
func (w *world) await(wish func([]int) bool) []int {
	for end := time.Now().Add(2 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		pids := w.processes()
		if wish(pids) || time.Now().After(end) {
			return pids
		}
	}
}

// commands are calls of codex that are not the app-server on stdio: codex-bridge
// becomes codex.
var commands = map[string][]string{
	"version":                  {"--version"},
	"login status":             {"login", "status"},
	"bad flag":                 {"--no-such-flag"},
	"bad flag of app-server":   {"app-server", "--no-such-flag"},
	"bad command":              {"app-server", "no-such-command"},
	"bad override":             {"app-server", "-c", "no-equals-sign"},
	"override of a wrong type": {"-c", "model_providers=5", "app-server"},
	"app-server --help":        {"app-server", "--help"},
	"-c … app-server --help":   {"-c", "model=\"x\"", "app-server", "--help"},
	"app-server -h":            {"app-server", "-h"},
	"app-server --listen":      {"app-server", "--listen", "bogus://"},
	"generate without --out":   {"app-server", "generate-json-schema"},
	"exec without a prompt":    {"exec", "--no-such-flag"},
	"mcp list":                 {"mcp", "list"},
}

// What is not the app-server on stdio is codex's own affair.
func TestCommands(t *testing.T) {
	t.Parallel()
	for name, args := range commands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := func(program string) string {
				w := newWorld(t, options{})
				cmd := exec.CommandContext(deadline(t), program, args...)
				cmd.Env, cmd.Dir = w.env, w.workspace
				var stdout, stderr bytes.Buffer
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
					t.Fatal(err)
				}
				n := newNames(w)
				return fmt.Sprintf("%v\nstdout:\n%s\nstderr:\n%s", cmd.ProcessState, n.text(stdout.String()), n.log(stderr.String()))
			}
			direct := call(codexPath)
			keep(t, direct)
			compare(t, direct, call(proxyPath))
		})
	}
}

// Codex may die at any time: codex-bridge dies as it did. (Not of SIGSEGV here:
// codex survives one that comes from outside.)
func TestCodexDies(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGABRT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			end := func(argv []string) string {
				w := newWorld(t, options{})
				c := w.open(argv...)
				c.initialize(nil)
				thread := c.thread(map[string]any{"approvalPolicy": "never", "sandbox": "read-only"})
				_, mark := c.begin(thread, "SLOW: 3600000")
				c.waitFor(mark, "item/agentMessage/delta", nil)
				syscall.Kill(w.codex(), sig)
				exit, err := c.Exit(c.ctx)
				if err != nil {
					t.Fatal(err)
				}
				if left := w.await(none); len(left) > 0 {
					t.Errorf("%s left behind:%s", filepath.Base(argv[0]), describe(left))
				}
				return exit.String()
			}
			direct := end([]string{codexPath, "app-server"})
			compare(t, direct, end(proxyArgv))
		})
	}
}

// codex is the process id of the world's app-server.
func (w *world) codex() int {
	w.t.Helper()
	for _, pid := range w.processes() {
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && exe == codexPath {
			cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if bytes.Contains(cmdline, []byte("\x00app-server\x00")) {
				return pid
			}
		}
	}
	w.t.Fatal("codex is not running")
	return 0
}
