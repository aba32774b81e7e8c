//go:build linux

package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// newerCodex makes the world use a Codex of a version that no bridge knows. change is a sed script for the messages
// that it gets.
func newerCodex(t *testing.T, change string) *world {
	t.Helper()
	w := newWorld(t, options{config: "[policy]\nmode = \"enforce\"\n", mute: "codex is none that makes noise"})
	as := "s#/" + strings.ReplaceAll(codexVersion(t), ".", "[.]") + " (#/99.0.0 (#"
	run := "'" + codexPath + "' \"$@\" | sed -u '" + as + "'"
	script := w.write("codex", "#!/bin/sh\ncase \"$*\" in *--version*) echo codex-cli 99.0.0 ;; *generate*) "+run+" ;; app-server*) sed -u '"+change+"' | "+run+" ;; *) "+run+" ;; esac\n")
	w.must(os.Chmod(script, 0o700))
	w.env = append(w.env, "CODEX_BRIDGE_CODEX="+script)
	return w
}

// isReported reports whether a client reads that Codex is newer than the tested one.
func (w *world) isReported() bool {
	w.t.Helper()
	c := w.newAcceptingEditor(proxyArgv...)
	c.turn(c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"}), "SAY: hi")
	found := false
	for _, m := range c.Messages() {
		found = found || m.Method == "configWarning" && strings.Contains(m.Param("summary"), "codex-bridge codex check")
	}
	c.closeAndWait()
	return found
}

type checkOutcome struct {
	Codex, Verdict string
	Works          bool
	Tried          []struct{ Name, Error string }
}

func (w *world) checkCodex(bridge string) (c checkOutcome, code int) {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), bridge, "codex", "check", "--json") // longer than other commands
	cmd.Env, cmd.Dir = w.env, w.workspace
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	if err := json.Unmarshal(out, &c); err != nil || len(c.Tried) < 12 {
		w.t.Fatalf("%v: %s%s", err, out, problems.String())
	}
	return c, cmd.ProcessState.ExitCode()
}

// A release that is newer than the tested one is reported until codex check has found that it works. If it does not,
// the command names what, tries the rest, and nothing says that it was checked.
func TestCheckedCodexIsNotReported(t *testing.T) {
	t.Parallel()
	t.Run("works", func(t *testing.T) {
		t.Parallel()
		w := newerCodex(t, "")
		if !w.isReported() {
			t.Error("control: not reported")
		}
		w.env = append(w.env, "CODEX_BRIDGE_STATE="+filepath.Join(w.root, "other state"))
		if said, _, _ := w.runCommand("doctor"); !strings.Contains(said, "newer than") || strings.Contains(said, "checked on") {
			t.Errorf("doctor before: %s", said)
		}
		c, code := w.checkCodex(proxyPath)
		if code != 0 || !c.Works || !strings.HasPrefix(c.Verdict, "Codex 99.0.0: ") || !strings.HasSuffix(c.Verdict, "; everything tried works") {
			t.Errorf("%d: %+v", code, c)
		}
		if w.isReported() {
			t.Error("reported after the check")
		}
		if said, _, _ := w.runCommand("doctor"); !strings.Contains(said, "; checked on 20") || !strings.Contains(said, "everything tried works") || strings.Contains(said, "newer than") {
			t.Errorf("doctor after: %s", said)
		}
		for record, by := range map[string]string{`"bridge":"dev"`: `"bridge":"0.0.1"`, `"table":"`: `"table":"0.1`, `"program":"`: `"program":"1`} { // another bridge has checked it, or another file
			file := "other state/checked/99.0.0"
			text := w.read(file)
			w.write(file, strings.Replace(text, record, by, 1))
			if said, _, _ := w.runCommand("doctor"); !strings.Contains(text, record) || strings.Contains(said, "checked on") {
				t.Errorf("%s counts: %s", by, said)
			}
			w.write(file, text)
		}
		w.checkNoProcesses()
	})
	t.Run("breaks", func(t *testing.T) {
		t.Parallel()
		w := newerCodex(t, `s#"thread/fork"#"thread/spoon"#`)
		w.write("state/checked/99.0.0", `{"bridge":"dev"}`)
		w.must(os.Chmod(filepath.Join(w.state, "checked"), 0o700))
		c, code := w.checkCodex(proxyPath)
		if code != 1 || c.Works || !strings.HasSuffix(c.Verdict, fmt.Sprintf("; 1 of %d conversations do not work: fork", len(c.Tried))) {
			t.Errorf("%d: %+v", code, c)
		}
		for _, row := range c.Tried {
			if (row.Error != "") != (row.Name == "fork") {
				t.Errorf("%+v", row)
			}
		}
		if _, err := os.Stat(filepath.Join(w.state, "checked", "99.0.0")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the earlier record stays: %v", err)
		}
		if !w.isReported() {
			t.Error("not reported")
		}
	})
}

// A signal ends codex check with all processes and folders, and it records nothing.
func TestStoppedCheckLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{codex: codexPath})
			cmd := exec.CommandContext(deadline(t), proxyPath, "codex", "check")
			cmd.Env, cmd.Dir = w.env, w.workspace
			var out, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &stderr
			w.must(cmd.Start())
			folder := ""
			for ctx := deadline(t); folder == ""; time.Sleep(5 * time.Millisecond) {
				if ctx.Err() != nil {
					t.Fatal("no conversation starts")
				}
				folder = w.checkFolder()
			}
			t.Cleanup(func() { os.RemoveAll(folder) })
			w.must(cmd.Process.Signal(sig))
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 || out.Len() > 0 {
				t.Errorf("%v, want status 1: %s", err, out.String())
			}
			if !strings.HasSuffix(stderr.String(), "codex-bridge: stopped by "+name+"\n") {
				t.Errorf("stderr: %s", stderr.String())
			}
			if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is left: %v", folder, err)
			}
			if made, _ := filepath.Glob(filepath.Join(w.state, "*", "*")); len(made) > 0 {
				t.Errorf("left in the state folder: %q", made)
			}
			w.checkNoProcesses()
		})
	}
}

// checkFolder returns the folder of codex check whose conversations run in this world; "" for none.
func (w *world) checkFolder() string {
	w.t.Helper()
	state := regexp.MustCompile(`CODEX_BRIDGE_STATE=([^\x00]*/codex-bridge-check-[^/\x00]*)/`)
	for _, pid := range w.processes() {
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if m := state.FindSubmatch(environ); m != nil {
			return string(m[1])
		}
	}
	return ""
}
