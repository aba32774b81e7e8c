//go:build linux

package e2e_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// soon is the time for what must not wait for ever.
func (c *conversation) soon(d time.Duration) {
	ctx, cancel := context.WithTimeout(c.ctx, d)
	c.t.Cleanup(cancel)
	c.ctx = ctx
}

// The questions of a session's turn reach its client.
func TestQuestionsOfSharedSession(t *testing.T) {
	t.Parallel()
	w := newHubWorld(t, hubConfig)
	c := w.open(proxyArgv...).initializeWithBridge()
	c.soon(time.Minute)
	file := w.root + "/session"
	mark := c.Mark()
	done := make(chan turnResult, 1)
	go func() { done <- c.runSessionTurn("chat", "ESCALATE: touch "+file, nil) }()
	if err := c.Reply(c.waitFor(mark, commandApproval, nil), decision("accept")); err != nil {
		t.Fatal(err)
	}
	r := <-done
	if !exists(file) {
		t.Errorf("the question was declined: %+v", r)
	}
}

// shareThreadWithTool opens a thread with a tool of its owner, and by another client.
func shareThreadWithTool(t *testing.T) (owner, other *conversation, thread string) {
	t.Helper()
	w := newHubWorld(t, hubConfig)
	owner, other = w.joined(), w.joined()
	thread = owner.thread(map[string]any{"dynamicTools": []any{tool("mine", "the client's", map[string]any{})}})
	owner.runTurn(thread, "SAY: one")
	other.must("thread/resume", map[string]any{"threadId": thread})
	return owner, other, thread
}

// The turn goes on after the client that should run its tool has gone.
func TestToolOfClientThatLeft(t *testing.T) {
	t.Parallel()
	owner, other, thread := shareThreadWithTool(t)
	turn, mark := owner.startTurn(thread, "CALL: mine {}")
	owner.waitFor(mark, toolCall, nil)
	owner.Close(5 * time.Second)
	other.waitTurn(thread, turn, 0)
}

// A tool of a client is called there, also if another one began the turn.
func TestToolOfAnotherClient(t *testing.T) {
	t.Parallel()
	owner, other, thread := shareThreadWithTool(t)
	mark := owner.Mark()
	turn, began := other.startTurn(thread, "CALL: mine {}")
	result := map[string]any{"success": true, "contentItems": []any{map[string]any{"type": "inputText", "text": "done"}}}
	if err := owner.Reply(owner.waitFor(mark, toolCall, nil), result); err != nil {
		t.Fatal(err)
	}
	other.waitTurn(thread, turn, began)
	for _, m := range other.Messages() {
		if m.Method == toolCall {
			t.Errorf("the other client got the call: %s", m.Raw)
		}
	}
}

// After a thread was archived, each client has to open it again.
func TestArchivedThreadIsClosed(t *testing.T) {
	t.Parallel()
	w := newHubWorld(t, hubConfig)
	a, b := w.joined(), w.joined()
	thread := a.thread(nil)
	a.runTurn(thread, "SAY: one")
	b.must("thread/resume", map[string]any{"threadId": thread})
	mark := b.Mark()
	a.must("thread/archive", map[string]any{"threadId": thread})
	b.waitFor(mark, "thread/archived", func(editor.Message) bool { return true })
	a.must("thread/unarchive", map[string]any{"threadId": thread})
	a.must("thread/resume", map[string]any{"threadId": thread})
	if err := b.mustFail("turn/start", input(thread, "SAY: no")); !strings.Contains(err.Message, "has not opened the thread") {
		t.Error(err)
	}
	a.runTurn(thread, "SAY: two")
}

// The folder in place of a missing protected path stays while a turn runs that its client has left, and goes
// with the end of the turn.
func TestMountPointOfAbandonedTurn(t *testing.T) {
	t.Parallel()
	needsLinux(t, "clients share a Codex by a socket")
	for mode, config := range map[string]string{"shared": hubConfig, "own": strings.Replace(hubConfig, "require", "off", 1)} {
		w := newHubWorld(t, config+"protected_paths = [\".github/workflows\"]\n")
		// The other client keeps the server running, and does not read when the turn ends.
		other := w.open(proxyArgv...)
		other.initialize(map[string]any{"optOutNotificationMethods": []string{"thread/status/changed"}})
		c := w.joined()
		thread := c.thread(map[string]any{"sandbox": "workspace-write"})
		c.startTurn(thread, "RUN: touch began; until [ -e go ]; do sleep 0.1; done")
		c.waitFile(w.workspace + "/began")
		if mode == "shared" {
			c.Close(5 * time.Second)
		} else {
			c.must("thread/unsubscribe", map[string]any{"threadId": thread})
		}
		other.must("thread/loaded/list", map[string]any{})
		if !exists(w.workspace + "/.github/workflows") {
			t.Errorf("%s: the folder is removed while a command runs", mode)
		}
		w.write("workspace/go", "")
		for end := time.Now().Add(time.Minute); exists(w.workspace + "/.github"); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: the folder stays after the turn", mode)
			}
		}
	}
}

// A queued message runs after its client has left. A call that no person can be asked about is denied, and the
// decision log has it: also while no client is connected.
func TestDeniedWithoutClientIsLogged(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{"alone": hubConfig, "beside another client": starterConfig + askRule} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHubWorld(t, config)
			a := w.joined()
			thread := a.thread(map[string]any{"sandbox": "workspace-write"})
			a.runTurn(thread, "SAY: one")
			if name != "alone" {
				w.joined().must("thread/resume", map[string]any{"threadId": thread})
			}
			a.startTurn(thread, "RUN: echo > began; until [ -e go ]; do sleep 0.1; done")
			a.waitFile(w.workspace + "/began")
			queued := input(thread, "RUN: touch later")
			queued["clientUserMessageId"] = "m"
			a.must("thread/queue/add", queued)
			a.Close(5 * time.Second)
			w.write("workspace/go", "")
			_, err := w.model.Await(a.ctx, func(r scripted.Request) bool {
				return slices.ContainsFunc(r.ToolOutputs(), func(out string) bool { return strings.Contains(out, "No person was asked about this call") })
			})
			if err != nil || exists(w.workspace+"/later") {
				t.Fatalf("the call is not denied: %v", err)
			}
			if log, _, _ := w.runCommand("decisions", "list"); !strings.Contains(log, "approvals.nobody") || !strings.Contains(log, "hook/preToolUse") {
				t.Errorf("the decision log lacks the denied call:\n%s", log)
			}
		})
	}
}
