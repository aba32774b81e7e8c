//go:build linux

package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/relay/redact"
	"codex-bridge.example/relay/trace"

	"github.com/google/go-cmp/cmp"
)

// tracedPolicy is hooksPolicy with a trace.
const tracedPolicy = hooksPolicy + "\n[trace]\nenabled = true\n"

// A trace has a turn with a denial, a question and a secret. A client that repeats the conversation
// with the recording gets the same messages.
func TestTrace(t *testing.T) {
	t.Parallel()
	const canary = "Zq7Kx0Vw9Rt3Yb5N"
	w := newWorld(t, options{config: tracedPolicy, mute: "a replay has its client say what was recorded"})
	talk := func(c *conversation) (thread string) {
		c.initialize(nil)
		thread = c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
		c.toolOutput(thread, "RUN: touch denied")
		turn, mark := c.startTurn(thread, "RUN: mkdir asked")
		if err := c.Reply(c.waitFor(mark, commandApproval, nil), decision("decline")); err != nil {
			t.Fatal(err)
		}
		c.waitTurn(thread, turn, mark)
		turn, mark = c.startTurn(thread, "RUN: echo API_TOKEN="+canary)
		c.waitTurn(thread, turn, mark)
		return thread
	}
	first := w.open(proxyArgv...)
	thread := talk(first)
	first.closeAndWait()

	path := filepath.Join(w.root, "state", trace.FolderName, thread+".jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), canary) {
		t.Error("the secret is in the trace")
	}
	events, err := trace.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]int)
	for _, e := range events {
		s, err := trace.Decode(e)
		if err != nil {
			t.Fatal(err)
		}
		outcome := s.Outcome
		if s.Fields != nil {
			outcome, _ = s.Fields["verdict"].(string)
		}
		seen[strings.TrimSpace(string(e.Type)+" "+outcome)]++
	}
	for _, want := range []string{
		"session.started", "prompt.submitted", "decision deny", "decision rewrite", "hook.completed blocked", "hook.completed completed", "tool.call",
		"tool.result completed", "approval.requested", "approval.resolved decline", "model.completed completed", "session.ended",
	} {
		if seen[want] == 0 {
			t.Errorf("the trace lacks %s: %v", want, seen)
		}
	}

	show := exec.Command(proxyPath, "trace", "show", thread)
	show.Env = w.env
	shown, err := show.CombinedOutput()
	if err != nil || !strings.Contains(string(shown), "Nothing is touched here") || !strings.Contains(string(shown), "» RUN: mkdir asked") {
		t.Errorf("trace show: %v\n%s", err, shown)
	}

	write := exec.Command(proxyPath, "trace", "html", thread)
	write.Env = w.env
	page, err := write.Output()
	if err != nil || !strings.Contains(string(page), "Nothing is touched here") || !strings.Contains(string(page), "<polyline") {
		t.Errorf("trace html: %v\n%.3000s", err, page)
	}

	again := w.open(proxyPath, "trace", "replay", path)
	if got := talk(again); got != thread {
		t.Errorf("thread %s, want %s", got, thread)
	}
	again.closeAndWait()
	if diff := cmp.Diff(receivedBy(t, first), receivedBy(t, again)); diff != "" {
		t.Errorf("-codex +replay\n%s", diff)
	}
}

// receivedBy returns the messages that a client received, without their secrets.
func receivedBy(t *testing.T, c *conversation) []any {
	t.Helper()
	var all []any
	redactor := redact.New(redact.Limits{})
	for _, m := range c.Messages() {
		if m.Sent {
			continue
		}
		text, err := redactor.JSON(m.Raw)
		if err != nil {
			t.Fatal(err)
		}
		if m.Method == "item/commandExecution/outputDelta" || strings.HasSuffix(m.Method, "Delta") || strings.HasSuffix(m.Method, "/delta") {
			if m.Param("delta") == "" {
				t.Errorf("a delta without text: %s", m.Raw)
			}
		}
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// Without [trace] no trace is written.
func TestNoTrace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: hooksPolicy})
	c := w.open(proxyArgv...)
	c.initialize(nil)
	c.runTurn(c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}), "SAY: a")
	c.closeAndWait()
	if _, err := os.Lstat(filepath.Join(w.root, "state", trace.FolderName)); !os.IsNotExist(err) {
		t.Errorf("traces exist (%v)", err)
	}
}

// The trace of a session's thread has the session in each event of its turns.
func TestTraceNamesSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[trace]\nenabled = true\n"})
	c := w.open(proxyArgv...)
	c.initialize(map[string]any{"experimentalApi": true, "bridge": map[string]any{"version": 1}})
	answer := c.must("bridge/turn/run", map[string]any{"sessionKey": "chat/1", "input": "SAY: hello"})
	thread := editor.Member(answer, "threadId")
	c.closeAndWait()
	events, err := trace.ReadFile(filepath.Join(w.root, "state", trace.FolderName, thread+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, e := range events {
		if e.SessionKey == "chat/1" {
			named++
		} else if e.SessionKey != "" || e.TurnID != "" {
			t.Errorf("%s has session %q", e.Type, e.SessionKey)
		}
	}
	if named == 0 {
		t.Error("no event has the session")
	}
}
