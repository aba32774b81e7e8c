//go:build linux

package e2e_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
	"codex-bridge.example/relay/hook"
)

// warningsSince returns the warnings of codex-bridge since mark, with their threads.
func (c *conversation) warningsSince(mark int) (all []string) {
	for _, m := range c.Messages()[mark:] {
		if text := m.Param("message"); m.Method == "warning" && strings.Contains(text, "codex-bridge") {
			all = append(all, m.Param("threadId")+" "+text)
		}
	}
	return all
}

// The user reads each refused call once, with the reason, the rule and its place, unless the user has
// declined the call. A client that knows the bridge gets bridge/policy/applied instead.
func TestUserReadsRefusedCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: hooksPolicy})
	c := w.openDeclining(proxyArgv...)
	thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	for _, call := range []struct{ text, what, reason string }{
		{"RUN: touch a", "touch a", "Nothing is touched here: touch a. The setting is policy.rule in user "},
		{"PATCH: secret/one\nx", "secret/one", "Secrets are written by people: "},
		{"ESCALATE: echo out", "echo out", "The setting is policy.escalation"},
	} {
		mark := c.Mark()
		c.runTurn(thread, call.text)
		got := c.warningsSince(mark)
		if len(got) != 1 || !strings.HasPrefix(got[0], thread+" codex-bridge has refused ") || !strings.Contains(got[0], call.what) ||
			!strings.Contains(got[0], call.reason) || !strings.Contains(got[0], "config.toml") {
			t.Errorf("%s: the user reads %q", call.text, got)
		}
	}
	mark := c.Mark()
	turn, _ := c.startTurn(thread, "RUN: mkdir made")
	if c.waitTurn(thread, turn, mark); len(c.questionsSince(mark)) != 1 || len(c.warningsSince(mark)) > 0 {
		t.Errorf("a declined call: %d questions, warnings %q", len(c.questionsSince(mark)), c.warningsSince(mark))
	}
	c.closeAndWait()

	known := w.open(proxyArgv...)
	known.initialize(map[string]any{"bridge": map[string]any{"version": 1}})
	thread = known.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	mark = known.Mark()
	known.runTurn(thread, "RUN: touch a")
	known.waitFor(mark, "bridge/policy/applied", nil)
	if got := known.warningsSince(mark); len(got) > 0 {
		t.Errorf("a client that knows the bridge gets %q", got)
	}
	known.closeAndWait()
}

// A handler that fails after a call stops nothing. The user reads that, and the decision log has it.
func TestUserReadsFailedHandlers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: hooksPolicy + "\n[[hooks.handler]]\nevent = \"post_tool_use\"\ncommand = [\"sh\", \"-c\", \"cat > /dev/null; exit 1\"]\n"})
	c := w.openDeclining(proxyArgv...)
	thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	mark := c.Mark()
	c.runTurn(thread, "RUN: echo one && echo two")
	if got := c.warningsSince(mark); len(got) != 1 || !strings.HasPrefix(got[0], thread+" codex-bridge: the hook handler ") || !strings.Contains(got[0], "which is asked at post_tool_use, failed: ") {
		t.Errorf("the user reads %q", got)
	}
	c.closeAndWait()
	if log, _, _ := w.runCommand("decisions", "list", "--json"); strings.Count(log, `"hook/postToolUse"`) != 1 {
		t.Errorf("the decision log has\n%s", log)
	}
}

// A handler is not asked about an output that the bridge can't read, and the user reads that. The control is a
// short output.
func TestUserReadsThatOutputIsUnreadable(t *testing.T) {
	t.Parallel()
	const handler = "\n[[hooks.handler]]\nevent = \"post_tool_use\"\ncommand = [\"sh\", \"-c\", \"cat > /dev/null; echo '{\\\"decision\\\":\\\"block\\\",\\\"reason\\\":\\\"BLOCKED\\\"}'\"]\n"
	w := newWorld(t, options{config: hooksPolicy + handler, mute: "the answer is for one tool"})
	c := &conversation{world: w, ctx: deadline(t), Editor: w.start(proxyArgv, editor.Options{Answer: func(_ context.Context, m editor.Message) (any, *editor.Error) {
		output := "short"
		if m.Param("arguments", "size") == "long" {
			output = strings.Repeat("long ", hook.MaxPayload/4)
		}
		return map[string]any{"contentItems": []any{map[string]any{"type": "inputText", "text": output}}, "success": true}, nil
	}})}
	c.initialize(map[string]any{"experimentalApi": true})
	thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write", "dynamicTools": []any{map[string]any{
		"name": "lookup_ticket", "description": "Finds a ticket.", "inputSchema": map[string]any{"type": "object"},
	}}})
	if said := c.toolOutput(thread, `CALL: lookup_ticket {"size":"short"}`); !strings.Contains(said, "BLOCKED") {
		t.Errorf("of a short output the model got %q", said)
	}
	mark := c.Mark()
	if said := c.toolOutput(thread, `CALL: lookup_ticket {"size":"long"}`); !strings.Contains(said, "long long") {
		t.Errorf("of a long output the model got %q", said)
	}
	if got := c.warningsSince(mark); len(got) != 1 || !strings.Contains(got[0], "the hook post_tool_use asked no handler: ") {
		t.Errorf("the user reads %q", got)
	}
	c.closeAndWait()
	if log, _, _ := w.runCommand("decisions", "list", "--json"); strings.Count(log, `"hook/postToolUse"`) != 1 {
		t.Errorf("the decision log has\n%s", log)
	}
}

