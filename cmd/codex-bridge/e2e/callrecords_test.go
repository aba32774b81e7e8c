//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// touchRule lets touch run in the sandbox without a question.
const touchRule = "[[policy.rule]]\ntool = \"shell\"\ncommand = \"touch **\"\ndecision = \"allow\"\n"

// outside creates a folder that no command may write, and returns its path.
func (w *world) outside() string {
	w.t.Helper()
	folder := filepath.Join(w.root, "outside")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		w.t.Fatal(err)
	}
	return folder
}

// After thread/revert Codex records the thread in another file. A call outside the sandbox is not
// taken for an earlier one inside with its id, and rules still allow commands in the sandbox.
func TestCallsAfterRevert(t *testing.T) {
	t.Parallel()
	for _, escalation := range []string{"ask", "deny"} {
		for _, approval := range []string{"on-request", "untrusted"} {
			if !isSampledName(2, escalation+"/"+approval) {
				continue
			}
			t.Run(escalation+"/"+approval, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options{config: strings.Replace(callIDConfig, `"ask"`, `"`+escalation+`"`, 1) + touchRule, codexConfig: inWorkspace})
				planted := w.outside() + "/planted"
				a := w.answering(func(int, editor.Message) bool { return false })
				thread := a.thread(map[string]any{"approvalPolicy": approval, "sandbox": "workspace-write"})
				run := func(text string, items ...scripted.Item) (turn string) {
					when := text
					for _, item := range items {
						a.model.Add(scripted.Step{When: when, Reply: scripted.Reply{item}})
						when = ""
					}
					a.model.Add(scripted.Step{When: when, Reply: scripted.Reply{scripted.Text("done")}})
					turn, mark := a.startTurn(thread, text)
					a.waitTurn(thread, turn, mark)
					return turn
				}
				run("ONE", commandCall(t, "c1", "touch one", false))
				turn := run("TWO")
				a.must("thread/revert", map[string]any{"threadId": thread, "beforeTurnId": turn})
				run("THREE", commandCall(t, "c3", "touch three", false), commandCall(t, "c4", "touch again", false))
				if a.questions > 0 || !w.hasFile("workspace/three") || !w.hasFile("workspace/again") {
					t.Errorf("%d questions about commands that a rule allows; the model got %q", a.questions, w.lastToolOutput())
				}
				run("FOUR", commandCall(t, "c1", "touch "+planted, true))
				if w.hasFile("outside/planted") {
					t.Error("a command ran outside the sandbox")
				}
			})
		}
	}
}

// The file of a fork does not repeat the shell that Codex stated in the file of its original, also
// after thread/revert. Rules still allow commands there without a question.
func TestForkKeepsShell(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: callIDConfig + touchRule, codexConfig: inWorkspace})
	a := w.answering(func(int, editor.Message) bool { return false })
	run := func(thread, command string) (turn string) {
		turn, mark := a.startTurn(thread, "RUN: "+command)
		a.waitTurn(thread, turn, mark)
		return turn
	}
	fork := func(thread string) (id string) {
		var opened struct{ Thread struct{ ID string } }
		if err := json.Unmarshal(a.must("thread/fork", map[string]any{"threadId": thread, "approvalPolicy": "untrusted", "sandbox": "workspace-write"}), &opened); err != nil {
			t.Fatal(err)
		}
		return opened.Thread.ID
	}
	thread := a.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "workspace-write"})
	run(thread, "touch original")
	forked := fork(thread)
	turn := run(forked, "touch forked")
	a.must("thread/revert", map[string]any{"threadId": forked, "beforeTurnId": turn})
	run(forked, "touch reverted")
	run(fork(forked), "touch again")
	for _, file := range []string{"original", "forked", "reverted", "again"} {
		if !w.hasFile("workspace/" + file) {
			t.Errorf("touch %s did not run", file)
		}
	}
	if a.questions > 0 {
		t.Errorf("%d questions about commands that a rule allows", a.questions)
	}
	if run(forked, "mkdir other"); a.questions != 1 {
		t.Errorf("%d questions about a command that no rule allows", a.questions)
	}
}

