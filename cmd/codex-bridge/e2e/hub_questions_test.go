//go:build linux

package e2e_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// starterConfig lets only the client that began a turn answer its questions.
var starterConfig = strings.Replace(hubConfig, "[serve]", "[serve]\nanswer = \"starter\"", 1)

// askRule makes the bridge ask about commands that stay in the sandbox.
const askRule = "[[policy.rule]]\ntool = \"shell\"\ncommand = \"touch **\"\ndecision = \"ask\"\n"

// sharedThread returns clients that have opened one thread. The last knows the bridge.
func sharedThread(t *testing.T, config string) (a, b, knows *conversation, thread string) {
	t.Helper()
	w := newHubWorld(t, config)
	a, b, knows = w.joined(), w.joined(), w.open(proxyArgv...).initializeWithBridge()
	thread = a.thread(map[string]any{"sandbox": "workspace-write"})
	a.runTurn(thread, "SAY: one")
	for _, c := range []*conversation{b, knows} {
		c.must("thread/resume", map[string]any{"threadId": thread})
	}
	return a, b, knows, thread
}

// accept answers a question, and returns when the answer has been handled.
func (c *conversation) accept(question editor.Message) {
	c.t.Helper()
	if err := c.Reply(question, decision("accept")); err != nil {
		c.t.Fatal(err)
	}
	c.must("thread/loaded/list", map[string]any{})
}

// waitResolved waits until a question is closed.
func (c *conversation) waitResolved(question editor.Message) {
	c.t.Helper()
	c.waitFor(0, "serverRequest/resolved", func(m editor.Message) bool { return m.Param("requestId") == editor.Member(question.Raw, "id") })
}

// With serve.answer "starter" only the client that began a turn answers questions of Codex and of the bridge.
// Others learn whose answer counts. Codex would take the answer of any client.
func TestStarterAnswers(t *testing.T) {
	t.Parallel()
	a, b, knows, thread := sharedThread(t, starterConfig+askRule)
	stranger := a.world.joined()
	for name, prompt := range map[string]string{"of codex": "ESCALATE: cp /dev/null ", "of the bridge": "RUN: touch "} {
		file := a.workspace + "/" + strings.ReplaceAll(name, " ", "-")
		others := map[*conversation]int{b: b.Mark(), knows: knows.Mark()}
		turn, mark := a.startTurn(thread, prompt+file)
		asked := a.waitFor(mark, commandApproval, nil)
		b.waitFor(others[b], "warning", func(m editor.Message) bool { return strings.Contains(m.Param("message"), "waits for an answer of") })
		shown := knows.waitFor(others[knows], commandApproval, nil)
		if shown.Param("bridge", "answeredBy") == "" || asked.Param("bridge", "answeredBy") != "" {
			t.Errorf("%s: shown %s, asked %s", name, shown.Raw, asked.Raw)
		}
		for _, c := range []*conversation{b, stranger} {
			c.accept(asked) // with the id of another client's question
		}
		knows.accept(shown)
		knows.waitFor(others[knows], "warning", func(m editor.Message) bool { return strings.Contains(m.Param("message"), "does not count") })
		for _, m := range b.Messages()[others[b]:] {
			if m.Method == commandApproval && !m.Sent {
				t.Errorf("%s: a client that can't answer was asked", name)
			}
		}
		if exists(file) {
			t.Errorf("%s: the answer of another client has reached Codex", name)
		}
		a.accept(asked)
		a.waitTurn(thread, turn, mark)
		if !exists(file) {
			t.Errorf("%s: the answer of the client that began the turn did not count", name)
		}
		knows.waitResolved(shown)
	}
}

// With serve.answer "any" the first answer of a client of the thread counts, and closes the question in the
// others. A question waits while clients come and go, and asks those that resume the thread.
func TestAnyClientAnswers(t *testing.T) {
	t.Parallel()
	for name, prompt := range map[string]string{"of codex": "ESCALATE: cp /dev/null ", "of the bridge": "RUN: touch "} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b, knows, thread := sharedThread(t, hubConfig+askRule)
			stranger := a.world.joined()
			file := a.workspace + "/first"
			turn, mark := a.startTurn(thread, prompt+file)
			asked, other := a.waitFor(mark, commandApproval, nil), b.waitFor(0, commandApproval, nil)
			unsubscribed := knows.waitFor(0, commandApproval, nil)
			knows.must("thread/unsubscribe", map[string]any{"threadId": thread})
			knows.waitResolved(unsubscribed)
			knows.accept(unsubscribed)
			stranger.accept(asked)
			if exists(file) {
				t.Error("the answer of a client without the thread has counted")
			}
			b.accept(other)
			a.waitTurn(thread, turn, mark)
			if !exists(file) {
				t.Error("the answer of the second client did not count")
			}
			a.waitResolved(asked)
			if n := len(slices.DeleteFunc(knows.Messages(), func(m editor.Message) bool { return m.Method != "serverRequest/resolved" })); n != 1 {
				t.Errorf("the client that has left the thread was told %d times", n)
			}

			file = a.workspace + "/second"
			_, mark = a.startTurn(thread, prompt+file)
			a.waitFor(mark, commandApproval, nil)
			for _, c := range []*conversation{a, b, knows} {
				c.Close(5 * time.Second)
			}
			stranger.must("thread/resume", map[string]any{"threadId": thread})
			stranger.accept(stranger.waitFor(0, commandApproval, nil))
			stranger.waitFor(0, "turn/completed", nil)
			if !exists(file) {
				t.Error("the answer of a client that came later did not count")
			}
		})
	}
}

// A question that no client can answer is declined: at once if only the client that began the turn may answer,
// also after an answer of another that did not count; otherwise after approvals.timeout.
func TestQuestionWithoutClients(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{
		"starter": starterConfig, "any": hubConfig + "[approvals]\ntimeout = \"3s\"\n",
	} {
		for kind, prompt := range map[string]string{"of codex": "ESCALATE: cp /dev/null ", "of the bridge": "RUN: touch "} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				w := newHubWorld(t, config+askRule)
				a := w.joined()
				thread := a.thread(map[string]any{"sandbox": "workspace-write"})
				a.runTurn(thread, "SAY: one")
				file := w.workspace + "/left"
				_, mark := a.startTurn(thread, prompt+file)
				a.waitFor(mark, commandApproval, nil)
				a.Close(5 * time.Second)
				if _, err := w.model.Await(a.ctx, func(r scripted.Request) bool { return len(r.ToolOutputs()) > 0 }); err != nil {
					t.Fatal(err) // the model reads the refusal
				}
				b := w.joined()
				b.must("thread/resume", map[string]any{"threadId": thread})
				b.runTurn(thread, "SAY: two")
				if exists(file) {
					t.Error("the question was accepted")
				}
			})
		}
	}
}

// Without the client that began a turn, its questions are declined, also those that another client has
// answered in vain.
func TestStarterLeaves(t *testing.T) {
	t.Parallel()
	a, b, knows, thread := sharedThread(t, starterConfig)
	file, turn, mark := a.escalate(thread, "left")
	a.waitFor(mark, commandApproval, nil)
	knows.accept(knows.waitFor(0, commandApproval, nil))
	a.Close(5 * time.Second)
	if b.waitTurn(thread, turn, 0); exists(file) {
		t.Error("the question was accepted")
	}
	// The other client's own turns are asked about as before.
	file, turn, mark = b.escalate(thread, "own")
	b.accept(b.waitFor(mark, commandApproval, nil))
	if b.waitTurn(thread, turn, mark); !exists(file) {
		t.Error("the question was not accepted")
	}
}
