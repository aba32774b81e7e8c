//go:build linux

package e2e_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"codex-bridge/cmd/internal/editor"
)

// subagentsConfig denies and allows by rule, and forbids to leave the sandbox.
const subagentsConfig = `
[policy]
mode = "enforce"
approval = ["on-request", "untrusted"]
sandbox = "workspace-write"
[[policy.rule]]
command = "touch **"
decision = "allow"
[[policy.rule]]
command = "mkdir **"
decision = "deny"
reason = "Folders are made by people."
`

// spawn has a thread's model start a subagent with a task, waits until that is done,
// and returns the subagent's thread, and what it said at last.
func (a *agreeable) spawn(thread, task string) (child, said string) {
	a.t.Helper()
	message, err := json.Marshal(map[string]string{"message": task})
	if err != nil {
		a.t.Fatal(err)
	}
	turn, mark := a.begin(thread, "CALL: multi_agent_v1/spawn_agent "+string(message))
	a.end(thread, turn, mark)
	spawned, err := a.Wait(a.ctx, mark, func(m editor.Message) bool {
		return m.Method == "item/completed" && m.Param("item", "type") == "collabAgentToolCall"
	})
	if err != nil {
		a.t.Fatal(err)
	}
	var item struct {
		Item struct{ ReceiverThreadIDs []string }
	}
	if err := json.Unmarshal(spawned.Params, &item); err != nil || len(item.Item.ReceiverThreadIDs) != 1 {
		a.t.Fatalf("%v: %s", err, spawned.Raw)
	}
	child = item.Item.ReceiverThreadIDs[0]
	if _, err := a.Wait(a.ctx, mark, func(m editor.Message) bool {
		return m.Method == "turn/completed" && m.Param("threadId") == child
	}); err != nil {
		a.t.Fatal(err)
	}
	for _, m := range a.Messages()[mark:] {
		if m.Method == "item/completed" && m.Param("threadId") == child && m.Param("item", "type") == "agentMessage" {
			said = m.Param("item", "text")
		}
	}
	return child, said
}

// asked are the reasons of all that the editor was asked.
func (a *agreeable) asked() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.reasons)
}

// A subagent is held to what its parent is held to: by its hooks, whose reasons its
// model reads, and in its own name, since codex asks under an id that nobody opened.
func TestSubagents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: subagentsConfig})
	a := w.agreeable(proxyArgv...)
	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	a.spawn(thread, "RUN: echo in > inside")
	a.spawn(thread, "PATCH: patched")
	a.present("inside", "patched")
	for name, try := range map[string]struct{ task, reason string }{
		"a rule":    {"RUN: mkdir made", "Folders are made by people"},
		"escalated": {"ESCALATE: touch " + filepath.Join(w.root, "out"), "the model asks for it to run outside of the sandbox"},
		"a patch":   {"PATCH: " + filepath.Join(w.root, "out"), "it would leave the sandbox"},
		"protected": {"PATCH: .git/out", "it would leave the sandbox"},
	} {
		if _, said := a.spawn(thread, try.task); !strings.Contains(said, try.reason) {
			t.Errorf("%s: the subagent's model was told %q", name, said)
		}
	}
	a.absent("made", ".git/out")
	if asked := a.asked(); w.left("out") || len(asked) > 0 {
		t.Errorf("it got out: %v; the editor was asked %q", w.left("out"), asked)
	}
	a.quit()
}

// Where everything is to be asked for the editor is asked about what a subagent does
// inside of the sandbox, and not about what would leave it. A turn of its own the editor
// can't start there.
func TestSubagentsAsk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: subagentsConfig + "[trace]\nenabled = true\n"})
	a := w.agreeable(proxyArgv...)
	thread := a.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "workspace-write"})
	a.spawn(thread, "RUN: touch allowed") // by a rule
	child, _ := a.spawn(thread, "RUN: echo > inside")
	a.present("allowed", "inside")
	if asked := a.asked(); len(asked) != 1 || strings.Contains(asked[0], "leaves the sandbox") {
		t.Errorf("asked %q", asked)
	}
	a.spawn(thread, "ESCALATE: touch "+filepath.Join(w.root, "out"))
	if asked := a.asked(); w.left("out") || len(asked) != 1 {
		t.Errorf("it got out: %v; the editor was asked %q", w.left("out"), asked)
	}
	if err := a.refused("turn/start", input(child, "RUN: touch again")); err.Code != -32013 {
		t.Errorf("a turn of the editor's: %v", err)
	}
	a.quit()

	show := exec.Command(proxyPath, "trace", "show", thread)
	show.Env = w.env
	shown, err := show.CombinedOutput()
	if line := regexp.MustCompile(`(?m)^\S+     agent ` + child[len(child)-4:] + ` tool\.result +commandExecution .*echo > inside`); err != nil || !line.Match(shown) {
		t.Errorf("the trace does not show what the subagent did: %v\n%s", err, shown)
	}
}

// Under "ask" the person is shown that a subagent's command leaves the sandbox, and
// decides.
func TestSubagentsEscalationAsk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: strings.Replace(subagentsConfig, "[policy]", "[policy]\nescalation = \"ask\"", 1)})
	a := w.agreeable(proxyArgv...)
	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	a.spawn(thread, "ESCALATE: touch "+filepath.Join(w.root, "out"))
	const want = "[codex-bridge: leaves the sandbox] the model asks for it to run outside of the sandbox"
	if asked := a.asked(); len(asked) != 1 || asked[0] != want || !w.left("out") {
		t.Errorf("asked %q, the command left its file: %v", asked, w.left("out"))
	}
	a.quit()
}