// Codex also records outputs of calls that never ran, and those that the provider sends. They do not
// let calls with one id run at the same time.
func TestOutputsDoNotFreeID(t *testing.T) {
	t.Parallel()
	const fileRule = "[[policy.rule]]\ntool = \"file\"\npath = \"${workspace}/**\"\ndecision = \"allow\"\n"
	for n := range 3 {
		t.Run(fmt.Sprintf("unknown tools %d", n), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: callIDConfig + fileRule, codexConfig: inWorkspace})
			outside := w.outside()
			a := w.answering(func(int, editor.Message) bool { return false })
			var unknown, calls scripted.Reply
			for range 60 {
				unknown = append(unknown, scripted.Call{Tool: "no_such_tool", Arguments: []byte(`{}`), ID: "c1"})
			}
			for i := range 30 {
				if i%5 == 2 {
					calls = append(calls, patchCall(t, "c1", "A=1 cd "+outside, fmt.Sprintf("planted%d", i)))
				} else {
					calls = append(calls, patchCall(t, "c1", "", fmt.Sprintf("inside%d", i)))
				}
			}
			a.play("on-request", unknown, calls)
			if planted, _ := filepath.Glob(outside + "/*"); len(planted) > 0 {
				t.Errorf("%d patches were applied outside the workspace", len(planted))
			}
		})
	}
	t.Run("of the provider", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, options{config: callIDConfig, codexConfig: inWorkspace})
		a := w.answering(func(int, editor.Message) bool { return false })
		var calls scripted.Reply
		for n := range 8 {
			calls = append(calls, commandCall(t, "c1", "mktemp at.XXXXXX; sleep 1", false),
				scripted.Raw{"type": "function_call_output", "id": fmt.Sprint("fco_", n), "call_id": "c1", "output": "ended"})
		}
		a.play("on-request", calls)
		if files, _ := filepath.Glob(w.workspace + "/at.*"); len(files) != 1 {
			t.Errorf("%d calls with one id ran at once", len(files))
		}
	})
	t.Run("denied calls", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, options{config: callIDConfig, codexConfig: inWorkspace})
		a := w.answering(func(int, editor.Message) bool { return false })
		var denied, calls scripted.Reply
		for range 8 {
			denied = append(denied, commandCall(t, "c1", "sleep 1", false))
			calls = append(calls, commandCall(t, "c1", "mktemp at.XXXXXX; sleep 1", false))
		}
		a.play("on-request", denied, calls)
		if files, _ := filepath.Glob(w.workspace + "/at.*"); len(files) > 1 {
			t.Errorf("%d calls with one id ran at once", len(files))
		}
	})
}

// A call longer than the part of the file that is read first is not judged by a later one with its
// id.
func TestLongCall(t *testing.T) {
	t.Parallel()
	for _, approval := range []string{"on-request", "untrusted"} {
		for _, config := range []string{strings.Replace(callIDConfig, `"ask"`, `"deny"`, 1) + touchRule, callIDConfig + touchRule, "[policy]\n"} {
			if !isSampledName(2, fmt.Sprint(approval, len(config))) {
				continue
			}
			t.Run(fmt.Sprint(approval, len(config)), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options{config: config, codexConfig: inWorkspace, mute: "long messages"})
				a := w.answering(func(_ int, m editor.Message) bool { return !strings.Contains(m.Param("reason"), "leaves the sandbox") })
				raw, err := json.Marshal(map[string]any{
					"cmd": "touch " + w.outside() + "/planted", "sandbox_permissions": "require_escalated", "justification": strings.Repeat(" ", 4<<20),
				})
				if err != nil {
					t.Fatal(err)
				}
				a.play(approval, scripted.Reply{scripted.Call{Tool: "exec_command", Arguments: raw, ID: "c1"}, commandCall(t, "c1", "touch inside", false)})
				if w.hasFile("outside/planted") {
					t.Error("a command ran outside the sandbox, and nobody was told so")
				}
			})
		}
	}
}

// A rule allows a command of a subagent without a question: the bridge knows the agent's calls, too.
func TestRuleAllowsCommandOfAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: callIDConfig + touchRule, codexConfig: inWorkspace, mute: "many"})
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "workspace-write"})
	turn, mark := a.startTurn(thread, `CALL: multi_agent_v1/spawn_agent {"message":"RUN: touch made"}`)
	a.waitTurn(thread, turn, mark)
	a.waitAgentTurn(thread, mark)
	for _, m := range a.Messages()[mark:] {
		if m.Method == "item/commandExecution/requestApproval" {
			t.Errorf("the client is asked about %s", m.Params)
		}
	}
	if !w.hasFile("workspace/made") {
		t.Errorf("the agent runs no command: %q", w.lastToolOutput())
	}
	a.closeAndWait()
}
