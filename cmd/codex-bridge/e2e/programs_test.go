//go:build linux

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// plantProgram writes a program that creates the file RAN in a place that commands can't write, and
// returns it.
func (w *world) plantProgram() string {
	w.t.Helper()
	program := w.write("planted", "#!/bin/sh\ntouch "+filepath.Join(w.root, "RAN")+"\n")
	if err := os.Chmod(program, 0o700); err != nil {
		w.t.Fatal(err)
	}
	return program
}

// Codex runs git by name outside the sandbox. A command that can write a folder of PATH could put
// another git there.
func TestCommandsCannotPlantPrograms(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		folder string // in PATH, below the world's root
		made   bool   // it exists before
		plant  string // $IN is the folder, $PROGRAM the program
	}{
		"git":                        {"workspace/.venv/bin", true, "cp $PROGRAM $IN/git"},
		"git, in a new folder":       {"workspace/node_modules/.bin", false, "mkdir -p $IN && cp $PROGRAM $IN/git"},
		"git, in a replaced folder":  {"workspace/.venv/bin", true, "mv .venv old; mkdir -p $IN && cp $PROGRAM $IN/git"},
		"git, in a temporary folder": {"home.tmp/bin", true, "cp $PROGRAM $IN/git"},
	} {
		for who, argv := range map[string][]string{"control": {codexPath, "app-server"}, "bridge": proxyArgv} {
			if !isSampledName(2, name+" "+who) {
				continue
			}
			t.Run(name+" "+who, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options{config: gitConfig})
				in := filepath.Join(w.root, test.folder)
				if test.made {
					if err := os.MkdirAll(in, 0o700); err != nil {
						t.Fatal(err)
					}
				}
				w.write("workspace/sub/file", "")
				w.env = append(w.env, "PATH="+in+":"+os.Getenv("PATH"))
				a := w.newAcceptingEditor(argv...)
				thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
				a.turn(thread, "RUN: "+strings.NewReplacer("$IN", in, "$PROGRAM", w.plantProgram()).Replace(test.plant)+"; touch fine")
				planted := w.lastToolOutput()
				if !w.hasFile("workspace/fine") {
					t.Errorf("no ordinary command ran: %q", planted)
				}
				a.turn(thread, "good day")
				if w.hasFile("RAN") != (who == "control") {
					t.Errorf("the planted program ran: %v; %q; %q", w.hasFile("RAN"), planted, w.lastToolOutput())
				}
				a.CloseInput()
			})
		}
	}
}

// The bridge's program can't be replaced in a temporary folder, or in a root that a turn makes
// writable.
func TestBridgeInOtherWritableFolders(t *testing.T) {
	t.Parallel()
	program, err := os.ReadFile(proxyPath)
	if err != nil {
		t.Fatal(err)
	}
	for name, folder := range map[string]string{"temporary folder": "home.tmp/bin", "a root": "go/bin"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: movedConfig})
			w.write("config.toml", fmt.Sprintf(movedConfig, w.root+"/go", w.root+"/plain")+withLongGrace(movedConfig))
			w.write("plain/file", "")
			at := w.write(folder+"/codex-bridge", string(program))
			if err := os.Chmod(at, 0o700); err != nil {
				t.Fatal(err)
			}
			a := w.newAcceptingEditor(at, "app-server")
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			roots := map[string]any{"sandboxPolicy": map[string]any{"type": "workspaceWrite", "writableRoots": []string{w.root + "/go", w.root + "/plain"}}}
			turn, mark := a.startTurnWith(thread, "RUN: mv "+filepath.Dir(at)+" "+filepath.Dir(at)+".gone; mkdir "+filepath.Dir(at)+"; echo x > "+at+"", roots)
			a.waitTurn(thread, turn, mark)
			if now, err := os.ReadFile(at); err != nil || string(now) != string(program) {
				t.Errorf("a command replaced the program: %q", w.lastToolOutput())
			}
			a.CloseInput()
		})
	}
}

// With a grant of more permissions, commands still can't write files that control the thread, or a
// program that runs outside the sandbox.
func TestGrantsOfWhatGoverns(t *testing.T) {
	t.Parallel()
	files := map[string]string{"policy file": ".codex-bridge.toml", "protected path": ".github/workflows/ci.yaml", "program": ".venv/bin/git"}
	places := map[string]string{" itself": "", " by its folder": "/..", " by the workspace": "/../../.."}
	for i, name := range slices.Sorted(maps.Keys(files)) {
		for who, argv := range map[string][]string{"control": {codexPath, "app-server"}, "bridge": proxyArgv, "bridge, read-only": proxyArgv} {
			for j, above := range slices.Sorted(maps.Keys(places)) {
				if who == "control" && above == " itself" || !isSampled(2, i, j) {
					continue // Codex alone then runs no command
				}
				file, there := files[name], places[above]
				t.Run(name+above+" "+who, func(t *testing.T) {
					t.Parallel()
					w := newWorld(t, options{config: governsConfig, codexConfig: "suppress_unstable_features_warning = true\n[features]\nrequest_permissions_tool = true\n"})
					w.writeGoverning()
					w.write("workspace/.venv/bin/git", "#!/bin/sh\nexec /usr/bin/git \"$@\"\n")
					if who != "control" {
						w.env = append(w.env, "PATH="+w.workspace+"/.venv/bin:"+os.Getenv("PATH"))
					}
					path := filepath.Clean(filepath.Join(w.workspace, file) + there)
					if len(path) < len(w.workspace) {
						path = w.workspace
					}
					before := w.read("workspace/" + file)
					w.model.Add(scripted.Step{When: "PERMIT", Reply: scripted.Reply{scripted.Call{Tool: "request_permissions", Arguments: json.RawMessage(
						`{"reason":"r","permissions":{"file_system":{"write":[` + marshal(t, path) + `]}}}`)}}})
					w.model.Add(scripted.Step{When: "permissions", Reply: scripted.Reply{scripted.Run("echo changed > " + file)}})
					answer := json.RawMessage(`{"permissions":{"fileSystem":{"write":[` + marshal(t, path) + `]}},"scope":"turn"}`)
					a := &conversation{world: w, ctx: deadline(t), Editor: w.start(argv, editor.Options{
						Answer: func(context.Context, editor.Message) (any, *editor.Error) { return answer, nil },
					})}
					a.initialize(map[string]any{"experimentalApi": true})
					sandbox := "workspace-write"
					if who != "bridge" {
						sandbox = "read-only"
					}
					thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": sandbox})
					turn, mark := a.startTurn(thread, "PERMIT")
					a.waitTurn(thread, turn, mark)
					if changed := w.read("workspace/"+file) != before; changed != (who == "control") {
						t.Errorf("changed %v; %q", changed, w.lastToolOutput())
					}
					a.CloseInput()
				})
			}
		}
	}
}

