//go:build linux

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// escalationConfig allows the threads of the tests, and by rule the model's commands.
const escalationConfig = `
[policy]
approval = ["on-request", "untrusted"]
sandbox = "workspace-write"
[[policy.rule]]
command = "touch **"
decision = "allow"
`

// acceptingEditor accepts every question for as long as possible.
type acceptingEditor struct {
	*conversation
	mu      sync.Mutex
	reasons []string // of the questions
}

// longestYes returns the longest yes among the options of a question.
func longestYes(m editor.Message) any {
	var params struct{ AvailableDecisions []json.RawMessage }
	if json.Unmarshal(m.Params, &params) != nil {
		return decision("accept")
	}
	for _, wish := range []string{"acceptWith", "acceptForSession"} {
		for _, offered := range params.AvailableDecisions {
			if strings.Contains(string(offered), wish) {
				return map[string]any{"decision": offered}
			}
		}
	}
	return decision("accept")
}

func (w *world) newAcceptingEditor(argv ...string) *acceptingEditor {
	w.t.Helper()
	a := w.newUninitializedEditor(false, argv...)
	a.initialize(nil)
	return a
}

// newUninitializedEditor is newAcceptingEditor before initialize. With errs the editor answers
// questions with an error, as a client that does not know them.
func (w *world) newUninitializedEditor(errs bool, argv ...string) *acceptingEditor {
	w.t.Helper()
	if len(argv) == 0 {
		argv = proxyArgv
	}
	a := &acceptingEditor{}
	a.conversation = &conversation{world: w, ctx: deadline(w.t), Editor: w.start(argv, editor.Options{
		Answer: func(_ context.Context, m editor.Message) (any, *editor.Error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.reasons = append(a.reasons, m.Param("reason"))
			if errs {
				return nil, &editor.Error{Code: -32601, Message: "Unsupported server request: " + m.Method}
			}
			return longestYes(m), nil
		},
	})}
	return a
}

// questions returns the number of questions since the last turnWith.
func (a *acceptingEditor) questions() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.reasons)
}

// turn runs one turn and returns the reasons of its questions.
func (a *acceptingEditor) turn(thread, text string) []string {
	a.t.Helper()
	return a.turnWith(thread, text, nil)
}

// turnWith is turn with more members of turn/start.
func (a *acceptingEditor) turnWith(thread, text string, more map[string]any) []string {
	a.t.Helper()
	a.mu.Lock()
	a.reasons = nil
	a.mu.Unlock()
	turn, mark := a.startTurnWith(thread, text, more)
	a.waitTurn(thread, turn, mark)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reasons
}

// lastToolOutput returns the last tool output that the model got.
func (w *world) lastToolOutput() string {
	requests := w.model.Requests()
	outputs := requests[len(requests)-1].ToolOutputs()
	if len(outputs) == 0 {
		return ""
	}
	return outputs[len(outputs)-1]
}

// escalates returns the user's text for a command outside the sandbox, without a reason.
func (w *world) escalates(name string) string {
	return fmt.Sprintf(`CALL: exec_command {"cmd":"touch %s","sandbox_permissions":"require_escalated"}`, filepath.Join(w.root, name))
}

var confined = map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"}

// With Codex alone the command leaves the sandbox when the editor accepts.
func TestEscalationControl(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	a := w.newAcceptingEditor(codexPath, "app-server")
	thread := a.thread(confined)
	if asked := a.turn(thread, w.escalates("command")); len(asked) != 1 || !w.hasFile("command") {
		t.Errorf("questions %q, file of the command: %v", asked, w.hasFile("command"))
	}
	if asked := a.turn(thread, "PATCH: "+filepath.Join(w.root, "patch")+"\nx"); len(asked) != 1 || !w.hasFile("patch") {
		t.Errorf("questions %q, file of the patch: %v", asked, w.hasFile("patch"))
	}
	a.closeAndWait()
}

