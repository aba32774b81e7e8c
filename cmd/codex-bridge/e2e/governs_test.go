//go:build linux

package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

const governsConfig = `
[policy]
approval = ["on-request"]
sandbox = "workspace-write"
protected_paths = [".github/workflows"]
`

const workspacePolicy = `
[[policy.rule]]
command = "touch denied"
decision = "deny"
`

// overwrites are ways in which a command changes $F. No parser of commands would find all.
var overwrites = []string{
	`echo > $F`, `exec 3<> $F; echo x >&3`, `mv $F gone`, `echo > other && mv other $F`, `cp /dev/null $F`, `tee $F < /dev/null`, `sed -i d $F`,
	`unlink $F`, `truncate -s 0 $F`, `echo > other; ln -f other $F`, `ln -s /dev/null other && mv -f other $F`,
	`printf 'open("'$F'","w")' > s.py; python3 s.py`, `rm -f *.toml .*.toml .github/*/*`,
	`(cd $(dirname $F) && echo > $(basename $F))`, `cd ..; d=$(basename $OLDPWD); mv $d/$F $d/gone; cd $d`,
}

// overwriteScript returns a script that tries each way on each file and prints the numbers of the
// successful ones. At its end it writes two ordinary files.
func overwriteScript(files map[string]string) string {
	var b strings.Builder
	for file, text := range files {
		fmt.Fprintf(&b, "F=%s\n", file)
		for i, line := range overwrites {
			fmt.Fprintf(&b, "(%s) 2>/dev/null\n[ \"$(cat $F 2>/dev/null)\" = '%s' ] || echo changed %d\n", line, text, i)
			fmt.Fprintf(&b, "{ rm -rf gone other s.py $F; echo '%s' > $F; } 2>/dev/null\n", text)
		}
	}
	b.WriteString("(mv .github moved && echo moved; mv moved .github) 2>/dev/null\n")
	b.WriteString("echo > fine && echo > .github/fine && echo ordinary files are written\n")
	return b.String()
}

// governed are files that control the threads in a workspace.
var governed = map[string]string{".codex-bridge.toml": strings.TrimSpace(workspacePolicy), ".github/workflows/ci.yaml": "on: push"}

func (w *world) writeGoverning() {
	w.t.Helper()
	for file, text := range governed {
		w.write("workspace/"+file, text+"\n")
	}
}

// runOverwrites makes the model run the script and returns its output.
func (a *acceptingEditor) runOverwrites(thread string) string {
	a.t.Helper()
	a.writeGoverning()
	a.model.Add(scripted.Step{When: "OVERWRITE", Reply: scripted.Reply{scripted.Run("sh x.sh")}})
	a.write("workspace/x.sh", overwriteScript(governed))
	a.turn(thread, "OVERWRITE")
	_, out, _ := strings.Cut(a.world.lastToolOutput(), "Output:\n")
	return strings.TrimSpace(out)
}

const nothingChanged = "ordinary files are written"

// With Codex alone a command changes these files in each way.
func TestCommandsChangeWhatGovernsControl(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.writeGoverning()
	a := w.newAcceptingEditor(codexPath, "app-server")
	out := a.runOverwrites(a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}))
	for i, line := range overwrites {
		if strings.Count(out+"\n", fmt.Sprintf("changed %d\n", i)) != len(governed) {
			t.Errorf("%q does not change all files:\n%s", line, out)
		}
	}
	if !strings.Contains(out, "moved") || !strings.Contains(out, nothingChanged) {
		t.Errorf("reply %q", out)
	}
	a.closeAndWait()
}

