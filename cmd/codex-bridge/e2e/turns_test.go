//go:build linux

package e2e_test

import (
	"encoding/json"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// turnResult is the result of bridge/turn/run.
type turnResult struct {
	ThreadID, TurnID, Status, Text, Error string
	Recovered                             bool
}

// runSessionTurn is bridge/turn/run with a text; more has other params.
func (c *conversation) runSessionTurn(session, text string, more map[string]any) turnResult {
	c.t.Helper()
	p := map[string]any{"sessionKey": session, "input": text, "thread": map[string]any{"cwd": c.workspace}}
	for k, v := range more {
		p[k] = v
	}
	var r turnResult
	if err := json.Unmarshal(c.must("bridge/turn/run", p), &r); err != nil {
		c.t.Fatal(err)
	}
	return r
}

// Three turns of a session requested at once run in order. The next process finds the thread. After
// an interrupted turn, the waiting ones run.
func TestTurnsRunInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: sessionPolicy})
	c := w.open(proxyArgv...).initializeWithBridge()
	var all sync.WaitGroup
	results := make([]turnResult, 3)
	for i, text := range []string{"SLOW: 300", "SAY: second", "SAY: third"} {
		before := c.Mark()
		all.Go(func() { results[i] = c.runSessionTurn("chat", text, nil) })
		if _, err := c.Wait(c.ctx, before, func(m editor.Message) bool { return m.Sent && m.Method == "bridge/turn/run" }); err != nil {
			t.Fatal(err)
		}
	}
	all.Wait()
	for i, want := range []string{"Working… done.", "second", "third"} {
		if r := results[i]; r.Text != want || r.Status != "completed" || r.ThreadID != results[0].ThreadID || r.Recovered {
			t.Errorf("turn %d: %+v", i, r)
		}
	}
	running := 0
	for _, m := range c.Messages() {
		switch m.Method {
		case "turn/started":
			running++
		case "turn/completed":
			running--
		}
		if running > 1 {
			t.Error("two turns overlapped")
		}
	}

	// An interrupt while others wait.
	before := c.Mark()
	all.Go(func() { results[0] = c.runSessionTurn("chat", "SLOW: 60000", nil) })
	m := c.waitFor(before, "item/agentMessage/delta", nil)
	all.Go(func() { results[1] = c.runSessionTurn("chat", "SAY: after", nil) })
	if got := editor.Member(c.must("bridge/turn/interrupt", map[string]any{"sessionKey": "chat"}), "turnId"); got != m.Param("turnId") {
		t.Errorf("interrupted %s, want %s", got, m.Param("turnId"))
	}
	all.Wait()
	if results[0].Status != "interrupted" || results[1].Text != "after" {
		t.Errorf("interrupted: %+v; after it: %+v", results[0], results[1])
	}
	// A turn that takes too long is interrupted, and an error.
	failed := c.mustFail("bridge/turn/run", map[string]any{"sessionKey": "chat", "input": "SLOW: 60000", "timeoutMs": 300})
	if failed.Code != -32012 {
		t.Errorf("late: %v", failed)
	}
	if r := c.runSessionTurn("chat", "SAY: still there", nil); r.Text != "still there" {
		t.Errorf("after a late turn: %+v", r)
	}
	// Another model from the next turn on: after a scheduled turn, whose mode has a model too.
	c.runSessionTurn("chat", "SAY: by the clock", map[string]any{"trigger": "heartbeat"})
	c.must("bridge/turn/set", map[string]any{"sessionKey": "chat", "model": "gpt-5.4", "serviceTier": "fast"})
	mark := c.Mark()
	for range 2 {
		c.runSessionTurn("chat", "SAY: another model", nil)
		requests := w.model.Requests()
		if last := requests[len(requests)-1]; last.Model != "gpt-5.4" {
			t.Errorf("model %q", last.Model)
		}
	}
	c.waitFor(mark, "thread/settings/updated", func(m editor.Message) bool {
		return m.Param("threadSettings", "model") == "gpt-5.4" && m.Param("threadSettings", "serviceTier") == "priority"
	})
	c.must("bridge/turn/set", map[string]any{"sessionKey": "chat", "serviceTier": nil})
	mark = c.Mark()
	c.runSessionTurn("chat", "SAY: the usual tier", nil)
	c.waitFor(mark, "thread/settings/updated", func(m editor.Message) bool {
		return m.Param("threadSettings", "model") == "gpt-5.4" && m.Param("threadSettings", "serviceTier") != "priority"
	})
	first := results[0].ThreadID
	c.closeAndWait()

	// Another process first resumes the thread.
	c = w.open(proxyArgv...).initializeWithBridge()
	if r := c.runSessionTurn("chat", "SAY: again", nil); r.ThreadID != first || r.Text != "again" || r.Recovered {
		t.Errorf("resumed: %+v", r)
	}
	requests := w.model.Requests()
	if last := requests[len(requests)-1]; !last.Contains("still there") {
		t.Error("the model did not get the history")
	}
	c.closeAndWait()

	// Codex has lost its record.
	for _, file := range rollouts(t, w.home, first) {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	c = w.open(proxyArgv...).initializeWithBridge()
	r := c.runSessionTurn("chat", "SAY: anew", nil)
	if r.ThreadID == first || r.Text != "anew" || !r.Recovered {
		t.Errorf("recovered: %+v", r)
	}
	if next := c.runSessionTurn("chat", "SAY: on", nil); next.ThreadID != r.ThreadID || next.Recovered {
		t.Errorf("after it: %+v", next)
	}
	read := c.must("bridge/binding/read", map[string]any{"sessionKey": "chat"})
	if editor.Member(read, "binding", "threadId") != r.ThreadID || editor.Member(read, "binding", "reason") != "threadLost" ||
		editor.Member(read, "binding", "cwd") != w.workspace {
		t.Errorf("binding %s", read)
	}
}

