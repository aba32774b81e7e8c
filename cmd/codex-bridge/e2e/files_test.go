//go:build linux

package e2e_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stranger is a user without files.
const stranger = 12345

// manipulations change a file or folder.
var manipulations = map[string]func(path string) error{
	"as it was":   func(string) error { return nil },
	"open to all": func(path string) error { return os.Chmod(path, 0o777) },
	"a link": func(path string) error {
		return errors.Join(os.Rename(path, path+".real"), os.Symlink(path+".real", path))
	},
	"a link to none": func(path string) error { return errors.Join(os.RemoveAll(path), os.Symlink("/nowhere/x", path)) },
	"with two names": func(path string) error { return os.Link(path, path+".other") },
	"a pipe":         func(path string) error { return errors.Join(os.RemoveAll(path), syscall.Mkfifo(path, 0o600)) },
	"a folder":       func(path string) error { return errors.Join(os.RemoveAll(path), os.Mkdir(path, 0o700)) },
	"a file": func(path string) error {
		return errors.Join(os.RemoveAll(path), os.WriteFile(path, []byte("x"), 0o600))
	},
	"emptied": func(path string) error { return os.Truncate(path, 0) },
	"cut":     func(path string) error { return os.Truncate(path, 9000) },
	"gone":    os.RemoveAll,
	"read-only": func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Chmod(path, info.Mode().Perm()&^0o222)
	},
	"of another user": func(path string) error { return os.Lchown(path, stranger, stranger) },
}

// The files of the state and the configuration may be manipulated. The bridge uses them, or it does
// nothing that must be logged, and the error has the path and a hint.
func TestManipulatedFiles(t *testing.T) {
	t.Parallel()
	const works = ""
	table := []struct {
		path, is string
		says     string // works, or a part of the error
	}{
		{"state", "as it was", works},
		{"state", "gone", works},
		{"state", "open to all", "is accessible for other users: its mode is 0777; chmod 700 "},
		{"state", "a link", "is a symbolic link"},
		{"state", "a link to none", "is a symbolic link"},
		{"state", "a pipe", "is not a folder; move it away"},
		{"state", "a file", "is not a folder; move it away"},
		{"state/state.db", "open to all", "is accessible for other users: its mode is 0777; chmod 600 "},
		{"state/state.db", "a link", "is a symbolic link"},
		{"state/state.db", "a link to none", "is a symbolic link"},
		{"state/state.db", "with two names", "has 2 hard links"},
		{"state/state.db", "a pipe", "is not a file; move it away"},
		{"state/state.db", "a folder", "is not a file; move it away"},
		{"state/state.db", "a file", "is truncated: it has 1 bytes"},
		{"state/state.db", "emptied", "is truncated: it has 0 bytes"},
		{"state/state.db", "cut", "; keep a copy of the folder; "},
		{"state/state.db", "gone", works}, // an empty state; nothing shows that there was another
		{"config.toml", "open to all", "is not trusted: all users can write it (mode 0777); run chmod o-w on it"},
		{"config.toml", "a link", works}, // many keep theirs elsewhere
		{"config.toml", "a link to none", "the target of the link"},
		{"config.toml", "with two names", works},
		{"config.toml", "a pipe", "it is not a regular file; fix it"},
		{"config.toml", "a folder", "it is a folder; fix it"},
		{"config.toml", "gone", "no such file; create it"},
		{"workspace/.codex-bridge.toml", "a pipe", works},      // see TestInvalidPolicyFileAtTheStart
		{"workspace/.codex-bridge.toml", "open to all", works}, // it can only tighten
	}
	if os.Geteuid() == 0 { // only root can change the owner
		for _, path := range []string{"state", "state/state.db"} {
			table = append(table, struct{ path, is, says string }{path, "of another user", "belongs to the user 12345"})
		}
		table = append(table, []struct{ path, is, says string }{
			{"config.toml", "of another user", "is not trusted: it belongs to the user 12345"},
			{"workspace/.codex-bridge.toml", "of another user", works},
		}...)
	}
	if os.Geteuid() != 0 { // root can write everywhere
		table = append(table, []struct{ path, is, says string }{
			{"state", "read-only", "make its folder and files writable, or name another"},
			{"state/state.db", "read-only", "make its folder and files writable, or name another"},
			{"config.toml", "read-only", works},
		}...)
	}
	for _, row := range table {
		if !isSampledName(3, strings.ReplaceAll(row.path, "/", " ")+" is "+row.is) {
			continue
		}
		t.Run(strings.ReplaceAll(row.path, "/", " ")+" is "+row.is, func(t *testing.T) {
			w := newWorld(t, options{config: "[policy]\n"})
			w.write("codex", "#!/bin/sh\necho started\n")
			if err := os.Chmod(filepath.Join(w.root, "codex"), 0o700); err != nil {
				t.Fatal(err)
			}
			w.write("workspace/.codex-bridge.toml", "[policy]\nsandbox = \"read-only\"\n")
			w.env = append(w.env, "CODEX_BRIDGE_CODEX="+filepath.Join(w.root, "codex"))
			if out, err := w.runOverruled(); err != nil || out != "started\n" {
				t.Fatalf("%v: %s", err, out)
			}
			path := filepath.Join(w.root, row.path)
			if row.is == "read-only" {
				t.Cleanup(func() { os.Chmod(path, 0o700) }) // so that the folder can be deleted
			}
			if err := manipulations[row.is](path); err != nil {
				t.Fatal(err)
			}
			out, err := w.runOverruled()
			if row.says == works {
				if err != nil || out != "started\n" {
					t.Errorf("%v: %s", err, out)
				}
				return
			}
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 2 || strings.Contains(out, "started") {
				t.Errorf("it continued: %v: %s", err, out)
			}
			if said := string(exit.Stderr); !strings.Contains(said, path) || !strings.Contains(said, row.says) {
				t.Errorf("output %s", said)
			}
		})
	}
}

