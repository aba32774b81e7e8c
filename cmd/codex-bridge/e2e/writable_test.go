//go:build linux

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// The model gets a folder and then the workspace around it, replaces the folder by a link, and
// writes the link's target. The bridge knows the first grant also after a resume, and a subagent's
// grant.
func TestGrantInEarlierGrant(t *testing.T) {
	t.Parallel()
	for name, argv := range map[string][]string{
		"codex alone": {codexPath, "app-server"}, "one turn": proxyArgv, "a resume in between": proxyArgv, "a subagent": proxyArgv,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: gitConfig, codexConfig: permissionsConfig, mute: "many"})
			w.write("workspace/a/sub/x", "")
			w.write("outside/x", "")
			w.model.Add(scripted.Step{When: "PERMIT", Reply: wants(t, filepath.Join(w.workspace, "a", "sub"))})
			w.model.Add(scripted.Step{When: "permissions", Reply: wants(t, w.workspace)})
			w.model.Add(scripted.Step{When: "permissions", Reply: runs(t, "cd "+w.workspace+" && mv a gone; mkdir a; ln -s "+w.root+"/outside a/sub; echo SWAPPED")})
			w.model.Add(scripted.Step{When: "SWAPPED", Reply: runs(t, "touch "+w.root+"/outside/written; echo DONE")})

			var thread string
			var grants atomic.Int32
			a := &conversation{world: w, ctx: deadline(t)}
			a.Editor = w.start(argv, editor.Options{Answer: func(ctx context.Context, m editor.Message) (any, *editor.Error) {
				if grants.Add(1) == 2 && name == "a resume in between" {
					if _, err := a.Call(ctx, "thread/resume", map[string]any{"threadId": thread}); err != nil {
						t.Error(err)
					}
				}
				return grantsAll(t)(ctx, m)
			}})
			a.initialize(map[string]any{"experimentalApi": true})
			thread = a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"})
			if name == "a subagent" {
				_, mark := a.startTurn(thread, `CALL: multi_agent_v1/spawn_agent {"message":"\u0050ERMIT"}`)
				if _, err := a.Wait(a.ctx, mark, func(m editor.Message) bool {
					return m.Method == "turn/completed" && m.Param("threadId") != thread
				}); err != nil {
					t.Fatal(err)
				}
			} else {
				turn, mark := a.startTurn(thread, "PERMIT")
				a.waitTurn(thread, turn, mark)
			}
			if grants.Load() < 2 { // a resume repeats an open question
				t.Errorf("%d questions", grants.Load())
			}
			if alone := name == "codex alone"; w.hasFile("outside/written") != alone {
				t.Errorf("written outside: %v; the model got %q", !alone, w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}

// A background command of a turn with an outer root replaces the cwd of a later turn, which has
// only an inner root. The bridge refuses that turn.
func TestRootOfEarlierTurn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		argv   []string
		policy string
	}{
		"codex alone":                  {[]string{codexPath, "app-server"}, ""},
		"the bridge":                   {proxyArgv, ""},
		"the bridge, with its profile": {proxyArgv, "protected_paths = [\".github\"]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\n", mute: "many"})
			lib := filepath.Dir(w.write("lib/x", ""))
			sub := filepath.Dir(w.write("lib/a/sub/x", ""))
			w.write("outside/x", "")
			w.write("config.toml", fmt.Sprintf("[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\nwritable_roots = [\"${workspace}\", %q]\n%s", lib, test.policy)+withLongGrace("[policy]"))
			a := w.newAcceptingEditor(test.argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			turn := func(text string, more map[string]any) {
				id, mark := a.startTurnWith(thread, text, more)
				a.waitTurn(thread, id, mark)
			}
			script := "while [ ! -e go ]; do sleep 0.05; done; mv a gone; mkdir a; ln -s " + w.root + "/outside a/sub; sleep 60"
			turn(`CALL: exec_command {"cmd":`+marshal(t, "cd "+lib+"; "+script)+`,"yield_time_ms":500}`, map[string]any{"runtimeWorkspaceRoots": []string{w.workspace, lib}})
			turn("RUN: true", map[string]any{"runtimeWorkspaceRoots": []string{w.workspace}})
			inner := map[string]any{"cwd": sub, "runtimeWorkspaceRoots": []string{sub}}
			if name == "codex alone" {
				turn("RUN: true", inner)
			} else {
				maps.Copy(inner, input(thread, "RUN: true"))
				a.mustFail("turn/start", inner)
			}
			w.write("lib/go", "")
			for {
				if info, err := os.Lstat(sub); err == nil && info.Mode()&os.ModeSymlink != 0 {
					break
				} else if err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Fatal(err)
				}
				if a.ctx.Err() != nil {
					t.Fatal("the background command did not replace the folder")
				}
				time.Sleep(20 * time.Millisecond)
			}
			a.turn(thread, "RUN: touch "+w.root+"/outside/written; pwd -P")
			if alone := name == "codex alone"; w.hasFile("outside/written") != alone {
				t.Errorf("written outside: %v; the model got %q", !alone, w.lastToolOutput())
			}
			if name != "codex alone" && !strings.Contains(w.lastToolOutput(), "workspace") {
				t.Errorf("the next command did not run in the workspace: %q", w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}

// A turn could write the workspace, and its command may still run in the background. In a later
// read-only turn no folder of the workspace is granted.
func TestGrantAfterTurnThatCouldWrite(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		argv    []string
		first   string // the sandbox of the earlier turn
		granted bool
	}{
		"codex alone":       {[]string{codexPath, "app-server"}, "workspaceWrite", true},
		"after one":         {proxyArgv, "workspaceWrite", false},
		"all are read-only": {proxyArgv, "readOnly", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: gitConfig, codexConfig: permissionsConfig})
			w.write("workspace/a/sub/x", "")
			w.model.Add(scripted.Step{When: "PERMIT", Reply: wants(t, filepath.Join(w.workspace, "a", "sub"))})
			w.model.Add(scripted.Step{When: "permissions", Reply: runs(t, "touch a/sub/made; echo DONE")})
			a := &conversation{world: w, ctx: deadline(t), Editor: w.start(test.argv, editor.Options{Answer: grantsAll(t)})}
			a.initialize(map[string]any{"experimentalApi": true})
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"})
			for _, one := range []struct{ text, sandbox string }{{"RUN: true", test.first}, {"PERMIT", "readOnly"}} {
				turn, mark := a.startTurnWith(thread, one.text, map[string]any{"sandboxPolicy": map[string]any{"type": one.sandbox}})
				a.waitTurn(thread, turn, mark)
			}
			if w.hasFile("workspace/a/sub/made") != test.granted {
				t.Errorf("granted %v; the model got %q", !test.granted, w.lastToolOutput())
			}
			a.closeAndWait()
		})
	}
}

const permissionsConfig = "suppress_unstable_features_warning = true\n[features]\nrequest_permissions_tool = true\n"

// runs returns a model's call of a command.
func runs(t *testing.T, command string) scripted.Reply {
	return scripted.Reply{scripted.Call{Tool: "exec_command", Arguments: json.RawMessage(`{"cmd":` + marshal(t, command) + `}`)}}
}

// wants returns a model's request for writable folders.
func wants(t *testing.T, folders ...string) scripted.Reply {
	return scripted.Reply{scripted.Call{
		Tool: "request_permissions", Arguments: json.RawMessage(`{"reason":"r","permissions":{"file_system":{"write":` + marshal(t, folders) + `}}}`),
	}}
}

// grantsAll grants each request for permissions in full.
func grantsAll(t *testing.T) func(context.Context, editor.Message) (any, *editor.Error) {
	return func(_ context.Context, m editor.Message) (any, *editor.Error) {
		var wanted struct{ Permissions json.RawMessage }
		if err := json.Unmarshal(m.Params, &wanted); err != nil {
			t.Error(err)
		}
		return json.RawMessage(`{"permissions":` + string(wanted.Permissions) + `,"scope":"turn"}`), nil
	}
}