// If Codex dies during a turn, the caller gets an error, and the next process continues.
func TestCodexCrashDuringTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: sessionPolicy})
	c := w.open(proxyArgv...).initializeWithBridge()
	before := c.runSessionTurn("chat", "SAY: before", nil)
	failed := make(chan *editor.Error, 1)
	mark := c.Mark()
	go func() {
		_, err := c.Call(c.ctx, "bridge/turn/run", map[string]any{"sessionKey": "chat", "input": "SLOW: 60000"})
		failed <- err
	}()
	c.waitFor(mark, "item/agentMessage/delta", nil)
	var status struct{ Codex struct{ Pid int } }
	if err := json.Unmarshal(c.must("bridge/status", map[string]any{}), &status); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(status.Codex.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err == nil || err.Code != -32011 || !strings.Contains(err.Message, "codex ended") {
		t.Errorf("error of the crash: %v", err)
	}
	if _, err := c.Exit(c.ctx); err != nil {
		t.Fatal(err)
	}
	c = w.open(proxyArgv...).initializeWithBridge()
	after := c.runSessionTurn("chat", "SAY: after", nil)
	if after.ThreadID != before.ThreadID || after.Text != "after" || after.Recovered {
		t.Errorf("after the crash: %+v", after)
	}
}

// The policy applies to the bridge's own requests as to the client's: a forbidden model is
// replaced, and a wider sandbox is refused.
func TestTurnsUnderPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nmode = \"enforce\"\napproval = [\"on-request\"]\nsandbox = \"read-only\"\nmodels = [\"gpt-5.5\"]\n"})
	c := w.open(proxyArgv...).initializeWithBridge()
	thread := map[string]any{"cwd": c.workspace, "sandbox": "danger-full-access", "approvalPolicy": "never", "model": "gpt-4-forbidden"}
	r := c.runSessionTurn("chat", "SAY: one", map[string]any{"thread": thread})
	if r.Text != "one" {
		t.Fatalf("%+v", r)
	}
	set := map[string]any{"sessionKey": "chat", "model": "gpt-4-forbidden", "sandbox": "danger-full-access", "approvalPolicy": "never"}
	const next = `"next":{"model":"gpt-4-forbidden","approvalPolicy":{"granular":{"sandbox_approval":false,"rules":false,"skill_approval":false,"request_permissions":false,"mcp_elicitations":false}},"sandbox":"read-only"}`
	if echo := c.must("bridge/turn/set", set); !strings.Contains(string(echo), next) {
		t.Errorf("the response has %s", echo)
	}
	status := c.must("bridge/status", map[string]any{})
	if !strings.Contains(string(status), next) {
		t.Errorf("status %s", status)
	}
	if r := c.runSessionTurn("chat", "RUN: touch made", nil); r.Status != "completed" {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(w.workspace + "/made"); err == nil {
		t.Error("a read-only session wrote a file")
	}
	for _, r := range w.model.Requests() {
		if r.Model != "gpt-5.5" {
			t.Errorf("model %q", r.Model)
		}
	}
	applied := 0
	for _, m := range c.Messages() {
		if m.Method == "bridge/policy/applied" {
			applied++
		}
	}
	if applied < 2 {
		t.Errorf("%d notifications about the policy", applied)
	}
	if status := c.must("bridge/status", map[string]any{}); strings.Contains(string(status), `"next"`) {
		t.Errorf("the setting is still pending: %s", status)
	}
}
