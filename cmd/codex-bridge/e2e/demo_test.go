//go:build linux

package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/store"
)

// The demo runs to its end with the real Codex and prints its results.
func TestDemo(t *testing.T) {
	t.Parallel()
	needsLinux(t, "the scenes of clients that share a Codex use a socket")
	w := newWorld(t, options{codex: codexShim}) // with an MCP server next to it
	cmd := exec.CommandContext(deadline(t), proxyPath, "demo", "--all")
	cmd.Env, cmd.Dir = w.env, w.workspace
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text := strings.Join(strings.Fields(string(out)), " ")
	for _, want := range []string{
		"the real codex (" + methods.Measured + ")",
		"ok effective settings: approvalPolicy untrusted, sandbox readOnly",
		"ok hello.txt was not written, nor was way-out.txt",
		"ok Codex reports: the hook blocked it",
		"ok tools called: 2; the editor got none of the calls",
		"ok error -32700",
		"ok thread/shellCommand: runs a shell command without a sandbox",
		"ok nothing ran, and Codex does not trust the project",
		"ok the bridge's hook kept it in the read-only sandbox of the thread, without a question",
		"18 decisions, none changed",
		"ok resumed: the same thread",
		"ok started, because dynamicToolsChanged",
		"ok the bridge collected 3 messages",
		"ok the agent completed one task; the rule denied the other",
		"ok described; the second image asked for a file, which was not written",
		"The decision log has 30 decisions: accept 2, deny 11, rewrite 17.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if strings.Contains(string(out), "\x1b") {
		t.Error("colours without a terminal")
	}
	checkColumns(t, string(out))
}

// In brief, the demo has two scenes, says first what a user gets, and last what its decision log has.
func TestDemoInBrief(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codex: codexPath}) // noise would have decisions of its own
	cmd := exec.CommandContext(deadline(t), proxyPath, "demo")
	cmd.Env, cmd.Dir = w.env, w.workspace
	out, err := cmd.CombinedOutput()
	text := string(out)
	if err != nil || !strings.HasPrefix(text, "codex-bridge stands between") || !strings.Contains(text, "\n2. ") || strings.Contains(text, "\n3. ") {
		t.Errorf("%v\n%s", err, text)
	}
	words := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		"The decision log has 4 decisions: accept 2, deny 1, rewrite 1.",
		"15 more scenes: codex-bridge demo --all, or in the source tree make demo ALL=1",
	} {
		if !strings.Contains(words, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	checkColumns(t, text)
}

// checkColumns checks that no line is wider than 80 characters.
func checkColumns(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
			t.Errorf("%d characters: %s", n, line)
		}
	}
}

// Without a loopback interface the demo fails at once with a hint, and leaves no files.
func TestDemoWithoutLoopback(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	cmd := exec.CommandContext(deadline(t), "unshare", "--map-root-user", "--net", proxyPath, "demo")
	cmd.Env, cmd.Dir = w.env, w.workspace
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("%v, want status 1", err)
	}
	text := strings.TrimSpace(string(out))
	if strings.Contains(text, "\n") || !strings.HasSuffix(text, "; the demo needs the loopback interface (127.0.0.1)") {
		t.Errorf("output\n%s", text)
	}
}

// A demo or a doctor that gets a signal to stop removes its folder.
func TestStoppedCommandLeavesNoFiles(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"demo": syscall.SIGHUP, "doctor": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: hooksPolicy})
			ctx := deadline(t)
			cmd := exec.CommandContext(ctx, proxyPath, name)
			cmd.Env, cmd.Dir = w.env, w.workspace
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var folder string
			for folder == "" {
				if ctx.Err() != nil {
					t.Fatal("it creates no folder")
				}
				time.Sleep(time.Millisecond)
				if name == "demo" {
					folder = w.folderOf("codex-bridge-demo-")
				} else if made, _ := filepath.Glob(filepath.Join(w.state, store.ScratchFolder, "*")); len(made) > 0 {
					folder = made[0]
				}
			}
			t.Cleanup(func() { os.RemoveAll(folder) })
			w.must(cmd.Process.Signal(sig))
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("%v, want status 1", err)
			}
			name := map[syscall.Signal]string{syscall.SIGHUP: "SIGHUP", syscall.SIGTERM: "SIGTERM"}[sig]
			if !strings.HasSuffix(stderr.String(), "codex-bridge: stopped by "+name+"\n") {
				t.Errorf("stderr: %s", stderr.String())
			}
			if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is left: %v", folder, err)
			}
		})
	}
}

// Each signal that stops `methods diff` also stops the Codex that it waits for, and leaves no folder. The error
// names what it waited for.
func TestStoppedDiffLeavesNoFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		sig   syscall.Signal
		call  string // of Codex, during which the signal comes
		file  string // below the scratch folder, which the call needs
		waits string
	}{
		{"SIGTERM", syscall.SIGTERM, "app-server", "*/keys/config.toml", "configuration keys"},
		{"SIGTERM", syscall.SIGTERM, "app-server", "*/tools/config.toml", "tools"},
		{"SIGINT", syscall.SIGINT, "generate-json-schema", "", "methods"},
		{"SIGHUP", syscall.SIGHUP, "generate-json-schema", "", "methods"},
	} {
		name := c.name
		t.Run(name+" "+c.waits, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{codex: codexPath})
			scratch := filepath.Join(w.state, store.ScratchFolder)
			ctx := deadline(t)
			cmd := exec.CommandContext(ctx, proxyPath, "methods", "diff")
			cmd.Env, cmd.Dir = w.env, w.workspace
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			w.must(cmd.Start())
			waits := func() bool {
				found, err := filepath.Glob(filepath.Join(scratch, c.file))
				w.must(err)
				return len(found) > 0 && w.runs(c.call)
			}
			for !waits() {
				if ctx.Err() != nil {
					t.Fatal("Codex was not called with " + c.call)
				}
				time.Sleep(10 * time.Millisecond)
			}
			if made, err := os.ReadDir(scratch); err != nil || len(made) == 0 {
				t.Fatalf("it creates no folder: %v", err)
			}
			w.must(cmd.Process.Signal(c.sig))
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("%v, want status 1", err)
			}
			words := strings.Join(strings.Fields(stderr.String()), " ")
			if !strings.HasPrefix(words, "codex-bridge: stopped by "+name+" while ") || !strings.Contains(words, "described its "+c.waits) {
				t.Errorf("stderr: %s", stderr.String())
			}
			if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
				t.Errorf("left in the state folder: %v, %v", left, err)
			}
			if left := w.processes(); len(left) > 0 {
				t.Errorf("left processes: %v", left)
			}
		})
	}
}

// runs reports whether a process of this world has the argument.
func (w *world) runs(argument string) bool {
	w.t.Helper()
	for _, pid := range w.processes() {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.Contains(string(line), "\x00"+argument+"\x00") {
			return true
		}
	}
	return false
}

// folderOf returns the folder whose name has the prefix and that has the state of a process of this world,
// or "" for none.
func (w *world) folderOf(prefix string) string {
	w.t.Helper()
	for _, pid := range w.processes() {
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		for variable := range strings.SplitSeq(string(environ), "\x00") {
			folder := filepath.Dir(strings.TrimPrefix(variable, "CODEX_BRIDGE_STATE="))
			if strings.HasPrefix(variable, "CODEX_BRIDGE_STATE=") && strings.HasPrefix(filepath.Base(folder), prefix) {
				return folder
			}
		}
	}
	return ""
}
