//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// hooksPolicy asks no question about commands in the sandbox: only a hook sees them.
const hooksPolicy = `
[policy]
mode = "enforce"
sandbox = "workspace-write"
approval = ["on-request", "untrusted"]
[[policy.rule]]
tool = "shell"
command = "touch **"
decision = "deny"
reason = "Nothing is touched here."
[[policy.rule]]
tool = "file"
path = "${workspace}/secret/**"
decision = "deny"
reason = "Secrets are written by people."
[[policy.rule]]
tool = "shell"
command = "mkdir **"
decision = "ask"
`

// hookRun reports whether a message is the completed run of the bridge's hook.
func hookRun(m editor.Message) bool {
	return m.Method == "hook/completed" && m.Param("run", "statusMessage") == "codex-bridge"
}

// toolOutput returns the last tool output of a turn.
func (c *conversation) toolOutput(thread, text string) string {
	c.t.Helper()
	turn, mark := c.startTurn(thread, text)
	if status := c.waitTurn(thread, turn, mark); status != "completed" {
		c.t.Fatalf("turn %q: status %q", text, status)
	}
	said := ""
	for _, m := range c.Messages()[mark:] {
		if m.Method == "item/completed" && m.Param("threadId") == thread && m.Param("item", "type") == "agentMessage" {
			said = m.Param("item", "text")
		}
	}
	return said
}

func (c *conversation) checkAbsent(names ...string) {
	c.t.Helper()
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(c.workspace, name)); !os.IsNotExist(err) {
			c.t.Errorf("%s exists (%v)", name, err)
		}
	}
}

func (c *conversation) checkPresent(names ...string) {
	c.t.Helper()
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(c.workspace, name)); err != nil {
			c.t.Error(err)
		}
	}
}

// checkRules tries denied and allowed calls.
func (c *conversation) checkRules(name, thread string) {
	c.t.Helper()
	for _, try := range []struct{ text, reason string }{
		{"RUN: touch denied-" + name, "Nothing is touched here"},
		{"RUN: true && touch denied-" + name, "Nothing is touched here"},
		{"PATCH: secret/denied-" + name, "Secrets are written by people"},
		{"RUN: sh", "Secrets are written by people"}, // a hook does not see the later input, which may write a file
	} {
		if said := c.toolOutput(thread, try.text); !strings.Contains(said, try.reason) {
			c.t.Errorf("%s thread, %s: the model got %q", name, try.text, said)
		}
	}
	turn, mark := c.startTurn(thread, "RUN: mkdir denied-"+name)
	if err := c.Reply(c.waitFor(mark, commandApproval, nil), decision("decline")); err != nil {
		c.t.Fatal(err)
	}
	if status := c.waitTurn(thread, turn, mark); status != "completed" || !strings.Contains(c.world.lastToolOutput(), "rejected by user") {
		c.t.Errorf("%s thread, declined: status %q, the model got %q", name, status, c.world.lastToolOutput())
	}
	c.checkAbsent("denied-"+name, "secret")
	c.toolOutput(thread, "RUN: echo fine > allowed-"+name)
	c.toolOutput(thread, "PATCH: patched-"+name)
	c.checkPresent("allowed-"+name, "patched-"+name)
}

// A rule denies in new, forked and resumed threads, loaded or not, even if Codex does not ask; the
// model gets the reason.
func TestHooksRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: hooksPolicy})
	c := w.open(proxyArgv...)
	c.initialize(nil)
	open := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
	thread := c.thread(open)
	c.checkRules("fresh", thread)
	c.resume(thread, map[string]any{"cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": "workspace-write"})
	c.checkRules("loaded", thread)
	fork := editor.Member(c.must("thread/fork", map[string]any{
		"threadId": thread, "cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": "workspace-write",
	}), "thread", "id")
	c.checkRules("forked", fork)
	c.closeAndWait()
	c = w.open(proxyArgv...)
	c.initialize(nil)
	c.resume(thread, map[string]any{"cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": "workspace-write"})
	c.checkRules("cold", thread)
	for _, m := range c.Messages() {
		if hookRun(m) && m.Param("run", "status") == "failed" {
			t.Errorf("a hook failed: %s", m.Raw)
		}
	}
}

// The bridge removes the client's hooks and keeps the user's.
func TestHooksOfClientAreRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: hooksPolicy})
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write", "config": map[string]any{
		"features": map[string]any{"hooks": false}, "hooks.PreToolUse": []any{}, "hooks": map[string]any{"state": map[string]any{}},
		"bypass_hook_trust": true,
	}})
	c.checkRules("client", thread)
}

// Handlers decide after the rules; a failed handler denies.
func TestHooksHandlers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ script, want string }{
		"denies":        {`cat > /dev/null; echo '{"decision":"deny","reason":"not on a Friday"}'`, "not on a Friday"},
		"as codex does": {`cat > /dev/null; echo 'not like this' >&2; exit 2`, "not like this"},
		"fails":         {`cat > /dev/null; exit 1`, "handler"},
		"talks":         {`cat > /dev/null; echo fine`, "handler"},
		"is not there":  {"", "handler"},
	} {
		if !isSampledName(2, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{})
			script := filepath.Join(w.root, "handler.sh")
			if test.script != "" {
				script = w.write("handler.sh", "#!/bin/sh\n"+test.script+"\n")
				if err := os.Chmod(script, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			w.write("config.toml", hooksPolicy+fmt.Sprintf("[[hooks.handler]]\nevent = \"pre_tool_use\"\ncommand = [%q]\n", script))
			w.env = append(w.env, "CODEX_BRIDGE_CONFIG="+filepath.Join(w.root, "config.toml"))
			c := w.open(proxyArgv...)
			c.initialize(nil)
			thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
			if said := c.toolOutput(thread, "RUN: echo x > handled"); !strings.Contains(said, test.want) {
				t.Errorf("the model got %q", said)
			}
			c.checkAbsent("handled")
		})
	}
}

