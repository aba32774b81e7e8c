//go:build linux

package e2e_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
)

// The policy file of a thread's folder counts, wherever the bridge started.
func TestPolicyFileOfThreadFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: governsConfig})
	a := w.newAcceptingEditor(proxyArgv...)
	for _, dir := range []string{"other", "broken"} {
		w.repositoryIn(dir)
	}
	w.write("other/.codex-bridge.toml", workspacePolicy)
	w.write("broken/.codex-bridge.toml", "[policy]\nsandbox = 1\n")
	w.write("other/sub/x", "")
	settings := map[string]any{"cwd": filepath.Join(w.root, "other", "sub"), "approvalPolicy": "on-request", "sandbox": "workspace-write"}
	thread := a.thread(settings)
	a.turn(thread, "RUN: touch denied")
	if output := w.lastToolOutput(); w.hasFile("other/sub/denied") || !strings.Contains(output, "a rule says deny") {
		t.Errorf("the model got %q", output)
	}
	a.turn(thread, "RUN: touch allowed")
	if !w.hasFile("other/sub/allowed") {
		t.Errorf("the model got %q", w.lastToolOutput())
	}
	a.turn(a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}), "RUN: touch denied")
	if !w.hasFile("workspace/denied") {
		t.Errorf("the rule also applies in another folder: %q", w.lastToolOutput())
	}
	settings["cwd"] = filepath.Join(w.root, "broken")
	if err := a.mustFail("thread/start", settings); !strings.Contains(err.Message, ".codex-bridge.toml:2") {
		t.Error(err)
	}
	a.closeAndWait()
}

// A policy file that appears while a thread of its folder is open counts from the next call on. The thread
// keeps it when it has gone; a thread that is opened then does not have it.
func TestPolicyFileOfOpenThread(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: governsConfig})
	w.write("other/x", "")
	settings := map[string]any{"cwd": filepath.Join(w.root, "other"), "approvalPolicy": "on-request", "sandbox": "workspace-write"}
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(settings)
	writes := func(thread string) bool {
		a.turn(thread, "RUN: touch denied")
		return os.Remove(filepath.Join(w.root, "other", "denied")) == nil
	}
	if !writes(thread) {
		t.Errorf("without a policy file the model got %q", w.lastToolOutput())
	}
	file := w.write("other/.codex-bridge.toml", workspacePolicy)
	if writes(thread) || !strings.Contains(w.lastToolOutput(), "a rule says deny") {
		t.Errorf("under the new policy file the model got %q", w.lastToolOutput())
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if writes(thread) {
		t.Error("the open thread has lost the policy of its folder")
	}
	if !writes(a.thread(settings)) {
		t.Errorf("in a thread opened later the model got %q", w.lastToolOutput())
	}
	a.closeAndWait()
}