// A handler's script runs outside the sandbox. A command can't replace one in the workspace, also if
// the configuration names it relative to the workspace.
func TestCommandsCannotReplaceHandlers(t *testing.T) {
	t.Parallel()
	for name, words := range map[string]string{
		"absolute":  `["sh", "$WORKSPACE/scripts/handler.sh"]`,
		"relative":  `["sh", "./scripts/handler.sh"]`,
		"in a text": `["sh", "-c", "exec sh 'scripts/handler.sh'"]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: gitConfig})
			script := w.write("workspace/scripts/handler.sh", "exit 0\n")
			w.handleWith(strings.ReplaceAll(words, "$WORKSPACE", filepath.Join(w.root, "workspace")))
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			for _, line := range []string{"echo exit 1 > " + script, "mv scripts old; mkdir scripts; echo exit 1 > " + script} {
				a.turn(thread, "RUN: "+line+"; touch scripts/beside")
				if w.read("workspace/scripts/handler.sh") != "exit 0\n" || !w.hasFile("workspace/scripts/beside") {
					t.Errorf("%q: script %q; other file in its folder: %v; %q", line, w.read("workspace/scripts/handler.sh"), w.hasFile("workspace/scripts/beside"), w.lastToolOutput())
				}
			}
			a.closeAndWait()
		})
	}
}

// A handler's script that a command writes later does not run.
func TestHandlerThatAppearsDoesNotRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: gitConfig})
	w.handleWith(`["sh", "later.sh"]`)
	a := w.newAcceptingEditor(proxyArgv...)
	before := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	outside := filepath.Join(w.root, "RAN")
	a.turn(before, "RUN: echo touch "+outside+" > later.sh")
	a.turn(before, "RUN: true")
	if w.hasFile("RAN") || !w.hasFile("workspace/later.sh") {
		t.Errorf("the script ran: %v, was written: %v", w.hasFile("RAN"), w.hasFile("workspace/later.sh"))
	}
	// The control: a new thread protects the script, and the handler runs.
	after := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	a.turn(after, "RUN: echo more >> later.sh")
	if !w.hasFile("RAN") || strings.Contains(w.read("workspace/later.sh"), "more") {
		t.Errorf("in a new thread the script ran: %v, and is %q", w.hasFile("RAN"), w.read("workspace/later.sh"))
	}
	a.closeAndWait()
}

// A handler that a changed configuration names is protected in threads that open after the change, and
// does not run in those that were open.
func TestHandlerOfChangedConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: gitConfig})
	script := w.write("workspace/handler.sh", "touch "+filepath.Join(w.root, "HANDLED")+"\n")
	a := w.newUninitializedEditor(false)
	a.initializeWithBridge()
	settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
	before := a.thread(settings)
	mark := a.Mark()
	w.handleWith(fmt.Sprintf(`["sh", %q]`, script))
	a.waitFor(mark, "bridge/config/changed", nil)
	line := "RUN: echo touch " + filepath.Join(w.root, "RAN") + " > " + script
	a.turn(before, line)
	if w.hasFile("RAN") || w.hasFile("HANDLED") {
		t.Errorf("in the open thread the changed script ran: %v, the former: %v", w.hasFile("RAN"), w.hasFile("HANDLED"))
	}
	w.write("workspace/handler.sh", "touch "+filepath.Join(w.root, "HANDLED")+"\n")
	a.turn(a.thread(settings), line)
	if w.hasFile("RAN") || !w.hasFile("HANDLED") {
		t.Errorf("in a new thread the changed script ran: %v, the former: %v; %q", w.hasFile("RAN"), w.hasFile("HANDLED"), w.lastToolOutput())
	}
	a.closeAndWait()
}

// handleWith configures a command as the handler of post_tool_use.
func (w *world) handleWith(command string) {
	w.t.Helper()
	w.write("config.toml", fmt.Sprintf("%s\n[[hooks.handler]]\nevent = \"post_tool_use\"\ncommand = %s\n%s", gitConfig, command, withLongGrace(gitConfig)))
}
