//go:build linux

package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge/cmd/internal/editor"
	"codex-bridge/cmd/internal/scripted"
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

// overwrites are ways in which a command changes $F, which no reading of the command
// would find all of.
var overwrites = []string{
	`echo > $F`, `exec 3<> $F; echo x >&3`, `mv $F gone`, `echo > other && mv other $F`, `cp /dev/null $F`, `tee $F < /dev/null`, `sed -i d $F`,
	`unlink $F`, `truncate -s 0 $F`, `echo > other; ln -f other $F`, `ln -s /dev/null other && mv -f other $F`,
	`printf 'open("'$F'","w")' > s.py; python3 s.py`, `rm -f *.toml .*.toml .github/*/*`,
	`(cd $(dirname $F) && echo > $(basename $F))`, `cd ..; d=$(basename $OLDPWD); mv $d/$F $d/gone; cd $d`,
}

// overwriting is a script that tries each of the overwrites on each file, and prints the
// number of each that changed one. At the end it writes two ordinary files.
func overwriting(files map[string]string) string {
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

// governed are files that govern the threads in a workspace.
var governed = map[string]string{".codex-bridge.toml": strings.TrimSpace(workspacePolicy), ".github/workflows/ci.yaml": "on: push"}

func (w *world) governing() {
	w.t.Helper()
	for file, text := range governed {
		w.write("workspace/"+file, text+"\n")
	}
}

// overwrites has the model run the script and returns what it printed.
func (a *agreeable) overwrites(thread string) string {
	a.t.Helper()
	a.governing()
	a.model.Add(scripted.Step{When: "OVERWRITE", Reply: scripted.Reply{scripted.Run("sh x.sh")}})
	a.write("workspace/x.sh", overwriting(governed))
	a.turn(thread, "OVERWRITE")
	_, out, _ := strings.Cut(a.world.told(), "Output:\n")
	return strings.TrimSpace(out)
}

const nothingChanged = "ordinary files are written"

// Codex alone lets a command change what governs in each of the ways.
func TestCommandsChangeWhatGovernsControl(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.governing()
	a := w.agreeable(codexPath, "app-server")
	out := a.overwrites(a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}))
	for i, line := range overwrites {
		if strings.Count(out+"\n", fmt.Sprintf("changed %d\n", i)) != len(governed) {
			t.Errorf("%q does not change each of the files:\n%s", line, out)
		}
	}
	if !strings.Contains(out, "moved") || !strings.Contains(out, nothingChanged) {
		t.Errorf("said %q", out)
	}
	a.quit()
}

// With the bridge no command changes them, however the thread came to workspace-write.
func TestCommandsCannotChangeWhatGoverns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: governsConfig})
	w.governing()

	// A thread that codex alone has left in workspace-write.
	alone := w.agreeable(codexPath, "app-server")
	left := alone.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"})
	turn, mark := alone.beginWith(left, "good day", map[string]any{"sandboxPolicy": map[string]any{"type": "workspaceWrite"}})
	alone.end(left, turn, mark)
	alone.quit()

	a := w.agreeable(proxyArgv...)
	holds := func(name, thread string) {
		t.Helper()
		if out := a.overwrites(thread); out != nothingChanged {
			t.Errorf("%s: %s", name, out)
		}
	}
	settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
	thread := a.thread(settings)
	holds("start", thread)
	turn, mark = a.beginWith(thread, "good day", map[string]any{"sandboxPolicy": map[string]any{"type": "workspaceWrite", "writableRoots": []string{w.workspace}, "excludeSlashTmp": true}})
	a.end(thread, turn, mark)
	holds("after a turn with a sandboxPolicy", thread)
	fork := editor.Member(a.must("thread/fork", map[string]any{"threadId": thread, "cwd": w.workspace}), "thread", "id")
	holds("fork", fork)
	raised := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"})
	a.must("thread/settings/update", map[string]any{"threadId": raised, "sandboxPolicy": map[string]any{"type": "workspaceWrite"}})
	holds("raised by settings", raised)
	removed := a.must("command/exec", map[string]any{"command": []string{"rm", ".codex-bridge.toml"}, "sandboxPolicy": map[string]any{"type": "workspaceWrite"}})
	if editor.Member(removed, "exitCode") == "0" || !w.left("workspace/.codex-bridge.toml") {
		t.Errorf("a command of the client's removed the policy file: %s", removed)
	}
	a.quit()

	a = w.agreeable(proxyArgv...)
	a.resume(thread, map[string]any{})
	holds("resumed", thread)
	a.resume(left, map[string]any{})
	holds("left by codex alone", left)
	a.quit()
}

