//go:build linux

package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge/cmd/internal/editor"
	"codex-bridge/relay/redact"
	"codex-bridge/relay/trace"

	"github.com/google/go-cmp/cmp"
)

// tracedPolicy is hooksPolicy with a trace.
const tracedPolicy = hooksPolicy + "\n[trace]\nenabled = true\n"

// A turn with a denial, a question and a secret is captured; and a client that does the same
// again hears the same from the recording.
func TestTrace(t *testing.T) {
	t.Parallel()
	const canary = "Zq7Kx0Vw9Rt3Yb5N"
	w := newWorld(t, options{config: tracedPolicy, mute: "a replay has its client say what was recorded"})
	talk := func(c *conversation) (thread string) {
		c.initialize(nil)
		thread = c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
		c.told(thread, "RUN: touch denied")
		turn, mark := c.begin(thread, "RUN: mkdir asked")
		if err := c.Reply(c.waitFor(mark, commandApproval, nil), decision("decline")); err != nil {
			t.Fatal(err)
		}
		c.end(thread, turn, mark)
		turn, mark = c.begin(thread, "RUN: echo API_TOKEN="+canary)
		c.end(thread, turn, mark)
		return thread
	}
	first := w.open(proxyArgv...)
	thread := talk(first)
	first.quit()

	path := filepath.Join(w.root, "state", trace.FolderName, thread+".jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), canary) {
		t.Error("the secret is in the trace")
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen := make(map[string]int)
	for e, err := range trace.Read(f) {
		if err != nil {
			t.Fatal(err)
		}
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
			t.Errorf("%s is not in the trace: %v", want, seen)
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
		t.Errorf("the thread is %s, and was %s", got, thread)
	}
	again.quit()
	if diff := cmp.Diff(heardBy(t, first), heardBy(t, again)); diff != "" {
		t.Errorf("-codex +replay\n%s", diff)
	}
}

// heardBy are the messages that a client has heard, without their secrets.
func heardBy(t *testing.T, c *conversation) []any {
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
				t.Errorf("a part of a stream without a text: %s", m.Raw)
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

// Without [trace] nothing is written.
func TestNoTrace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: hooksPolicy})
	c := w.open(proxyArgv...)
	c.initialize(nil)
	c.say(c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}), "SAY: a")
	c.quit()
	if _, err := os.Lstat(filepath.Join(w.root, "state", trace.FolderName)); !os.IsNotExist(err) {
		t.Errorf("there are traces (%v)", err)
	}
}

// The trace of a session's thread names the session in each event of its turns.
func TestTraceNamesSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[trace]\nenabled = true\n"})
	c := w.open(proxyArgv...)
	c.initialize(map[string]any{"experimentalApi": true, "bridge": map[string]any{"version": 1}})
	answer := c.must("bridge/turn/run", map[string]any{"sessionKey": "chat/1", "input": "SAY: hello"})
	thread := editor.Member(answer, "threadId")
	c.quit()
	f, err := os.Open(filepath.Join(w.root, "state", trace.FolderName, thread+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	named := 0
	for e, err := range trace.Read(f) {
		if err != nil {
			t.Fatal(err)
		}
		if e.SessionKey == "chat/1" {
			named++
		} else if e.SessionKey != "" || e.TurnID != "" {
			t.Errorf("%s names the session %q", e.Type, e.SessionKey)
		}
	}
	if named == 0 {
		t.Error("no event names the session")
	}
}