// The user of codex-acp reads in its chat why a patch was refused.
func TestACPShowsRefusedCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: hooksPolicy})
	lines := w.acp(proxyPath, "agent", "allow_once", "PATCH: secret/one\nx")
	if text := strings.Join(lines, "\n"); !strings.Contains(text, "Warning: codex-bridge has refused") || !strings.Contains(text, "Secrets are written by people: ") {
		t.Errorf("codex-acp shows\n%s", text)
	}
}

// runInRemovedFolder runs a turn whose thread's folder is removed before the model calls a command. It
// returns the conversation, the thread, the status of the turn, and whether the command ran.
func (w *world) runInRemovedFolder(argv ...string) (c *conversation, thread, status string, ran bool) {
	w.t.Helper()
	gone, release := filepath.Join(w.root, "gone"), make(chan struct{})
	if err := os.Mkdir(gone, 0o700); err != nil {
		w.t.Fatal(err)
	}
	w.model.Add(scripted.Step{When: "HOLD", Reply: scripted.Reply{
		scripted.Paused{Until: release}, scripted.Call{Tool: "exec_command", Arguments: json.RawMessage(marshal(w.t, map[string]any{"cmd": "echo x > ran", "workdir": w.workspace}))},
	}})
	c = w.open(argv...)
	c.initialize(nil)
	thread = c.thread(map[string]any{"cwd": gone, "approvalPolicy": "on-request", "sandbox": "danger-full-access"})
	turn, mark := c.startTurn(thread, "HOLD")
	if err := os.Remove(gone); err != nil {
		w.t.Fatal(err)
	}
	close(release)
	status = c.waitTurn(thread, turn, mark)
	return c, thread, status, w.workspaceHasFile("ran")
}

// Codex alone runs a command without the hooks if the folder of the thread was removed. The bridge
// interrupts the turn; the user reads why, once, and the decision log has it. The next turn is refused
// before it starts.
func TestHookCannotStart(t *testing.T) {
	t.Parallel()
	c, _, status, ran := newWorld(t, options{}).runInRemovedFolder(codexPath, "app-server")
	if status != "completed" || !ran {
		t.Errorf("Codex alone: status %q, ran %t; measured: the command runs", status, ran)
	}
	c.closeAndWait()

	w := newWorld(t, options{config: strings.Replace(hooksPolicy, "workspace-write", "danger-full-access", 1)})
	c, thread, status, _ := w.runInRemovedFolder(proxyArgv...)
	m := c.waitFor(0, "warning", func(m editor.Message) bool { return strings.Contains(m.Param("message"), "codex-bridge") })
	if text := m.Param("message"); status != "interrupted" || m.Param("threadId") != thread || !strings.Contains(text, "has interrupted the turn") || len(c.warningsSince(0)) != 1 {
		t.Errorf("status %q; the user reads %q", status, c.warningsSince(0))
	}
	err := c.mustFail("turn/start", input(thread, "RUN: echo again"))
	if !strings.Contains(err.Message, filepath.Join(w.root, "gone")+": no such file or directory") {
		t.Errorf("a turn in a removed folder: error %v", err)
	}
	c.closeAndWait()
	if log, _, _ := w.runCommand("decisions", "list", "--json", "--verdict", "deny"); strings.Count(log, "hook/completed") != 1 || strings.Count(log, "turn/start") != 1 {
		t.Errorf("the decision log has\n%s", log)
	}
}