// No command replaces a bridge that is in the workspace: hooks run that program. With Codex
// alone each of the commands does.
func TestCommandsCannotReplaceTheBridge(t *testing.T) {
	t.Parallel()
	program, err := os.ReadFile(proxyPath)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		argv     []string // behind the root; nil: Codex alone
		replaced bool
	}{"alone": {replaced: true}, "bridge": {argv: []string{"/workspace/tools/bin/codex-bridge", "app-server"}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\nescalation = \"deny\"\n"})
			at := w.write("workspace/tools/bin/codex-bridge", string(program))
			if err := os.Chmod(at, 0o700); err != nil {
				t.Fatal(err)
			}
			argv := []string{codexPath, "app-server"}
			if test.argv != nil {
				argv = append([]string{w.root + test.argv[0]}, test.argv[1:]...)
			}
			a := w.agreeable(argv...)
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
					t.Errorf("%q has replaced the program: %t", line, replaced)
				}
				if test.replaced { // for the next line
					for _, name := range []string{"gone", "tools/old"} {
						if err := os.RemoveAll(filepath.Join(w.workspace, name)); err != nil {
							t.Fatal(err)
						}
					}
					w.write("workspace/tools/bin/codex-bridge", string(program))
				}
			}
			a.turn(thread, "RUN: touch tools/bin/beside")
			if !w.left("workspace/tools/bin/beside") {
				t.Error("a command can't write beside the program")
			}
			a.CloseInput()
		})
	}
}

// Codex keeps a user's own rules in memory that are gone from disk. A command that one of
// them lets out stays inside all the same.
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
			t.Run(name+" "+way, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options{config: governsConfig})
				w.write("home/rules/own.rules", allow(`["touch"]`))
				a := w.agreeable(argv...)
				thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"})
				if err := remove(filepath.Join(w.home, "rules")); err != nil {
					t.Fatal(err)
				}
				a.turn(thread, "RUN: touch "+filepath.Join(w.root, "out"))
				if out := w.left("out"); out != (name == "control") {
					t.Errorf("outside %v; the model was told %q", out, w.told())
				}
				a.quit()
			})
		}
	}
}

// A patch in a read-only thread leaves its sandbox, though the policy's limit is
// workspace-write. Codex alone writes it when the person accepts.
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
			a := w.agreeable(test.argv...)
			asked := a.turn(a.thread(readOnly), "PATCH: patched\nx")
			if len(asked) != test.asked || w.left("workspace/patched") != test.written {
				t.Errorf("asked %q, written %v", asked, w.left("workspace/patched"))
			}
			if test.marked && !strings.HasPrefix(asked[0], "[codex-bridge: leaves the sandbox]") {
				t.Errorf("asked %q", asked)
			}
			a.quit()
		})
	}
}

// A policy that was in force since a thread was opened stays so for it when a file is
// removed or loosened. A thread that is opened afterwards shows that it was.
func TestOpenThreadKeepsItsPolicy(t *testing.T) {
	t.Parallel()
	const rule = "[[policy.rule]]\ncommand = \"touch user\"\ndecision = \"deny\"\n"
	w := newWorld(t, options{config: governsConfig + rule, env: []string{"CODEX_BRIDGE_LOG=info"}})
	w.governing()
	a := w.agreeable(proxyArgv...)
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
		t.Errorf("before the change, ran: %q", ran)
	}
	if err := os.Remove(filepath.Join(w.workspace, ".codex-bridge.toml")); err != nil {
		t.Fatal(err)
	}
	w.write("config.toml", governsConfig)
	if _, err := a.WaitStderr(a.ctx, func(text string) bool { return strings.Contains(text, "keep the policies") }); err != nil {
		t.Fatal(err)
	}
	for len(runs(a.thread(settings))) != 2 { // the two changes may come one by one
		if a.ctx.Err() != nil {
			t.Fatal("a thread that is opened after the change is held to the old policy")
		}
	}
	if ran := runs(old); ran != nil {
		t.Errorf("after the change, ran: %q", ran)
	}
	changes := 0
	if _, err := a.WaitStderr(a.ctx, func(text string) bool { changes = strings.Count(text, "keep the policies"); return true }); err != nil {
		t.Fatal(err)
	}
	w.write("config.toml", "[policy]\nmode = \"off\"\n")
	if _, err := a.WaitStderr(a.ctx, func(text string) bool { return strings.Count(text, "keep the policies") > changes }); err != nil {
		t.Fatal(err)
	}
	if ran := runs(old); ran != nil {
		t.Errorf("after the policy was switched off, ran: %q", ran)
	}
	if _, err := a.Call(a.ctx, "thread/shellCommand", map[string]any{"threadId": old, "command": "touch denied"}); err == nil {
		t.Error("after the policy was switched off, a shell command of the client in the thread")
	}
	a.quit()
}

