//go:build linux

package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"codex-bridge/cmd/internal/editor"
)

// busy starts argv and lets codex run a command that does not end by itself. It
// returns when the command's process is there.
func (w *world) busy(argv []string, sandbox, command string) *conversation {
	w.t.Helper()
	c := w.open(argv...)
	c.initialize(nil)
	thread := c.thread(map[string]any{"approvalPolicy": "never", "sandbox": sandbox})
	_, mark := c.begin(thread, "RUN: "+command)
	// Not before the sleep itself is there: a shell that is killed earlier
	// starts none.
	c.waitFor(mark, "item/started", func(m editor.Message) bool { return m.Param("item", "type") == "commandExecution" })
	for ; len(w.sleepers()) == 0; time.Sleep(10 * time.Millisecond) {
		if c.ctx.Err() != nil {
			w.t.Fatalf("the command did not start; there are:%s", describe(w.processes()))
		}
	}
	return c
}

// sleepers are the world's processes that are `sleep`.
func (w *world) sleepers() []int {
	var pids []int
	for _, pid := range w.processes() {
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if name, _, _ := bytes.Cut(cmdline, []byte{0}); filepath.Base(string(name)) == "sleep" {
			pids = append(pids, pid)
		}
	}
	return pids
}

// tools are commands that do not end by themselves. What becomes of them when
// codex is killed with SIGKILL was measured on 0.169.0: in the sandbox all die
// with it; outside, the shell that codex started dies (of the SIGTERM that it
// gets as its parent ends), and what the shell started in its turn does not.
var tools = map[string]struct {
	sandbox  string
	command  string
	outlives bool // codex alone, killed
	detached bool // and however else it ends
}{
	"in the sandbox":     {"read-only", "sleep 3600", false, false},
	"plain":              {"danger-full-access", "sleep 3600", false, false},
	"in the background":  {"danger-full-access", "(sleep 3600 &); sleep 3600", true, false},
	"deaf to SIGTERM":    {"danger-full-access", "trap '' HUP TERM; sleep 3600 & wait", true, false},
	"in its own session": {"danger-full-access", "setsid sleep 3600", true, true},
}

// kill -9 of codex-bridge or of codex in mid-command leaves nothing running.
func TestKill(t *testing.T) {
	t.Parallel()
	programs := map[string]string{"native": codexPath, "npm": codexShim}
	victims := map[string]func(*conversation) error{
		"codex-bridge": func(c *conversation) error { return c.Process.Kill() },
		"codex":        func(c *conversation) error { return syscall.Kill(c.codex(), syscall.SIGKILL) },
	}
	for program, path := range programs {
		for victim, kill := range victims {
			for name, tool := range tools {
				if victim == "codex-bridge" && tool.detached {
					continue // codex ends in good order then, and leaves it as it always does
				}
				t.Run(program+"/"+victim+"/"+name, func(t *testing.T) {
					t.Parallel()
					w := newWorld(t, options{codex: path})
					c := w.busy(proxyArgv, tool.sandbox, tool.command)
					if err := kill(c); err != nil {
						t.Fatal(err)
					}
					if left := w.await(none); len(left) > 0 {
						t.Errorf("2 s later there are:%s", describe(left))
					}
				})
			}
		}
	}
}

// Without codex-bridge these tools outlive codex, and the tests see it.
func TestKillControl(t *testing.T) {
	t.Parallel()
	for name, tool := range tools {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{})
			c := w.busy([]string{codexPath, "app-server"}, tool.sandbox, tool.command)
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if left := w.await(none); len(left) > 0 != tool.outlives {
				t.Errorf("2 s later there are:%s", describe(left))
			}
		})
	}
}
