//go:build linux

package e2e_test

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/scripted"
)

// unloadAtOnce makes Codex unload threads without a client after a second instead of half an hour.
const unloadAtOnce = "thread_unload_delay_secs = 1\n"

// unload makes Codex unload a thread.
func (a *acceptingEditor) unload(thread string) {
	mark := a.Mark()
	a.must("thread/unsubscribe", map[string]any{"threadId": thread})
	a.waitFor(mark, "thread/closed", nil)
}

// An agent started by a wider turn stays loaded when Codex unloads its parent. A narrower turn
// can't give it work by its name, even after the parent was resumed.
func TestNamedAgentOfUnloadedThread(t *testing.T) {
	t.Parallel()
	for name, argv := range map[string][]string{"bridge": proxyArgv, "control: Codex alone": {codexPath, "app-server"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{mute: "many", config: gitConfig, codexConfig: unloadAtOnce + "[features.multi_agent_v2]\nenabled = true\ntool_namespace = \"team\"\n"})
			a := w.newAcceptingEditor(argv...)
			thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			turn, mark := a.startTurn(thread, `CALL: team/spawn_agent {"task_name":"a","message":"SAY: hello","fork_turns":"none"}`)
			a.waitTurn(thread, turn, mark)
			a.waitAgentTurn(thread, mark)
			a.unload(thread)
			a.must("thread/resume", map[string]any{"threadId": thread, "sandbox": "read-only"})
			w.model.Add(scripted.Step{When: "BEGIN", Reply: scripted.Reply{scripted.Call{Tool: "followup_task", Namespace: "team", Arguments: []byte(`{"target":"a","message":"AGENT"}`)}}})
			for range 2 { // for the thread and for its agent
				w.model.Add(scripted.Step{When: "", Reply: scripted.Reply{scripted.Run("touch made")}})
			}
			turn, mark = a.startTurn(thread, "BEGIN")
			a.waitTurn(thread, turn, mark)
			refused := false
			for _, r := range w.model.Requests() {
				for _, output := range r.ToolOutputs() {
					refused = refused || strings.Contains(output, "can't be identified")
				}
			}
			if name != "bridge" { // the agent works after the end of its parent's turn
				a.waitFile(filepath.Join(w.workspace, "made"))
			}
			if want := name == "bridge"; refused != want || w.hasFile("workspace/made") == want {
				t.Errorf("refused %v, made %v", refused, w.hasFile("workspace/made"))
			}
			a.closeAndWait()
		})
	}
}

// Codex has loaded a thread with a profile that the bridge does not know: the profile may lack a
// path that was protected later. Such a thread does not open.
func TestLoadedThreadWithUnknownProfile(t *testing.T) {
	t.Parallel()
	const config = "[codex]\nshutdown_grace = \"1m\"\nmax_message = \"%s\"\n[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\n"
	child := func(a *acceptingEditor, thread string) string {
		id, _ := a.spawnAgent(thread, "SAY: hello")
		return id
	}
	for name, test := range map[string]struct {
		maxMessage   string
		instructions int                                            // length of baseInstructions
		load         func(a *acceptingEditor, thread string) string // returns the thread to resume
		unload       func(a *acceptingEditor, thread string)        // nil: the parent stays loaded
	}{
		"agent of a loaded thread":    {load: child},
		"agent of an unloaded thread": {load: child, unload: func(a *acceptingEditor, thread string) { a.unload(thread) }},
		"agent of an unloaded, resumed thread": {load: child, unload: func(a *acceptingEditor, thread string) {
			a.unload(thread)
			a.must("thread/resume", map[string]any{"threadId": thread})
		}},
		"agent with a long first line": {load: child, instructions: 1_200_000},
		"fork whose answer is too long": {maxMessage: "256KiB", load: func(a *acceptingEditor, thread string) string {
			a.turn(thread, "SAY: "+strings.Repeat("x", 200_000))
			a.turn(thread, "SAY: "+strings.Repeat("y", 200_000))
			mark := a.Mark()
			_, _ = a.Call(a.ctx, "thread/fork", map[string]any{"threadId": thread}) // the bridge returns an error
			return a.waitFor(mark, "thread/started", nil).Param("thread", "id")
		}},
	} {
		for by, argv := range map[string][]string{"bridge": proxyArgv, "control: Codex alone": {codexPath, "app-server"}} {
			if !isSampledName(2, name+"/"+by) {
				continue
			}
			t.Run(name+"/"+by, func(t *testing.T) {
				t.Parallel()
				base := fmt.Sprintf(config, cmp.Or(test.maxMessage, "64MiB"))
				w := newWorld(t, options{config: base + "protected_paths = [\".github\"]\n", mute: "the configuration changes, and lines are long", codexConfig: unloadAtOnce})
				w.write("workspace/secrets/key", "old")
				w.write("workspace/write.sh", "echo new > secrets/key")
				bridge := by == "bridge"
				a := w.newAcceptingEditor(argv...)
				params := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
				if test.instructions > 0 {
					params["baseInstructions"] = strings.Repeat("x", test.instructions)
				}
				thread := a.thread(params)
				id := test.load(a, thread)
				if bridge {
					w.write("config.toml", base+"protected_paths = [\".github\", \"secrets\"]\n")
					if _, err := a.WaitStderr(a.ctx, func(text string) bool { return strings.Contains(text, "still checked against the policies") }); err != nil {
						t.Fatal(err)
					}
				}
				if test.unload != nil {
					test.unload(a, thread)
				}
				_, err := a.Call(a.ctx, "thread/resume", map[string]any{"threadId": id, "excludeTurns": true, "sandbox": "workspace-write"})
				if bridge {
					if err == nil || err.Code != -32013 {
						t.Errorf("the resume: %v", err)
					}
				} else {
					if err != nil {
						t.Fatal(err)
					}
					a.turn(id, "RUN: sh write.sh")
				}
				if got := strings.TrimSpace(w.read("workspace/secrets/key")); (got == "old") != bridge {
					t.Errorf("content %q", got)
				}
				a.closeAndWait()
			})
		}
	}
}