// With the bridge no command changes them, whatever made the thread workspace-write.
func TestCommandsCannotChangeWhatGoverns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: governsConfig})
	w.writeGoverning()

	// A thread whose last turn with Codex alone could write. Codex restores its first sandbox.
	alone := w.newAcceptingEditor(codexPath, "app-server")
	left := alone.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"})
	turn, mark := alone.startTurnWith(left, "good day", map[string]any{"sandboxPolicy": map[string]any{"type": "workspaceWrite"}})
	alone.waitTurn(left, turn, mark)
	alone.closeAndWait()

	a := w.newAcceptingEditor(proxyArgv...)
	holds := func(name, thread string) {
		t.Helper()
		if out := a.runOverwrites(thread); out != nothingChanged {
			t.Errorf("%s: %s", name, out)
		}
	}
	settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
	thread := a.thread(settings)
	holds("start", thread)
	turn, mark = a.startTurnWith(thread, "good day", map[string]any{"sandboxPolicy": map[string]any{"type": "workspaceWrite", "writableRoots": []string{w.workspace}, "excludeSlashTmp": true}})
	a.waitTurn(thread, turn, mark)
	holds("after a turn with a sandboxPolicy", thread)
	fork := editor.Member(a.must("thread/fork", map[string]any{"threadId": thread, "cwd": w.workspace}), "thread", "id")
	holds("fork", fork)
	raised := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"})
	a.must("thread/settings/update", map[string]any{"threadId": raised, "sandboxPolicy": map[string]any{"type": "workspaceWrite"}})
	holds("raised by settings", raised)
	removed := a.must("command/exec", map[string]any{"command": []string{"rm", ".codex-bridge.toml"}, "sandboxPolicy": map[string]any{"type": "workspaceWrite"}})
	if editor.Member(removed, "exitCode") == "0" || !w.hasFile("workspace/.codex-bridge.toml") {
		t.Errorf("command/exec removed the policy file: %s", removed)
	}
	a.closeAndWait()

	a = w.newAcceptingEditor(proxyArgv...)
	a.resume(thread, map[string]any{})
	holds("resumed", thread)
	a.resume(left, map[string]any{})
	if out := a.runOverwrites(left); strings.Contains(out, "changed ") || !strings.Contains(out, "Read-only file system") {
		t.Errorf("left by codex alone: %s", out)
	}
	a.closeAndWait()
}

// No command replaces a bridge in the workspace, whose program runs the hooks. With Codex alone
// each command does.
func TestCommandsCannotReplaceTheBridge(t *testing.T) {
	t.Parallel()
	program, err := os.ReadFile(proxyPath)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		argv     []string // after the root; nil: Codex alone
		replaced bool
	}{"alone": {replaced: true}, "bridge": {argv: []string{"/workspace/tools/bin/codex-bridge", "app-server"}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\nescalation = \"deny\"\n"})
			at := filepath.Join(w.workspace, "tools/bin/codex-bridge")
			w.must(os.MkdirAll(filepath.Dir(at), 0o700))
			// Not written by this process: a child of another test could inherit the descriptor, and the file be busy.
			w.must(exec.Command("cp", proxyPath, at).Run())
			argv := []string{codexPath, "app-server"}
			if test.argv != nil {
				argv = append([]string{w.root + test.argv[0]}, test.argv[1:]...)
			}
			a := w.newAcceptingEditor(argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			for _, line := range []string{
				"echo x > tools/bin/codex-bridge",
				"rm -f tools/bin/codex-bridge && echo x > tools/bin/codex-bridge",
				"mv tools/bin tools/old && mkdir tools/bin && echo x > tools/bin/codex-bridge",
				"mv tools gone && mkdir -p tools/bin && echo x > tools/bin/codex-bridge",
			} {
				a.turn(thread, "RUN: "+line)
				now, err := os.ReadFile(at)
				if replaced := err != nil || !bytes.Equal(now, program); replaced != test.replaced {
					t.Errorf("%q replaced the program: %t", line, replaced)
				}
				if test.replaced { // restore it for the next line
					for _, name := range []string{"gone", "tools/old"} {
						if err := os.RemoveAll(filepath.Join(w.workspace, name)); err != nil {
							t.Fatal(err)
						}
					}
					w.write("workspace/tools/bin/codex-bridge", string(program))
				}
			}
			a.turn(thread, "RUN: touch tools/bin/beside")
			if !w.hasFile("workspace/tools/bin/beside") {
				t.Error("a command can't write next to the program")
			}
			a.CloseInput()
		})
	}
}

// Codex keeps a user's rule loaded that was deleted from disk. With the bridge, a command that it
// allows outside stays in the sandbox.
func TestUserRuleRemovedWhileThreadIsOpen(t *testing.T) {
	t.Parallel()
	for name, argv := range map[string][]string{"control": {codexPath, "app-server"}, "bridge": proxyArgv} {
		for way, remove := range map[string]func(rules string) error{
			"removed": os.RemoveAll,
			"moved":   func(rules string) error { return os.Rename(rules, rules+".gone") },
			"changed": func(rules string) error {
				return os.WriteFile(filepath.Join(rules, "own.rules"), []byte(allow(`["pwd"]`)), 0o600)
			},
		} {
			if !isSampledName(3, name+" "+way) {
				continue
			}
			t.Run(name+" "+way, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options{config: governsConfig})
				w.write("home/rules/own.rules", allow(`["touch"]`))
				a := w.newAcceptingEditor(argv...)
				thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"})
				if err := remove(filepath.Join(w.home, "rules")); err != nil {
					t.Fatal(err)
				}
				a.turn(thread, "RUN: touch "+filepath.Join(w.root, "out"))
				if out := w.hasFile("out"); out != (name == "control") {
					t.Errorf("outside %v; the model got %q", out, w.lastToolOutput())
				}
				a.closeAndWait()
			})
		}
	}
}