// The policy file of a thread's folder counts, wherever the bridge was started.
func TestPolicyFileOfThreadFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: governsConfig})
	a := w.agreeable(proxyArgv...)
	for _, dir := range []string{"other", "broken"} {
		w.write(dir+"/.git/HEAD", "ref: refs/heads/main\n")
		w.write(dir+"/.git/objects/x", "")
		w.write(dir+"/.git/refs/x", "")
	}
	w.write("other/.codex-bridge.toml", workspacePolicy)
	w.write("broken/.codex-bridge.toml", "[policy]\nsandbox = 1\n")
	w.write("other/sub/x", "")
	settings := map[string]any{"cwd": filepath.Join(w.root, "other", "sub"), "approvalPolicy": "on-request", "sandbox": "workspace-write"}
	thread := a.thread(settings)
	a.turn(thread, "RUN: touch denied")
	if told := w.told(); w.left("other/sub/denied") || !strings.Contains(told, "a rule says deny") {
		t.Errorf("the model was told %q", told)
	}
	a.turn(thread, "RUN: touch allowed")
	if !w.left("other/sub/allowed") {
		t.Errorf("the model was told %q", w.told())
	}
	a.turn(a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}), "RUN: touch denied")
	if !w.left("workspace/denied") {
		t.Errorf("in another folder the rule holds, too: %q", w.told())
	}
	settings["cwd"] = filepath.Join(w.root, "broken")
	if err := a.refused("thread/start", settings); !strings.Contains(err.Message, ".codex-bridge.toml:2") {
		t.Error(err)
	}
	a.quit()
}

// A policy file that does not load at the start does not end the editor. Under enforce it refuses the
// threads of its folder until it loads; otherwise doctor and the log name it, and nothing else happens.
func TestInvalidPolicyFileAtTheStart(t *testing.T) {
	t.Parallel()
	settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
	for name, test := range map[string]struct {
		config string
		damage func(file string) error
		fault  string // in the error, behind the file's path
		doctor int
	}{
		"an unknown value": {governsConfig, func(file string) error { return os.WriteFile(file, []byte("[policy]\nsandbox = 1\n"), 0o600) }, ":2:", 1},
		"looser":           {governsConfig, func(file string) error { return os.WriteFile(file, []byte("[policy]\nnetwork = true\n"), 0o600) }, ":2:", 1},
		"a link": {governsConfig, func(file string) error {
			return errors.Join(os.Rename(file, file+".real"), os.Symlink(file+".real", file))
		},
			": cannot be read: it is a symbolic link, which a command could replace; put the file itself in its place", 1},
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
			if out, _, code := w.own("doctor"); code != test.doctor || !strings.Contains(out, file) {
				t.Errorf("doctor ends with %d: %s", code, out)
			}
			a := w.agreeable(proxyArgv...)
			if test.fault == "" {
				a.turn(a.thread(settings), "RUN: touch denied")
				if !w.left("workspace/denied") {
					t.Errorf("the model was told %q", w.told())
				}
				a.quit()
				return
			}
			if err := a.refused("thread/start", settings); !strings.Contains(err.Message, file+test.fault) {
				t.Error(err)
			}
			elsewhere := maps.Clone(settings)
			elsewhere["cwd"] = filepath.Join(w.root, "other")
			a.turn(a.thread(elsewhere), "RUN: touch denied")
			if !w.left("other/denied") {
				t.Errorf("in another folder the model was told %q", w.told())
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			w.write("workspace/.codex-bridge.toml", workspacePolicy)
			a.turn(a.thread(settings), "RUN: touch denied")
			if w.left("workspace/denied") {
				t.Error("the policy file has no effect after it was corrected")
			}
			a.quit()
		})
	}
}

