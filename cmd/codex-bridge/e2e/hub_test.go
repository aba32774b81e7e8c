//go:build linux

package e2e_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"codex-bridge/cmd/internal/editor"
)

// hubConfig makes editors share a Codex, under a policy that lets the person decide about escalations.
const hubConfig = `
[serve]
mode = "require"
idle = "5s"
[policy]
approval = ["on-request", "untrusted"]
sandbox = "workspace-write"
escalation = "ask"
`

func newHubWorld(t *testing.T, config string) *world {
	return newWorld(t, options{config: config, codex: codexPath, mute: "the clients of one Codex have no noise"})
}

// joined returns an editor that has joined the shared Codex.
func (w *world) joined() *conversation {
	w.t.Helper()
	c := w.open(proxyArgv...)
	c.initialize(nil)
	return c
}

// escalate starts a turn with a command that leaves the sandbox, and returns the file that it writes.
func (c *conversation) escalate(thread, name string) (file, turn string, mark int) {
	c.t.Helper()
	file = c.root + "/" + name
	turn, mark = c.startTurn(thread, "ESCALATE: touch "+file)
	return file, turn, mark
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Two editors work on one thread: each sees the turns of the other.
func TestClientsShareThread(t *testing.T) {
	t.Parallel()
	w := newHubWorld(t, hubConfig)
	a, b := w.joined(), w.joined()
	thread := a.thread(nil)
	a.runTurn(thread, "SAY: one")
	if err := b.mustFail("turn/start", input(thread, "SAY: too early")); !strings.Contains(err.Message, "has not opened the thread") {
		t.Error(err)
	}
	b.must("thread/resume", map[string]any{"threadId": thread})
	for _, pair := range [][2]*conversation{{a, b}, {b, a}} {
		mark := pair[1].Mark()
		pair[0].runTurn(thread, "SAY: for both")
		pair[1].waitFor(mark, "item/completed", func(m editor.Message) bool { return strings.Contains(m.Param("item", "text"), "for both") })
	}
	// A client and its Codex end; the other goes on.
	a.Close(5 * time.Second)
	b.runTurn(thread, "SAY: alone")
}

// Only the client that began a turn answers its questions. Codex would take the answer of any.
func TestStarterAnswers(t *testing.T) {
	t.Parallel()
	for _, everyone := range []bool{false, true} {
		config := hubConfig
		if everyone {
			config = strings.Replace(config, "[serve]", "[serve]\nanswer = \"any\"", 1)
		}
		w := newHubWorld(t, config)
		a, b, stranger := w.joined(), w.joined(), w.joined()
		thread := a.thread(nil)
		a.runTurn(thread, "SAY: one")
		b.must("thread/resume", map[string]any{"threadId": thread})
		file, turn, mark := a.escalate(thread, "answered")
		asked := a.waitFor(mark, commandApproval, nil)
		shown := b.waitFor(0, commandApproval, nil)
		if string(asked.ID) != string(shown.ID) {
			t.Fatalf("asked %s, shown %s", asked.ID, shown.ID)
		}
		if err := stranger.Reply(shown, decision("accept")); err != nil {
			t.Fatal(err)
		}
		stranger.must("thread/loaded/list", map[string]any{}) // the answer has been handled
		if exists(file) {
			t.Error("the answer of a client without the thread has reached Codex")
		}
		if err := b.Reply(shown, decision("accept")); err != nil {
			t.Fatal(err)
		}
		if everyone {
			a.waitTurn(thread, turn, mark)
			if !exists(file) {
				t.Error("any: the answer of the second client did not count")
			}
			continue
		}
		b.must("thread/loaded/list", map[string]any{})
		if exists(file) {
			t.Error("the answer of a client that did not begin the turn has reached Codex")
		}
		if err := a.Reply(asked, decision("accept")); err != nil {
			t.Fatal(err)
		}
		a.waitTurn(thread, turn, mark)
		if !exists(file) {
			t.Error("the answer of the client that began the turn did not count")
		}
	}
}

// Without the client that began a turn, its questions are declined.
func TestStarterLeaves(t *testing.T) {
	t.Parallel()
	w := newHubWorld(t, hubConfig)
	a, b := w.joined(), w.joined()
	thread := a.thread(nil)
	a.runTurn(thread, "SAY: one")
	b.must("thread/resume", map[string]any{"threadId": thread})
	file, turn, mark := a.escalate(thread, "left")
	a.waitFor(mark, commandApproval, nil)
	b.waitFor(0, commandApproval, nil)
	a.Close(5 * time.Second)
	if b.waitTurn(thread, turn, 0); exists(file) {
		t.Error("the question was accepted")
	}
	// The other client's own turns are asked about as before.
	file, turn, mark = b.escalate(thread, "own")
	if err := b.Reply(b.waitFor(mark, commandApproval, nil), decision("accept")); err != nil {
		t.Fatal(err)
	}
	if b.waitTurn(thread, turn, mark); !exists(file) {
		t.Error("the question was not accepted")
	}
}

// The policy holds for each client of a shared Codex, and for a thread that no client has open.
func TestPolicyOfSharedCodex(t *testing.T) {
	t.Parallel()
	w := newHubWorld(t, strings.Replace(hubConfig, `"ask"`, `"deny"`, 1))
	a, b := w.joined(), w.joined()
	thread := a.thread(map[string]any{"sandbox": "workspace-write"})
	a.runTurn(thread, "SAY: one")
	b.must("thread/resume", map[string]any{"threadId": thread, "sandbox": "danger-full-access", "approvalPolicy": "never"})
	for _, c := range []*conversation{a, b} {
		file, turn, mark := c.escalate(thread, "outside")
		if c.waitTurn(thread, turn, mark); exists(file) {
			t.Error("a command left the sandbox")
		}
		c.mustFail("thread/shellCommand", map[string]any{"threadId": thread, "command": "touch " + file})
	}
	a.must("thread/unsubscribe", map[string]any{"threadId": thread})
	b.runTurn(thread, "RUN: touch inside")
	if err := a.mustFail("turn/start", input(thread, "SAY: no")); !strings.Contains(err.Message, "has not opened the thread") {
		t.Error(err)
	}
	// Codex loads a thread without clients anew.
	b.Close(5 * time.Second)
	a.must("thread/resume", map[string]any{"threadId": thread, "sandbox": "danger-full-access"})
	file, turn, mark := a.escalate(thread, "outside")
	if a.waitTurn(thread, turn, mark); exists(file) {
		t.Error("a command left the sandbox")
	}
	a.runTurn(thread, "RUN: touch inside2")
	for _, name := range []string{"inside", "inside2"} {
		if !exists(w.workspace + "/" + name) {
			t.Errorf("%s: no command runs in the sandbox", name)
		}
	}
}