// runOverruled starts Codex with a setting that the policy removes, which must be logged.
func (w *world) runOverruled() (string, error) {
	cmd := exec.CommandContext(deadline(w.t), proxyPath, "-c", "notify=[\"x\"]", "app-server")
	cmd.Env, cmd.Dir = w.env, w.workspace
	out, err := cmd.Output()
	return string(out), err
}

// With any umask, all created files are private.
func TestFilesArePrivateWithAnyUmask(t *testing.T) {
	t.Parallel()
	for _, umask := range []string{"000", "077"} {
		t.Run(umask, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: tracedPolicy + "[transcript]\nenabled = true\n"})
			if err := os.Remove(filepath.Join(w.root, "state")); err != nil {
				t.Fatal(err)
			}
			c := w.open(append([]string{"/bin/sh", "-c", "umask " + umask + `; exec "$0" "$@"`}, proxyArgv...)...)
			c.initialize(nil)
			thread := c.thread(map[string]any{"approvalPolicy": "never", "sandbox": "workspace-write"})
			c.toolOutput(thread, "RUN: touch denied")
			seen := make(map[string]int)
			var open []string
			err := filepath.WalkDir(filepath.Join(w.root, "state"), func(path string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				info, err := d.Info()
				if err != nil {
					return err
				}
				seen[info.Mode().Type().String()]++
				if info.Mode().Perm()&0o077 != 0 {
					open = append(open, info.Mode().String()+" "+path)
				}
				return nil
			})
			if diff := cmp.Diff([]string(nil), open); diff != "" || err != nil {
				t.Errorf("accessible for others (-want +got), %v:\n%s", err, diff)
			}
			// state, traces, run, its folder; the database and its two, the trace, the token; the socket
			if seen["d---------"] < 4 || seen["----------"] < 5 || seen["S---------"] < 1 {
				t.Errorf("only %v", seen)
			}
			c.closeAndWait()
			c.checkAbsent("denied")
		})
	}
}

// The bridge uses no socket or trace in a folder that others can access: without the hooks no
// thread opens; without a trace a turn still runs, and nothing is written elsewhere.
func TestSharedFoldersAreNotUsed(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		folder, is string
		refused    bool
	}{
		{"run", "a link", true}, {"run", "a pipe", true}, {"run", "open to all", true},
		{"traces", "a link", false}, {"traces", "a pipe", false},
	} {
		if !isSampledName(2, row.folder+" is "+row.is) {
			continue
		}
		t.Run(row.folder+" is "+row.is, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: tracedPolicy})
			path := filepath.Join(w.root, "state", row.folder)
			if err := errors.Join(os.Mkdir(path, 0o700), manipulations[row.is](path)); err != nil {
				t.Fatal(err)
			}
			c := w.open(proxyArgv...)
			c.initialize(nil)
			params := map[string]any{"cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": "workspace-write"}
			if row.refused {
				if refused := c.mustFail("thread/start", params); !strings.Contains(refused.Message, path) {
					t.Errorf("error %v", refused)
				}
			} else {
				thread := c.thread(params)
				if said := c.toolOutput(thread, "SAY: alive"); said != "alive" {
					t.Errorf("reply %q", said)
				}
				if !strings.Contains(c.Stderr(), path) {
					t.Errorf("stderr has no warning about the trace: %s", c.Stderr())
				}
			}
			c.closeAndWait()
			if names, err := filepath.Glob(path + ".real/*"); err != nil || len(names) > 0 {
				t.Errorf("files behind the link: %q, %v", names, err)
			}
		})
	}
}