// A bridge that enforces nothing opens no thread in a folder whose policy file asks for it.
func TestPolicyFileWhereNothingIsEnforced(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{"no configuration": "", "audit": "[policy]\nmode = \"audit\"\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: config})
			a := w.agreeable(proxyArgv...)
			folders := map[string]string{
				"enforced": "[policy]\nmode = \"enforce\"\n", "watched": "[policy]\nmode = \"audit\"\n" + workspacePolicy, "broken": "[policy]\nsandbox = 1\n", "plain": "",
			}
			thread := a.thread(map[string]any{})
			a.turn(thread, "good day")
			for folder, text := range folders {
				w.write(folder+"/.git/HEAD", "ref: refs/heads/main\n")
				w.write(folder+"/.git/objects/x", "")
				w.write(folder+"/.git/refs/x", "")
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
					} else if err := a.refused(method, params); !strings.Contains(err.Message, "the policy file of this folder is to be enforced") {
						t.Error(err)
					}
				}
			}
			a.quit()
		})
	}
}

// A permissions profile of the user's that has the bridge's name could add to the bridge's own.
// No thread is opened beside one; a profile of another name changes nothing.
func TestProfileWithTheBridgesName(t *testing.T) {
	t.Parallel()
	settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
	for name, refused := range map[string]bool{"codex-bridge": true, "codex-bridge-network": true, "mine": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: governsConfig, codexConfig: "default_permissions = \":workspace\"\n[permissions." + name + "]\nextends = \":workspace\"\n[permissions." + name + ".filesystem]\n\"/opt\" = \"write\"\n"})
			a := w.agreeable(proxyArgv...)
			settings := map[string]any{"cwd": w.workspace, "approvalPolicy": settings["approvalPolicy"], "sandbox": settings["sandbox"]}
			if !refused {
				a.must("thread/start", settings)
			} else if err := a.refused("thread/start", settings); err.Code != -32010 || !strings.Contains(err.Message, "[permissions."+name+"]") {
				t.Error(err)
			}
			a.quit()
		})
	}
}

// deeper are lines that change the file deep/.github/workflows/ci.yaml, and say so. A bash that a line
// starts finds no program apply_patch (measured with Codex 0.169).
var deeper = map[string]map[string]any{
	"echo x > deep/.github/workflows/ci.yaml":                                                          nil,
	"echo x >> 'deep'/.github/work\"flows\"/ci.yaml":                                                   nil,
	"exec 3<> deep/.github/workflows/ci.yaml; echo x >&3":                                              nil,
	"d=deep; echo x > $d/.github/workflows/ci.yaml":                                                    nil,
	"cd deep/.github && echo x > workflows/ci.yaml":                                                    nil,
	"cd deep && (cd .github/workflows; date | tee ci.yaml)":                                            nil,
	"bash -c 'sed -i s/on/off/ deep/.github/workflows/ci.yaml'":                                        nil,
	"rm deep/.github/workflows/ci.yaml":                                                                nil,
	"mv deep/.github/workflows deep/away":                                                              nil,
	"cp fine deep/.github/workflows/ci.yaml":                                                           nil,
	"echo x > shortcut/ci.yaml":                                                                        nil,
	"echo x > ci.yaml":                                                                                 {"workdir": "deep/.github/workflows"},
	"echo x > workflows/ci.yaml":                                                                       {"workdir": "deep/.github"},
	"date | dd of=.github/workflows/ci.yaml":                                                           {"workdir": "deep"},
	"apply_patch <<'E'\n" + deeperPatch + "\nE":                                                        {"workdir": "deep/.github"},
	"bash -c \"cd deep && bash -c 'cd .github; echo > workflows/ci.yaml'\"":                            nil,
	"env -C deep tee .github/workflows/ci.yaml < /dev/null":                                            nil,
	"CDPATH=deep; cd .github/workflows; echo x > ci.yaml":                                              nil,
	"sed -i s/on/off/ deep/.github/workflows/ci.yaml fine":                                             nil,
	"cp -t deep/.github/workflows fine; mv deep/.github/workflows/fine deep/.github/workflows/ci.yaml": nil,
	"ln -sfn .github/workflows deep/way; echo x > deep/way/ci.yaml":                                    nil,
	"echo x > deep/.git''hub/workflows/ci.yaml\n((":                                                    nil,
	"echo x > .github/workflows/ci.yaml\n((":                                                           {"workdir": "deep"},
}