// Under a policy no command leaves the sandbox, whatever the editor or a rule accepts, and the
// model gets the reason: on a new, a forked and a resumed thread.
func TestEscalationDenied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: escalationConfig})
	tries := func(a *acceptingEditor, thread, name string) {
		t.Helper()
		for what, text := range map[string]string{
			"command":   w.escalates("out"),
			"patch":     "PATCH: " + filepath.Join(w.root, "out") + "\nx",
			"protected": "PATCH: " + filepath.Join(w.workspace, ".git", "out") + "\nx",
		} {
			if asked := a.turn(thread, text); len(asked) > 0 || w.hasFile("out") || w.hasFile("workspace/.git/out") {
				t.Errorf("%s, %s: it left the sandbox, or the editor got questions %q", name, what, asked)
			}
			if told := w.lastToolOutput(); !strings.Contains(told, "it would leave the sandbox") {
				t.Errorf("%s, %s: the model got %q", name, what, told)
			}
		}
	}
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(confined)
	tries(a, thread, "fresh")
	fork := editor.Member(a.must("thread/fork", map[string]any{"threadId": thread, "cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": "read-only"}), "thread", "id")
	tries(a, fork, "forked")
	a.closeAndWait()
	a = w.newAcceptingEditor(proxyArgv...)
	a.resume(thread, map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"})
	tries(a, thread, "resumed")
	a.closeAndWait()
}

// The question to the user has the reason.
func TestEscalationAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: strings.Replace(escalationConfig, "[policy]", "[policy]\nescalation = \"ask\"", 1)})
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(confined)
	for what, text := range map[string]string{"command": w.escalates("command"), "patch": "PATCH: " + filepath.Join(w.root, "patch") + "\nx"} {
		asked := a.turn(thread, text)
		if len(asked) != 1 || !strings.HasPrefix(asked[0], "[codex-bridge: leaves the sandbox] ") || !w.hasFile(what) {
			t.Errorf("%s: questions %q, file %v", what, asked, w.hasFile(what))
		}
	}
	a.closeAndWait()
}

// A rule may allow a command inside the sandbox. Under Codex's untrusted an accept could let it
// out, so the bridge asks the user.
func TestRuleAccepts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: escalationConfig})
	w.write("home/rules/default.rules", "prefix_rule(pattern=[\"touch\"], decision=\"prompt\")\n")
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(confined)
	for _, again := range []string{"first", "second"} {
		if asked := a.turn(thread, "RUN: touch "+filepath.Join(w.root, "out")); len(asked) > 0 || w.hasFile("out") {
			t.Errorf("%s: questions %q, or it left the sandbox", again, asked)
		}
		if told := w.lastToolOutput(); !strings.Contains(told, "Process exited with code 1") {
			t.Errorf("%s: the model got %q", again, told)
		}
	}
	untrusted := map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"}
	thread = a.thread(untrusted)
	if asked := a.turn(thread, "RUN: touch "+filepath.Join(w.workspace, "inside")); len(asked) > 0 {
		t.Errorf("questions under untrusted: %q", asked)
	}
	a.closeAndWait()

	w = newWorld(t, options{config: strings.Replace(escalationConfig, "[policy]", "[policy]\ngate = false", 1)})
	a = w.newAcceptingEditor(proxyArgv...)
	thread = a.thread(untrusted)
	if asked := a.turn(thread, "RUN: touch "+filepath.Join(w.workspace, "inside")); len(asked) != 1 {
		t.Errorf("questions without the gate: %q", asked)
	}
	a.closeAndWait()
}

// Commands in code mode have no separate call: they count as escalations.
func TestEscalationInCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codexConfig: "suppress_unstable_features_warning = true\n[features]\ncode_mode = true\n", config: escalationConfig})
	command := "touch " + filepath.Join(w.root, "out")
	w.model.Add(scripted.Step{When: "CODE", Reply: scripted.Reply{scripted.CustomCall{
		Tool: "exec", Input: fmt.Sprintf("text(JSON.stringify(await tools.exec_command({cmd:%q,sandbox_permissions:\"require_escalated\"})))", command),
	}}})
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"})
	// Their shell is unknown, so no rule allows them: the bridge asks the user and declines Codex's
	// own question.
	if asked := a.turn(thread, "CODE"); len(asked) != 1 || !strings.HasSuffix(asked[0], "(shell: unknown)") || w.hasFile("out") {
		t.Errorf("it left the sandbox, or the editor got questions %q", asked)
	}
	if told := w.lastToolOutput(); !strings.Contains(told, "rejected by user") {
		t.Errorf("the model got %q", told)
	}
	a.closeAndWait()
}