// The host also answers hooks: it denies a call, and makes the model continue once.
func TestHostAnswersHooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: hooksPolicy})
	c := w.open(proxyArgv...)
	c.initialize(map[string]any{"experimentalApi": true, "bridge": map[string]any{"version": 1, "hooks": []string{"preToolUse", "stop"}}})
	thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	turn, mark := c.startTurn(thread, "RUN: echo x > hosted")
	answers := []struct {
		event  string
		answer map[string]any
	}{
		{"preToolUse", map[string]any{"decision": "deny", "reason": "the host says no"}},
		{"stop", map[string]any{"decision": "revise", "reason": "SAY: once more"}},
		{"stop", map[string]any{}},
	}
	for _, a := range answers {
		m := c.waitFor(mark, "bridge/hook", nil)
		mark = m.Index + 1
		if got := m.Param("event"); got != a.event {
			t.Fatalf("hook %s, want %s", got, a.event)
		}
		if m.Param("payload", "session_id") != thread {
			t.Errorf("payload %s", m.Params)
		}
		if err := c.Reply(m, a.answer); err != nil {
			t.Fatal(err)
		}
	}
	if status := c.waitTurn(thread, turn, 0); status != "completed" {
		t.Errorf("status %q", status)
	}
	var texts []string
	for _, m := range c.Messages() {
		if m.Method == "item/completed" && m.Param("item", "type") == "agentMessage" {
			texts = append(texts, m.Param("item", "text"))
		}
	}
	if len(texts) != 2 || !strings.Contains(texts[0], "the host says no") || !strings.Contains(texts[1], "once more") {
		t.Errorf("replies %q", texts)
	}
	c.checkAbsent("hosted")
	var status struct {
		Hooks struct {
			Active bool
			Runs   struct{ Blocked int }
		}
		CodexRules struct {
			Lets  *int
			Fault string
		}
	}
	if err := json.Unmarshal(c.must("bridge/status", map[string]any{}), &status); err != nil || !status.Hooks.Active || status.Hooks.Runs.Blocked < 1 ||
		status.CodexRules.Lets == nil || *status.CodexRules.Lets != 0 || status.CodexRules.Fault != "" {
		t.Errorf("%v; status %+v", err, status)
	}
}

// With many parallel calls, without the relay's socket, and with another process's socket, no call
// runs undecided.
func TestHooksRelay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: hooksPolicy})
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	var orders []string
	for i := range 40 {
		orders = append(orders, fmt.Sprintf("RUN: touch many-%d", i))
	}
	mark := c.Mark()
	c.toolOutput(thread, strings.Join(orders, "\n"))
	runs := 0
	for _, m := range c.Messages()[mark:] {
		if hookRun(m) && m.Param("run", "eventName") == "preToolUse" {
			if runs++; m.Param("run", "status") != "blocked" {
				t.Errorf("%s", m.Raw)
			}
		}
	}
	if runs != len(orders) {
		t.Errorf("%d hooks for %d calls", runs, len(orders))
	}
	sockets, err := filepath.Glob(filepath.Join(w.root, "state", "run", "*", "hook.sock"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("%v; sockets %v", err, sockets)
	}
	if err := os.Remove(sockets[0]); err != nil {
		t.Fatal(err)
	}
	if said := c.toolOutput(thread, "RUN: echo x > undecided"); !strings.Contains(said, "codex-bridge") {
		t.Errorf("the model got %q", said)
	}
	if err := os.WriteFile(sockets[0], nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.toolOutput(thread, "RUN: echo x > undecided")
	c.checkAbsent("undecided")
	entries, err := os.ReadDir(w.workspace)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "many-") {
			t.Errorf("%s exists", e.Name())
		}
	}
}

// Rules also apply to tools of servers and of the client.
func TestHooksTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codexConfig: mcpConfig("probe"), config: hooksPolicy + `
[[policy.rule]]
tool = "mcp"
decision = "deny"
reason = "No servers here."
[[policy.rule]]
tool = "lookup_*"
decision = "deny"
reason = "Nothing is looked up."
`})
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write", "dynamicTools": []any{map[string]any{
		"name": "lookup_ticket", "description": "Finds a ticket.", "inputSchema": map[string]any{"type": "object"},
	}}})
	for text, reason := range map[string]string{
		`CALL: mcp__probe/touch {"path":"` + w.workspace + `/called"}`: "No servers here",
		"CALL: lookup_ticket {}": "Nothing is looked up",
	} {
		mark := c.Mark()
		if c.toolOutput(thread, text); !strings.Contains(w.lastToolOutput(), reason) {
			t.Errorf("%s: the model got %q", text, w.lastToolOutput())
		}
		for _, m := range c.Messages()[mark:] {
			if m.IsRequest() && !m.Sent {
				t.Errorf("%s: question %s", text, m.Raw)
			}
		}
	}
	c.checkAbsent("called")
	c.closeAndWait()
}