// A command can make a subfolder of the workspace a repository, or write a policy file there. The
// policy file of the workspace still counts for threads opened there later.
func TestPolicyFileIsNotHidden(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]string{
		"nothing": "true", "a repository": "git init -q sub", "a file": "touch sub/.codex-bridge.toml", "an invalid file": "echo x > sub/.codex-bridge.toml",
	} {
		if !isSampledName(2, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: governsConfig})
			w.write("other/sub/x", "")
			w.write("other/.codex-bridge.toml", workspacePolicy)
			settings := map[string]any{"cwd": filepath.Join(w.root, "other"), "approvalPolicy": "on-request", "sandbox": "workspace-write"}
			a := w.newAcceptingEditor(proxyArgv...)
			a.turn(a.thread(settings), "RUN: "+plant)
			settings["cwd"] = filepath.Join(w.root, "other", "sub")
			if name == "an invalid file" {
				if err := a.mustFail("thread/start", settings); !strings.Contains(err.Message, "sub/.codex-bridge.toml") {
					t.Error(err)
				}
				a.closeAndWait()
				return
			}
			thread := a.thread(settings)
			a.turn(thread, "RUN: touch denied")
			if output := w.lastToolOutput(); w.hasFile("other/sub/denied") || !strings.Contains(output, "a rule says deny") {
				t.Errorf("the model got %q", output)
			}
			a.turn(thread, "RUN: touch allowed")
			if !w.hasFile("other/sub/allowed") {
				t.Errorf("the model got %q", w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}

// An invalid policy file at the start does not end the bridge. With enforce, threads of its folder
// are refused until it is valid; otherwise only doctor and the log report it.
func TestInvalidPolicyFileAtTheStart(t *testing.T) {
	t.Parallel()
	settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
	for name, test := range map[string]struct {
		config string
		damage func(file string) error
		fault  string // in the error, after the file's path
		doctor int
	}{
		"an unknown value": {governsConfig, func(file string) error { return os.WriteFile(file, []byte("[policy]\nsandbox = 1\n"), 0o600) }, ":2:", 1},
		"a link": {governsConfig, func(file string) error {
			return errors.Join(os.Rename(file, file+".real"), os.Symlink(file+".real", file))
		},
			": cannot be read: it is a symbolic link, which a command could replace; replace the link by the file", 1},
		"nothing enforced": {"", func(file string) error { return os.WriteFile(file, []byte("[policy]\nsandbox = 1\n"), 0o600) }, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: test.config})
			w.write("other/x", "")
			file := w.write("workspace/.codex-bridge.toml", workspacePolicy)
			if err := test.damage(file); err != nil {
				t.Fatal(err)
			}
			if out, _, code := w.runCommand("doctor"); code != test.doctor || !strings.Contains(out, file) {
				t.Errorf("doctor exits with %d: %s", code, out)
			}
			a := w.newAcceptingEditor(proxyArgv...)
			if test.fault == "" {
				a.turn(a.thread(settings), "RUN: touch denied")
				if !w.hasFile("workspace/denied") {
					t.Errorf("the model got %q", w.lastToolOutput())
				}
				a.closeAndWait()
				return
			}
			if err := a.mustFail("thread/start", settings); !strings.Contains(err.Message, file+test.fault) {
				t.Error(err)
			}
			elsewhere := maps.Clone(settings)
			elsewhere["cwd"] = filepath.Join(w.root, "other")
			a.turn(a.thread(elsewhere), "RUN: touch denied")
			if !w.hasFile("other/denied") {
				t.Errorf("in another folder the model got %q", w.lastToolOutput())
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			w.write("workspace/.codex-bridge.toml", workspacePolicy)
			a.turn(a.thread(settings), "RUN: touch denied")
			if w.hasFile("workspace/denied") {
				t.Error("the policy file has no effect after it was corrected")
			}
			a.closeAndWait()
		})
	}
}

// A policy file that is looser than an earlier one has no effect where it is: the editor and its threads go
// on, the rest of the file counts, and doctor names both places. So a policy can be tightened without ending
// an editor.
func TestLooserPolicyFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: governsConfig + "escalation = \"deny\"\n"})
	file := w.write("workspace/.codex-bridge.toml", "[policy]\nsandbox = \"danger-full-access\"\nescalation = \"ask\"\n"+workspacePolicy)
	out, _, code := w.runCommand("doctor")
	if user := w.root + "/config.toml"; code != 0 || !strings.Contains(out, file+":2:1: policy.sandbox: ") || !strings.Contains(out, "which the user layer ("+user+":4) sets; \"workspace-write\" holds") {
		t.Errorf("doctor exits with %d: %s", code, out)
	}
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "danger-full-access"})
	a.turn(thread, "ESCALATE: touch "+w.root+"/outside")
	a.turn(thread, "RUN: touch denied")
	a.turn(thread, "RUN: touch "+w.root+"/outside; touch inside")
	for name, there := range map[string]bool{"outside": false, "workspace/denied": false, "workspace/inside": true} {
		if w.hasFile(name) != there {
			t.Errorf("%s: %v, want %v; the model got %q", name, !there, there, w.lastToolOutput())
		}
	}
	a.closeAndWait()
}