const deeperPatch = "*** Begin Patch\n*** Update File: workflows/ci.yaml\n@@\n-on: push\n+on: pull\n*** End Patch"

// deeperWorld has a protected path that is not at the top of the workspace.
func deeperWorld(t *testing.T, config string) *world {
	t.Helper()
	w := newWorld(t, options{config: config, mute: "there are many turns"})
	w.write("workspace/fine", "fine\n")
	w.restore()
	if err := os.Symlink("deep/.github/workflows", filepath.Join(w.workspace, "shortcut")); err != nil {
		t.Fatal(err)
	}
	return w
}

const deeperFile = "workspace/deep/.github/workflows/ci.yaml"

// restore reports whether the file was changed, and makes it what it was.
func (w *world) restore() (changed bool) {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.root, deeperFile))
	w.write(deeperFile, "on: push\n")
	return err != nil || string(b) != "on: push\n"
}

// Codex alone lets each of the lines change the file.
func TestLinesIntoDeeperProtectedPathsControl(t *testing.T) {
	t.Parallel()
	w := deeperWorld(t, "")
	r := w.refuser(codexPath, "app-server")
	thread := r.thread(map[string]any{"approvalPolicy": "never", "sandbox": "workspace-write"})
	for line, more := range deeper {
		if r.exec(thread, line, more); !w.restore() {
			t.Errorf("%s: nothing happened; the model was told %q", line, w.told())
		}
	}
	r.quit()
}

// A command that names a file in a deeper protected path to change it leaves the sandbox.
func TestLinesIntoDeeperProtectedPaths(t *testing.T) {
	t.Parallel()
	w := deeperWorld(t, governsConfig)
	r := w.refuser(proxyArgv...)
	thread := r.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	for line, more := range deeper {
		asked := r.exec(thread, line, more)
		if told := w.told(); w.restore() || len(asked) != 0 || !strings.Contains(told, "protected_paths") {
			t.Errorf("%s: asked %d times; the model was told %q", line, len(asked), told)
		}
	}
	for line, more := range map[string]map[string]any{ // and these are no such changes
		"cat deep/.github/workflows/ci.yaml > copy && cp deep/.github/workflows/ci.yaml copy": nil,
		"echo x > deep/.github/fine; touch deep/.github/workflow":                             nil,
		"grep on ci.yaml > ../../fine":                                                        {"workdir": "deep/.github/workflows"},
		"sed -i s/.github/x/ fine; env -C deep cat .github/workflows/ci.yaml":                 nil,
	} {
		if asked := r.exec(thread, line, more); len(asked) != 0 || !strings.Contains(w.told(), "exited with code 0") {
			t.Errorf("%s: asked %q, the model was told %q", line, asked, w.told())
		}
	}
	r.quit()
}

// A call with prefix_rule alone runs inside of the sandbox, without a question of Codex's. Its line is judged like
// that of any other call: a person is asked.
func TestLinesOfCallsWithPrefixRule(t *testing.T) {
	t.Parallel()
	w := deeperWorld(t, governsConfig+"escalation = \"ask\"\n")
	r := w.refuser(proxyArgv...)
	thread := r.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	rule := map[string]any{"prefix_rule": []string{"touch"}}
	for line, questions := range map[string]int{"touch deep/.github/workflows/new": 1, "touch deep/new": 0} {
		if asked := r.exec(thread, line, rule); len(asked) != questions || w.left("workspace/"+strings.TrimPrefix(line, "touch ")) != (questions == 0) {
			t.Errorf("%s: asked %q, the model was told %q", line, asked, w.told())
		}
	}
	r.quit()
}
