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

	"codex-bridge/cmd/internal/editor"
	"codex-bridge/cmd/internal/scripted"
)

// escalationConfig lets a thread be what the tests need, and allows by rule what the
// model asks for.
const escalationConfig = `
[policy]
approval = ["on-request", "untrusted"]
sandbox = "workspace-write"
[[policy.rule]]
command = "touch **"
decision = "allow"
`

// agreeable is an editor that accepts whatever it is asked, for as long as it can.
type agreeable struct {
	*conversation
	mu      sync.Mutex
	reasons []string // of the questions
}

// longest is the yes that lasts longest of those that a question offers.
func longest(m editor.Message) any {
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

func (w *world) agreeable(argv ...string) *agreeable {
	w.t.Helper()
	a := &agreeable{}
	a.conversation = &conversation{world: w, ctx: deadline(w.t), Editor: w.start(argv, editor.Options{
		Answer: func(_ context.Context, m editor.Message) (any, *editor.Error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.reasons = append(a.reasons, m.Param("reason"))
			return longest(m), nil
		},
	})}
	a.initialize(nil)
	return a
}

// turn has the model do one thing, and returns the reasons of what was asked for it.
func (a *agreeable) turn(thread, text string) []string {
	a.t.Helper()
	a.mu.Lock()
	a.reasons = nil
	a.mu.Unlock()
	turn, mark := a.begin(thread, text)
	a.end(thread, turn, mark)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reasons
}

// told is the last that the model was told of a call.
func (w *world) told() string {
	requests := w.model.Requests()
	outputs := requests[len(requests)-1].ToolOutputs()
	if len(outputs) == 0 {
		return ""
	}
	return outputs[len(outputs)-1]
}

// escalates is what the model says to leave the sandbox, without a reason.
func (w *world) escalates(name string) string {
	return fmt.Sprintf(`CALL: exec_command {"cmd":"touch %s","sandbox_permissions":"require_escalated"}`, filepath.Join(w.root, name))
}

var confined = map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"}

// Codex alone lets it out, as soon as the editor accepts.
func TestEscalationControl(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	a := w.agreeable(codexPath, "app-server")
	thread := a.thread(confined)
	if asked := a.turn(thread, w.escalates("command")); len(asked) != 1 || !w.left("command") {
		t.Errorf("asked %q, the command left its file: %v", asked, w.left("command"))
	}
	if asked := a.turn(thread, "PATCH: "+filepath.Join(w.root, "patch")+"\nx"); len(asked) != 1 || !w.left("patch") {
		t.Errorf("asked %q, the patch left its file: %v", asked, w.left("patch"))
	}
	a.quit()
}

// Under a policy nothing gets out, whoever accepts and whatever a rule allows, and the
// model is told why: on a fresh, a forked and a cold resumed thread.
func TestEscalationDenied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: escalationConfig})
	tries := func(a *agreeable, thread, name string) {
		t.Helper()
		for what, text := range map[string]string{
			"command":   w.escalates("out"),
			"patch":     "PATCH: " + filepath.Join(w.root, "out") + "\nx",
			"protected": "PATCH: " + filepath.Join(w.workspace, ".git", "out") + "\nx",
		} {
			if asked := a.turn(thread, text); len(asked) > 0 || w.left("out") || w.left("workspace/.git/out") {
				t.Errorf("%s, %s: it got out, or the editor was asked: %q", name, what, asked)
			}
			if told := w.told(); !strings.Contains(told, "it would leave the sandbox") {
				t.Errorf("%s, %s: the model was told %q", name, what, told)
			}
		}
	}
	a := w.agreeable(proxyArgv...)
	thread := a.thread(confined)
	tries(a, thread, "fresh")
	fork := editor.Member(a.must("thread/fork", map[string]any{"threadId": thread, "cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": "read-only"}), "thread", "id")
	tries(a, fork, "forked")
	a.quit()
	a = w.agreeable(proxyArgv...)
	a.resume(thread, map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"})
	tries(a, thread, "resumed")
	a.quit()
}

// Where the person is to be asked, the question says what it is about.
func TestEscalationAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: strings.Replace(escalationConfig, "[policy]", "[policy]\nescalation = \"ask\"", 1)})
	a := w.agreeable(proxyArgv...)
	thread := a.thread(confined)
	for what, text := range map[string]string{"command": w.escalates("command"), "patch": "PATCH: " + filepath.Join(w.root, "patch") + "\nx"} {
		asked := a.turn(thread, text)
		if len(asked) != 1 || !strings.HasPrefix(asked[0], "[codex-bridge: leaves the sandbox] ") || !w.left(what) {
			t.Errorf("%s: asked %q, left %v", what, asked, w.left(what))
		}
	}
	a.quit()
}

// What stays in the sandbox a rule may allow, in the person's place. Under codex's own
// untrusted an accept could let it out, and the person is asked.
func TestRuleAccepts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: escalationConfig})
	w.write("home/rules/default.rules", "prefix_rule(pattern=[\"touch\"], decision=\"prompt\")\n")
	a := w.agreeable(proxyArgv...)
	thread := a.thread(confined)
	for _, again := range []string{"first", "second"} {
		if asked := a.turn(thread, "RUN: touch "+filepath.Join(w.root, "out")); len(asked) > 0 || w.left("out") {
			t.Errorf("%s: the editor was asked %q, or it got out", again, asked)
		}
		if told := w.told(); !strings.Contains(told, "Process exited with code 1") {
			t.Errorf("%s: the model was told %q", again, told)
		}
	}
	untrusted := map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"}
	thread = a.thread(untrusted)
	if asked := a.turn(thread, "RUN: touch "+filepath.Join(w.workspace, "inside")); len(asked) > 0 {
		t.Errorf("under untrusted the editor was asked %q", asked)
	}
	a.quit()

	w = newWorld(t, options{config: strings.Replace(escalationConfig, "[policy]", "[policy]\ngate = false", 1)})
	a = w.agreeable(proxyArgv...)
	thread = a.thread(untrusted)
	if asked := a.turn(thread, "RUN: touch "+filepath.Join(w.workspace, "inside")); len(asked) != 1 {
		t.Errorf("without the gate the editor was asked %q", asked)
	}
	a.quit()
}

// The commands of code mode have no call of their own: they count as ones that leave.
func TestEscalationInCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codexConfig: "suppress_unstable_features_warning = true\n[features]\ncode_mode = true\n", config: escalationConfig})
	command := "touch " + filepath.Join(w.root, "out")
	w.model.Add(scripted.Step{When: "CODE", Reply: scripted.Reply{scripted.CustomCall{
		Tool: "exec", Input: fmt.Sprintf("text(JSON.stringify(await tools.exec_command({cmd:%q,sandbox_permissions:\"require_escalated\"})))", command),
	}}})
	a := w.agreeable(proxyArgv...)
	thread := a.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"})
	// Nor is their shell known, so that no rule allows them: the person is asked, and then
	// codex's own question is declined.
	if asked := a.turn(thread, "CODE"); len(asked) != 1 || asked[0] != "shell: unknown" || w.left("out") {
		t.Errorf("it got out, or the editor was asked: %q", asked)
	}
	if told := w.told(); !strings.Contains(told, "rejected by user") {
		t.Errorf("the model was told %q", told)
	}
	a.quit()
}