// A command that writes a policy file can't keep its own turn from being interrupted.
func TestPolicyFileCannotKeepTurnRunning(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: governsConfig})
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	file := `[policy.methods]\n\"turn/interrupt\" = \"deny\"\n\"thread/name/set\" = \"deny\"\n`
	turn, mark := a.startTurn(thread, `RUN: printf "`+file+`" > .codex-bridge.toml; touch written; sleep 100`)
	for !w.hasFile("workspace/written") && a.ctx.Err() == nil {
		time.Sleep(20 * time.Millisecond)
	}
	// The control: the file counts for another method.
	for a.ctx.Err() == nil {
		if _, err := a.Call(a.ctx, "thread/name/set", map[string]any{"threadId": thread, "name": "x"}); err != nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	a.must("turn/interrupt", map[string]any{"threadId": thread, "turnId": turn})
	a.waitFor(mark, "turn/completed", func(m editor.Message) bool { return m.Param("turn", "status") == "interrupted" })
	a.closeAndWait()
}

// Without enforcement, the bridge opens no thread in a folder whose policy file enforces.
func TestPolicyFileWhereNothingIsEnforced(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{"no configuration": "", "audit": "[policy]\nmode = \"audit\"\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: config})
			a := w.newAcceptingEditor(proxyArgv...)
			folders := map[string]string{
				"enforced": "[policy]\nmode = \"enforce\"\n", "watched": "[policy]\nmode = \"audit\"\n" + workspacePolicy, "broken": "[policy]\nsandbox = 1\n", "plain": "",
			}
			thread := a.thread(map[string]any{})
			a.turn(thread, "good day")
			for folder, text := range folders {
				w.repositoryIn(folder)
				w.write(folder+"/sub/x", "")
				if text != "" {
					w.write(folder+"/.codex-bridge.toml", text)
				}
				cwd := filepath.Join(w.root, folder, "sub")
				for method, params := range map[string]map[string]any{
					"thread/start": {"cwd": cwd}, "thread/resume": {"threadId": thread, "cwd": cwd}, "thread/fork": {"threadId": thread, "cwd": "../" + folder + "/sub"},
				} {
					if folder != "enforced" {
						a.must(method, params)
					} else if err := a.mustFail(method, params); !strings.Contains(err.Message, "the policy file of this folder requires enforcement") {
						t.Error(err)
					}
				}
			}
			a.closeAndWait()
		})
	}
}

// A turn moves a thread out of its workspace; the thread is opened again and moved back. The policy
// file of its workspace still applies.
func TestPolicyFileOfMovedThread(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		method string
		before bool // a resume that is refused comes first
		named  bool // it names the folder to which the thread was moved
	}{
		"a resume": {method: "thread/resume"}, "a fork": {method: "thread/fork"},
		"a resume that names the folder": {method: "thread/resume", named: true}, "a resume after one that was refused": {method: "thread/resume", before: true},
	} {
		if !isSampledName(2, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: governsConfig})
			lib := filepath.Dir(w.write("lib/x", ""))
			w.write("config.toml", governsConfig+fmt.Sprintf("writable_roots = [\"${workspace}\", %q]\n", lib)+withLongGrace("[policy]"))
			other := filepath.Dir(w.write("other/.codex-bridge.toml", workspacePolicy))
			w.repositoryIn("other") // elsewhere a fork is read-only, as with Codex alone
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(map[string]any{"cwd": other, "approvalPolicy": "on-request", "sandbox": "workspace-write"})
			move := func(text, to string) {
				turn, mark := a.startTurnWith(thread, text, map[string]any{"cwd": to, "runtimeWorkspaceRoots": []string{to}})
				a.waitTurn(thread, turn, mark)
			}
			move("RUN: touch moved", lib)
			if !w.hasFile("lib/moved") {
				t.Fatalf("the turn does not run in the new folder: %q", w.lastToolOutput())
			}
			params := map[string]any{"threadId": thread}
			if test.named {
				params["cwd"] = lib
			}
			if test.before {
				a.mustFail("thread/resume", map[string]any{"threadId": thread, "cwd": other})
			}
			if test.method == "thread/fork" {
				params["cwd"] = other
			}
			thread = editor.Member(a.must(test.method, params), "thread", "id")
			move("RUN: touch denied", other)
			if output := w.lastToolOutput(); w.hasFile("other/denied") || !strings.Contains(output, "a rule says deny") {
				t.Errorf("the model got %q", output)
			}
			move("RUN: touch allowed", other)
			if !w.hasFile("other/allowed") {
				t.Errorf("the model got %q", w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}

// trustTouch makes the workspace a trusted project whose rules let touch run outside the sandbox,
// with another repository in its folder vendor.
func (w *world) trustTouch() {
	w.t.Helper()
	w.write("home/config.toml", fmt.Sprintf("%s\n[projects.%q]\ntrust_level = \"trusted\"\n", w.read("home/config.toml"), w.workspace))
	w.write("workspace/.codex/rules/own.rules", "prefix_rule(pattern=[\"touch\"], decision=\"allow\")\n")
	w.repositoryIn("workspace/vendor")
}

// checkResumedRunsOutside resumes a thread and checks whether its command touch runs outside the
// sandbox.
func (a *acceptingEditor) checkResumedRunsOutside(thread string, want bool) {
	a.t.Helper()
	a.must("thread/resume", map[string]any{"threadId": thread})
	a.turn(thread, "RUN: touch "+filepath.Join(a.root, "out"))
	if a.hasFile("out") != want {
		a.t.Errorf("ran outside the sandbox: %v; the model got %q", !want, a.world.lastToolOutput())
	}
	a.closeAndWait()
}

// A turn moves a thread out of its trusted project, and it is opened again. Codex still has the
// project's rules loaded, so the bridge still applies them.
func TestProjectRulesOfMovedThread(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		argv  []string
		moved bool
		out   bool
	}{
		"codex alone": {[]string{codexPath, "app-server"}, true, true}, "not moved": {proxyArgv, false, false}, "moved": {proxyArgv, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: gitConfig, mute: "many"})
			w.trustTouch()
			a := w.newAcceptingEditor(test.argv...)
			thread := a.thread(map[string]any{"cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": "workspace-write"})
			cwd := w.workspace
			if test.moved {
				cwd = filepath.Join(cwd, "vendor")
			}
			turn, mark := a.startTurnWith(thread, "RUN: pwd", map[string]any{"cwd": cwd, "runtimeWorkspaceRoots": []string{w.workspace}})
			a.waitTurn(thread, turn, mark)
			if !strings.Contains(w.lastToolOutput(), cwd) {
				t.Errorf("the model got %q", w.lastToolOutput())
			}
			a.checkResumedRunsOutside(thread, test.out)
		})
	}
}

