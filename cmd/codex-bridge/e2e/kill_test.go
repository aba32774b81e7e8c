//go:build linux

package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
)

// startBusy starts argv and a command that does not end. It returns when the command's process
// runs.
func (w *world) startBusy(argv []string, sandbox, command string) *conversation {
	w.t.Helper()
	c := w.open(argv...)
	c.initialize(nil)
	thread := c.thread(map[string]any{"approvalPolicy": "never", "sandbox": sandbox})
	_, mark := c.startTurn(thread, "RUN: "+command)
	// Wait for the sleep: a shell killed earlier starts none.
	c.waitFor(mark, "item/started", func(m editor.Message) bool { return m.Param("item", "type") == "commandExecution" })
	for ; len(w.sleepers()) == 0; time.Sleep(10 * time.Millisecond) {
		if c.ctx.Err() != nil {
			w.t.Fatalf("the command did not start; processes:%s", describe(w.processes()))
		}
	}
	return c
}

// sleepers returns the world's processes that are `sleep`.
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

// hangingTools are commands that do not end. Measured with 0.169.0, after SIGKILL of Codex: in the
// sandbox all processes end with it. Outside, the shell that Codex started dies (of the SIGTERM at
// its parent's end), but the shell's own children survive.
var hangingTools = map[string]struct {
	sandbox  string
	command  string
	outlives bool // with Codex alone, after kill -9
	detached bool // and at any other end
}{
	"in the sandbox":     {"read-only", "sleep 3600", false, false},
	"plain":              {"danger-full-access", "sleep 3600", false, false},
	"in the background":  {"danger-full-access", "(sleep 3600 &); sleep 3600", true, false},
	"deaf to SIGTERM":    {"danger-full-access", "trap '' HUP TERM; sleep 3600 & wait", true, false},
	"in its own session": {"danger-full-access", "setsid sleep 3600", true, true},
}

// kill -9 of codex-bridge or Codex during a command leaves no process.
func TestKill(t *testing.T) {
	t.Parallel()
	programs := map[string]string{"native": codexPath, "npm": codexShim}
	victims := map[string]func(*conversation) error{
		"codex-bridge": func(c *conversation) error { return c.Process.Kill() },
		"codex":        func(c *conversation) error { return syscall.Kill(c.codexPID(), syscall.SIGKILL) },
	}
	for program, path := range programs {
		for victim, kill := range victims {
			for name, tool := range hangingTools {
				if victim == "codex-bridge" && tool.detached {
					continue // Codex exits normally then, and leaves the process as usual
				}
				if !isSampledName(3, program+"/"+victim+"/"+name) {
					continue
				}
				t.Run(program+"/"+victim+"/"+name, func(t *testing.T) {
					t.Parallel()
					if victim == "codex" && tool.outlives {
						needsLinux(t, "a process that has left Codex's group is found after Codex has ended")
					}
					w := newWorld(t, options{codex: path})
					c := w.startBusy(proxyArgv, tool.sandbox, tool.command)
					if err := kill(c); err != nil {
						t.Fatal(err)
					}
					if left := w.waitProcesses(noProcesses); len(left) > 0 {
						t.Errorf("still running after 2 s:%s", describe(left))
					}
				})
			}
		}
	}
}

// The commands of a shared Codex end with it, also if no other client comes.
func TestKillOfSharedCodex(t *testing.T) {
	t.Parallel()
	w := newHubWorld(t, "[serve]\nmode = \"require\"\nidle = \"5m\"\n")
	w.startBusy(proxyArgv, "danger-full-access", hangingTools["deaf to SIGTERM"].command)
	left := w.sleepers()
	if err := syscall.Kill(w.codexPID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.awaitEnd("the command of a killed Codex", left...)
	w.open(proxyArgv...).initialize(nil) // another Codex
}

// kill -9 of codex-bridge or codex-bridge serve leaves no process, whatever Codex is doing. Measured with 0.169.0:
// a command that was being started in the sandbox outlived Codex in 2 of 40 runs, and a Codex with clients waited
// for its turn in 3 of 40.
func TestKillWhileCommandStarts(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{"own Codex": strings.ReplaceAll(hubConfig, `"require"`, `"off"`), "shared Codex": hubConfig} {
		for at := time.Duration(0); at < 800*time.Millisecond; at += 100 * time.Millisecond {
			t.Run(name+"/"+at.String(), func(t *testing.T) {
				t.Parallel()
				w := newHubWorld(t, config)
				c := w.joined()
				c.must("turn/start", input(c.thread(map[string]any{"sandbox": "workspace-write"}), "RUN: sleep 600"))
				bridge := c.Process.Pid
				if config == hubConfig {
					bridge, _ = w.hubProcess()
				}
				time.Sleep(at)
				if err := syscall.Kill(bridge, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				if left := w.waitProcesses(noProcesses); len(left) > 0 {
					t.Errorf("still running after 2 s:%s", describe(left))
				}
			})
		}
	}
}

// Control: without codex-bridge these tools survive Codex.
func TestKillControl(t *testing.T) {
	t.Parallel()
	for name, tool := range hangingTools {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{})
			c := w.startBusy([]string{codexPath, "app-server"}, tool.sandbox, tool.command)
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if left := w.waitProcesses(noProcesses); len(left) > 0 != tool.outlives {
				t.Errorf("running after 2 s:%s", describe(left))
			}
		})
	}
}

// leftFolders returns the mount points of Codex that are in the workspace and in the folder for temporary files after a
// command in the sandbox was ended in a way.
func leftFolders(t *testing.T, argv []string, end func(*conversation) error) (left []string) {
	t.Helper()
	w := newWorld(t, options{})
	temp := filepath.Join(w.root, "temp")
	if err := os.Mkdir(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, "TMPDIR="+temp)
	c := w.startBusy(argv, "workspace-write", "sleep 3600")
	if err := end(c); err != nil {
		t.Fatal(err)
	}
	if running := w.waitProcesses(noProcesses); len(running) > 0 {
		t.Errorf("still running after 2 s:%s", describe(running))
	}
	for _, name := range []string{"workspace/.agents", "workspace/.aws", "workspace/.codex", "temp/.agents", "temp/.aws", "temp/.codex", "temp/.git"} {
		if w.hasFile(name) {
			left = append(left, name)
		}
	}
	return left
}

// After kill -9 of Codex, its sandbox removes the mount points of a command, as without codex-bridge.
func TestKilledCodexLeavesNoFolders(t *testing.T) {
	t.Parallel()
	left := leftFolders(t, proxyArgv, func(c *conversation) error { return syscall.Kill(c.codexPID(), syscall.SIGKILL) })
	if len(left) > 0 {
		t.Errorf("the empty folders %q are left", left)
	}
}

// Control: Codex alone leaves none after kill -9, and all at any other end.
func TestKilledCodexLeavesNoFoldersControl(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end  func(*conversation) error
		want int
	}{
		"kill -9":          {func(c *conversation) error { return c.Process.Kill() }, 0},
		"SIGTERM":          {func(c *conversation) error { return c.Process.Signal(syscall.SIGTERM) }, 7},
		"the end of input": {func(c *conversation) error { return c.CloseInput() }, 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if left := leftFolders(t, []string{codexPath, "app-server"}, test.end); len(left) != test.want {
				t.Errorf("the folders %q are left, want %d", left, test.want)
			}
		})
	}
}