// The policy file of a thread's folder also counts for its agents after Codex unloaded the thread
// and the client resumed it in another folder.
func TestAgentOfUnloadedThreadKeepsPolicyOfItsFolder(t *testing.T) {
	t.Parallel()
	for name, argv := range map[string][]string{"bridge": proxyArgv, "control: Codex alone": {codexPath, "app-server"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{mute: "many", config: "[policy]\nsandbox = \"workspace-write\"\n", codexConfig: unloadAtOnce})
			other := filepath.Join(w.root, "other")
			w.write("config.toml", fmt.Sprintf(unhurriedCodex+`[policy]
approval = ["on-request"]
sandbox = "workspace-write"
writable_roots = ["${workspace}", %q]
protected_paths = [".git", ".codex", ".agents", "zeta"]
`, other))
			w.repositoryIn("other")
			w.write("other/.codex-bridge.toml", "[[policy.rule]]\ncommand = \"touch **\"\ndecision = \"deny\"\n")
			a := w.newAcceptingEditor(argv...)
			thread := a.thread(map[string]any{"cwd": other, "approvalPolicy": "on-request", "sandbox": "workspace-write"})
			w.model.Add(scripted.Step{When: "FIRST", Reply: scripted.Reply{scripted.Run("touch made; echo SECOND")}})
			message := "RUN: echo > started; while [ ! -e go ]; do sleep 0.05; done; echo FI''RST"
			turn, mark := a.startTurn(thread, fmt.Sprintf("CALL: multi_agent_v1/spawn_agent {\"message\":%q}", message))
			a.waitTurn(thread, turn, mark)
			a.waitFile(filepath.Join(other, "started"))
			a.unload(thread)
			// The bridge may refuse the resume: the policy of the other folder contradicts it.
			_, _ = a.Call(a.ctx, "thread/resume", map[string]any{"threadId": thread, "cwd": w.workspace, "sandbox": "workspace-write", "excludeTurns": true})
			w.write("other/go", "")
			for done := false; !done; {
				for _, r := range w.model.Requests() {
					for _, output := range r.ToolOutputs() {
						done = done || strings.Contains(output, "SECOND") || strings.Contains(output, "denied") || strings.Contains(output, "a rule says")
					}
				}
				if a.ctx.Err() != nil {
					t.Fatal("the agent does not continue")
				}
				time.Sleep(10 * time.Millisecond)
			}
			if got, want := w.hasFile("other/made"), name != "bridge"; got != want {
				t.Errorf("made %v", got)
			}
			a.closeAndWait()
		})
	}
}
