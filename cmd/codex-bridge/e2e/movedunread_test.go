//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
)

// A turn moved a thread. Codex's record of the thread is compressed, has a long first line, or is
// unreadable. The thread resumes in its first folder under that folder's policy file, or not at
// all. Control: without that file the command runs.
func TestMovedThreadWithUnusualRecordComesBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		record  string
		governs bool // its first folder has a policy file
		method  string
		refused bool
	}{
		"compressed":                 {"compressed", true, "thread/resume", false},
		"compressed, fork":           {"compressed", true, "thread/fork", false},
		"compressed, no policy file": {"compressed", false, "thread/resume", false},
		"long first line":            {"long", true, "thread/resume", false},
		"link":                       {"link", true, "thread/resume", true},
		"link, fork":                 {"link", true, "thread/fork", true},
		"link, cwd sent":             {"link", true, "thread/resume with cwd", false},
	} {
		if !isSampledName(3, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{mute: "many", config: "[policy]\n"})
			lib, other := filepath.Join(w.root, "lib"), filepath.Join(w.root, "other")
			w.repositoryIn("lib")
			w.repositoryIn("other")
			if test.governs {
				w.write("other/.codex-bridge.toml", "[[policy.rule]]\ncommand = \"touch **\"\ndecision = \"deny\"\n")
			}
			w.write("config.toml", fmt.Sprintf("[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nwritable_roots = [\"${workspace}\", %q]\n", lib)+unhurriedCodex)
			a := w.newAcceptingEditor(proxyArgv...)
			start := map[string]any{"cwd": other, "approvalPolicy": "on-request", "sandbox": "workspace-write"}
			if test.record == "long" {
				start["baseInstructions"] = strings.Repeat("be kind ", 150_000)
			}
			thread := a.thread(start)
			turn, mark := a.startTurnWith(thread, "RUN: true", map[string]any{"cwd": lib, "runtimeWorkspaceRoots": []string{lib}})
			a.waitTurn(thread, turn, mark)
			a.closeAndWait()

			record := rollouts(t, w.home, thread)[0]
			old := time.Now().Add(-100 * 24 * time.Hour)
			if err := os.Chtimes(record, old, old); err != nil {
				t.Fatal(err)
			}
			a = w.newAcceptingEditor(proxyArgv...)
			switch test.record {
			case "compressed":
				a.must("rollout/compress", nil)
				for len(rollouts(t, w.home, thread)) != 1 || rollouts(t, w.home, thread)[0] == record {
					time.Sleep(20 * time.Millisecond)
				}
			case "link": // Codex follows it, the bridge does not
				moved := filepath.Join(filepath.Dir(w.write("elsewhere/x", "")), filepath.Base(record))
				if err := os.Rename(record, moved); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(moved, record); err != nil {
					t.Fatal(err)
				}
			}
			method, cwd, _ := strings.Cut(test.method, " with ")
			params := map[string]any{"threadId": thread}
			if cwd != "" {
				params["cwd"] = other
				if test.record == "link" { // the bridge can't read what Codex restores
					params["approvalPolicy"], params["sandbox"] = "on-request", "workspace-write"
				}
			}
			if cwd == "" {
				want := "opened in " + other + ", but"
				if test.refused {
					want = "send its cwd"
				}
				if err := a.mustFail(method, params); !strings.Contains(err.Message, want) {
					t.Errorf("error %v, want %q", err, want)
				}
				params["cwd"] = other
			}
			if test.refused {
				a.closeAndWait()
				return
			}
			opened := a.must(method, params)
			if cwd := editor.Member(opened, "cwd"); cwd != other {
				t.Errorf("the thread resumes in %s", cwd)
			}
			a.turn(editor.Member(opened, "thread", "id"), "RUN: touch two")
			if w.hasFile("other/two") == test.governs || w.hasFile("lib/two") {
				t.Errorf("written in the first folder: %v, in the folder of the turn: %v; the model got %q", w.hasFile("other/two"), w.hasFile("lib/two"), w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}

// A loaded thread that a turn has moved to another writable folder resumes with that folder as cwd, as without one, and
// goes on in it with its protected paths. Codex ignores another cwd, so such a resume is refused.
func TestLoadedMovedThreadResumesWhereItIs(t *testing.T) {
	t.Parallel()
	for name, argv := range map[string][]string{"codex alone": {codexPath, "app-server"}, "the bridge": proxyArgv} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\n", codexConfig: inWorkspace})
			lib := filepath.Dir(w.write("lib/x", ""))
			w.write("config.toml", fmt.Sprintf("[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nprotected_paths = [\".git\", \".vscode\"]\nwritable_roots = [\"${workspace}\", %q]\n", lib)+withLongGrace("[policy]"))
			a := w.newAcceptingEditor(argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			turn, mark := a.startTurnWith(thread, "RUN: true", map[string]any{"cwd": lib})
			a.waitTurn(thread, turn, mark)
			for _, cwd := range []string{lib, w.workspace} {
				if opened, err := a.Call(a.ctx, "thread/resume", map[string]any{"threadId": thread, "cwd": cwd}); err == nil {
					if got := editor.Member(opened, "cwd"); got != lib {
						t.Errorf("with %s the thread is in %s", cwd, got)
					}
				} else if cwd == lib || name == "codex alone" {
					t.Errorf("with %s: %v", cwd, err)
				}
			}
			if name == "the bridge" {
				a.must("thread/resume", map[string]any{"threadId": thread, "cwd": lib})
				a.turn(thread, "RUN: touch made")
				a.turn(thread, "RUN: d=.vsc; mkdir -p ${d}ode; touch ${d}ode/made")
				if !w.hasFile("lib/made") || w.hasFile("lib/.vscode/made") {
					t.Errorf("the model got %q", w.lastToolOutput())
				}
			}
			a.closeAndWait()
		})
	}
}