// A patch in a read-only thread needs to leave its sandbox, even if the policy's limit is
// workspace-write. Codex alone writes an accepted one.
func TestPatchLeavesReadOnlyThread(t *testing.T) {
	t.Parallel()
	readOnly := map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"}
	for name, test := range map[string]struct {
		argv    []string
		config  string
		asked   int
		marked  bool
		written bool
	}{
		"control": {argv: []string{codexPath, "app-server"}, asked: 1, written: true},
		"deny":    {argv: proxyArgv, config: governsConfig},
		"ask":     {argv: proxyArgv, config: governsConfig + "escalation = \"ask\"\n", asked: 1, marked: true, written: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: test.config})
			a := w.newAcceptingEditor(test.argv...)
			asked := a.turn(a.thread(readOnly), "PATCH: patched\nx")
			if len(asked) != test.asked || w.hasFile("workspace/patched") != test.written {
				t.Errorf("questions %q, written %v", asked, w.hasFile("workspace/patched"))
			}
			if test.marked && !strings.HasPrefix(asked[0], "[codex-bridge: leaves the sandbox]") {
				t.Errorf("questions %q", asked)
			}
			a.closeAndWait()
		})
	}
}

// An open thread keeps its policy when a policy file is deleted or loosened. A thread opened later
// shows the change.
func TestOpenThreadKeepsItsPolicy(t *testing.T) {
	t.Parallel()
	const rule = "[[policy.rule]]\ncommand = \"touch user\"\ndecision = \"deny\"\n"
	w := newWorld(t, options{config: governsConfig + rule, env: []string{"CODEX_BRIDGE_LOG=info"}})
	w.writeGoverning()
	a := w.newAcceptingEditor(proxyArgv...)
	settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
	old := a.thread(settings)
	runs := func(thread string) (ran []string) {
		t.Helper()
		for _, name := range []string{"user", "denied"} {
			a.turn(thread, "RUN: touch "+name)
			if file := filepath.Join(w.workspace, name); os.Remove(file) == nil {
				ran = append(ran, name)
			}
		}
		return ran
	}
	if ran := runs(old); ran != nil {
		t.Errorf("commands before the change: %q", ran)
	}
	w.write("workspace/.codex-bridge.toml", "# sets nothing\n")
	w.write("config.toml", governsConfig)
	if _, err := a.WaitStderr(a.ctx, func(text string) bool { return strings.Contains(text, "still checked against the policies") }); err != nil {
		t.Fatal(err)
	}
	for len(runs(a.thread(settings))) != 2 { // the two changes may arrive separately
		if a.ctx.Err() != nil {
			t.Fatal("a thread opened after the change has the old policy")
		}
	}
	if ran := runs(old); ran != nil {
		t.Errorf("commands after the change: %q", ran)
	}
	changes := 0
	if _, err := a.WaitStderr(a.ctx, func(text string) bool {
		changes = strings.Count(text, "still checked against the policies")
		return true
	}); err != nil {
		t.Fatal(err)
	}
	w.write("config.toml", "[policy]\nmode = \"off\"\n")
	if _, err := a.WaitStderr(a.ctx, func(text string) bool { return strings.Count(text, "still checked against the policies") > changes }); err != nil {
		t.Fatal(err)
	}
	if ran := runs(old); ran != nil {
		t.Errorf("commands without the policy: %q", ran)
	}
	if _, err := a.Call(a.ctx, "thread/shellCommand", map[string]any{"threadId": old, "command": "touch denied"}); err == nil {
		t.Error("thread/shellCommand without the policy ran in the thread")
	}
	a.closeAndWait()
}

// A user's permissions profile with the bridge's name could extend the bridge's profile. No thread
// opens with one; a profile of another name has no effect.
func TestProfileWithTheBridgesName(t *testing.T) {
	t.Parallel()
	settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
	for name, refused := range map[string]bool{"codex-bridge": true, "codex-bridge-network": true, "mine": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: governsConfig, codexConfig: "default_permissions = \":workspace\"\n[permissions." + name + "]\nextends = \":workspace\"\n[permissions." + name + ".filesystem]\n\"/opt\" = \"write\"\n"})
			a := w.newAcceptingEditor(proxyArgv...)
			settings := map[string]any{"cwd": w.workspace, "approvalPolicy": settings["approvalPolicy"], "sandbox": settings["sandbox"]}
			if !refused {
				a.must("thread/start", settings)
			} else if err := a.mustFail("thread/start", settings); err.Code != -32010 || !strings.Contains(err.Message, "[permissions."+name+"]") {
				t.Error(err)
			}
			a.closeAndWait()
		})
	}
}