// A subagent has its parent's project rules loaded, even if the client opens its thread from
// another folder.
func TestProjectRulesOfOpenedAgent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		argv []string
		out  bool
	}{"codex alone": {[]string{codexPath, "app-server"}, true}, "the bridge": {proxyArgv, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\napproval = [\"on-request\"]\nsandbox = \"read-only\"\n", mute: "many"})
			w.trustTouch()
			a := w.newAcceptingEditor(test.argv...)
			thread := a.thread(map[string]any{"cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": "read-only"})
			turn, mark := a.startTurnWith(thread, `CALL: multi_agent_v1/spawn_agent {"message":"SAY: hello"}`, map[string]any{"cwd": filepath.Join(w.workspace, "vendor")})
			a.waitTurn(thread, turn, mark)
			done, err := a.Wait(a.ctx, mark, func(m editor.Message) bool { return m.Method == "turn/completed" && m.Param("threadId") != thread })
			if err != nil {
				t.Fatal(err)
			}
			agent := done.Param("threadId")
			a.checkResumedRunsOutside(agent, test.out)
		})
	}
}

// A managed file to try counts before the user's file, also if only the user's enforces.
func TestDoctorTriesManagedFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: hooksPolicy})
	for _, mode := range []string{"audit", "enforce"} {
		file := w.write(mode+".toml", "[policy]\nmode = \""+mode+"\"\n")
		out, problems, code := w.runCommand("doctor", "--managed", file)
		if code != 0 || !strings.Contains(out, "a hook was fired and answered") {
			t.Errorf("%s: %d, %s %s", mode, code, out, problems)
		}
	}
}

// If only policy files enforce, doctor fires a hook under each of them and under all of them.
func TestDoctorUnderPolicyFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.write(".codex-bridge.toml", "[policy]\napproval = [\"on-request\"]\n")
	w.write("workspace/.codex-bridge.toml", "[policy]\nsandbox = \"read-only\"\n")
	if out, problems, _ := w.runCommand("doctor"); !strings.Contains(out, "a hook was fired and answered") {
		t.Errorf("doctor prints %s %s", out, problems)
	}
}
