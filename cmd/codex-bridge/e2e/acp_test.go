//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// newAgentWorld returns a world with the real codex-acp as an agent, on the bridge and the real
// Codex. The agent requests on-request: for its mode agent-full-access it would request never, and
// the bridge would ask its client nothing.
func newAgentWorld(t *testing.T, more string) *world {
	t.Helper()
	return newWorld(t, options{
		config: more + fmt.Sprintf("\n[acp]\ndefault_agent = \"codex\"\n[acp.agents.codex]\ncommand = [%q]\n[acp.agents.broken]\ncommand = [\"/bin/sh\", \"-c\", \"echo no licence >&2; exit 3\"]\n",
			acpAgent),
		env: []string{"INITIAL_AGENT_MODE=workspace-write"},
	})
}

// checkNoProcesses fails the test if a process of the world still runs.
func (w *world) checkNoProcesses() {
	w.t.Helper()
	if pids := w.waitProcesses(func(pids []int) bool { return len(pids) == 0 }); len(pids) > 0 {
		w.t.Errorf("still running after 2 s:%s", describe(pids))
	}
}

// A shell starts an agent: its text is streamed, the policy applies in the child, and all processes
// end.
func TestAgentRunsFromShell(t *testing.T) {
	t.Parallel()
	w := newAgentWorld(t, policyConfig+"[[policy.rule]]\ntool = \"shell\"\ncommand = \"git push **\"\ndecision = \"deny\"\nreason = \"Pushing is done by people.\"\n")
	stdout, stderr, code := w.runCommand("acp", "spawn", "SAY: done as told")
	if stdout != "done as told\n" || code != 0 {
		t.Errorf("%q, %q, %d", stdout, stderr, code)
	}
	if found, _, _ := w.runCommand("decisions", "list"); !strings.Contains(found, "thread/start") {
		t.Errorf("the policy did not change the child's thread:\n%s", found)
	}
	// The rules deny their calls; no user answers the other questions.
	for _, task := range []string{"RUN: git push origin", "RUN: touch inside", "PATCH: patched.txt\none"} {
		stdout, stderr, _ := w.runCommand("acp", "spawn", task)
		if strings.Contains(stdout, "ended with 0") {
			t.Errorf("%s: %q, %q", task, stdout, stderr)
		}
		if strings.Contains(task, "inside") != strings.Contains(stderr, "refused") { // the child's own bridge refuses the others
			t.Errorf("%s: refused by the wrong bridge: %q, %q", task, stdout, stderr)
		}
	}
	for _, name := range []string{"inside", "patched.txt"} {
		if w.workspaceHasFile(name) {
			t.Errorf("%s exists", name)
		}
	}
	stdout, stderr, code = w.runCommand("acp", "spawn", "--agent", "broken", "x")
	if stdout != "" || !strings.Contains(stderr, "no licence") || code != 1 {
		t.Errorf("%q, %q, %d", stdout, stderr, code)
	}
	stdout, _, code = w.runCommand("acp", "spawn", "--json", "--timeout", "4s", "SLOW: 3600000")
	if !strings.HasPrefix(stdout, `{"status":"accepted"`) || !strings.Contains(stdout, "longer than 4s") || code != 1 {
		t.Errorf("%q, %d", stdout, code)
	}
	w.write("config.toml", w.read("config.toml")+"[policy.methods]\n\"bridge/acp/spawn\" = \"deny\"\n")
	stdout, stderr, code = w.runCommand("acp", "spawn", "SAY: done as told")
	if list, _, _ := w.runCommand("decisions", "list"); stdout != "" || !strings.Contains(stderr, "policy.methods") || code != 1 || !strings.Contains(list, "bridge/acp/spawn") {
		t.Errorf("a denied method: %q, %q, %d, log:\n%s", stdout, stderr, code, list)
	}
	w.checkNoProcesses()
}

// spawned is a child started over the wire.
type spawned struct {
	*conversation
	key, run, log string
	mark          int
}

func (c *conversation) spawn(params map[string]any) spawned {
	c.t.Helper()
	mark := c.Mark()
	result := c.must("bridge/acp/spawn", params)
	if editor.Member(result, "status") != "accepted" {
		c.t.Fatalf("%s", result)
	}
	return spawned{c, editor.Member(result, "childSessionKey"), editor.Member(result, "runId"), editor.Member(result, "streamLogPath"), mark}
}

// waitUpdate returns the first update of a run with one of the kinds, and the agent's text before
// it.
func (c spawned) waitUpdate(run string, kinds ...string) (editor.Message, string) {
	c.t.Helper()
	text := ""
	mark := c.mark
	for {
		m, err := c.Wait(c.ctx, mark, func(m editor.Message) bool {
			return !m.Sent && m.Method == "bridge/acp/update" && m.Param("runId") == run
		})
		if err != nil {
			c.t.Fatalf("%q of %s: %v", kinds, run, err)
		}
		mark = m.Index + 1
		if m.Param("kind") == "text" {
			text += m.Param("text")
		}
		for _, kind := range kinds {
			if m.Param("kind") == kind {
				return m, text
			}
		}
	}
}

func (c spawned) waitEnd(run string) (string, string) {
	c.t.Helper()
	m, text := c.waitUpdate(run, "done", "failed", "cancelled")
	return m.Param("kind"), text
}

// An editor runs agents besides its conversation: it gets their updates, answers their questions,
// and stops them.
func TestEditorRunsAgents(t *testing.T) {
	t.Parallel()
	w := newAgentWorld(t, "[policy]\napproval = [\"untrusted\"]\nsandbox = \"workspace-write\"\n[approvals]\nremember = \"session\"\n")
	c := w.open(proxyArgv...)
	c.initialize(map[string]any{"experimentalApi": true, "bridge": map[string]any{"version": 1, "hooks": []string{"permissionRequest"}}})
	thread := c.thread(nil)

	one := c.spawn(map[string]any{"task": "SAY: from the child", "label": "first"})
	if kind, text := one.waitEnd(one.run); kind != "done" || text != "from the child" {
		t.Errorf("%s, %q", kind, text)
	}

	// One reports to a conversation, in parts and at its end, and to a log.
	output := c.spawn(map[string]any{"task": "SAY: a word", "sessionKey": "chat", "streamTo": "parent"})
	for _, about := range []string{"start", "progress", "done"} {
		m := c.waitFor(output.mark, "bridge/acp/update", func(m editor.Message) bool { return m.Param("contextKey") == "acp-spawn:"+output.run+":"+about })
		if m.Param("parentSessionKey") != "chat" || about == "progress" && m.Param("text") != "codex: a word" {
			t.Errorf("%s", m.Raw)
		}
	}
	if log, err := os.ReadFile(output.log); err != nil || !strings.Contains(string(log), `"kind":"assistant_delta"`) || !strings.HasPrefix(output.log, filepath.Join(w.root, "state", "acp")) {
		t.Errorf("%s: %s, %v", output.log, log, err)
	}

	// The client gets the question, and its answer counts.
	for _, decision := range []string{"allow", "deny"} {
		name := decision + ".txt"
		asks := c.spawn(map[string]any{"task": "RUN: touch " + name})
		m := c.waitFor(asks.mark, "bridge/hook", nil)
		if m.Param("event") != "permissionRequest" || m.Param("payload", "session_id") != asks.key || !strings.Contains(m.Param("payload", "tool_input", "command"), "touch "+name) {
			t.Errorf("question %s", m.Raw)
		}
		if err := c.Reply(m, map[string]any{"decision": decision}); err != nil {
			t.Fatal(err)
		}
		if kind, text := asks.waitEnd(asks.run); w.workspaceHasFile(name) != (decision == "allow") {
			t.Errorf("%s: %s, %q", decision, kind, text)
		}
	}

	// The child's bridge remembers a lasting yes for exactly this command.
	stays := c.spawn(map[string]any{"task": "RUN: echo again", "thread": true})
	if err := c.Reply(c.waitFor(stays.mark, "bridge/hook", nil), map[string]any{"decision": "allow", "remember": "session"}); err != nil {
		t.Fatal(err)
	}
	stays.waitEnd(stays.run)
	mark := c.Mark()
	run := editor.Member(c.must("bridge/acp/send", map[string]any{"childSessionKey": stays.key, "text": "RUN: echo again"}), "runId")
	if kind, text := stays.waitEnd(run); kind != "done" || !strings.Contains(text, "ended with 0 and said: again") {
		t.Errorf("%s, %q", kind, text)
	}
	for _, m := range c.Messages()[mark:] {
		if m.Method == "bridge/hook" {
			t.Errorf("asked twice: %s", m.Raw)
		}
	}
	c.must("bridge/acp/cancel", map[string]any{"childSessionKey": stays.key, "close": true})

	// One agent is cancelled while it works, one is killed.
	slow := c.spawn(map[string]any{"task": "SLOW: 3600000"})
	slow.waitUpdate(slow.run, "text")
	var list struct {
		Children []struct{ ChildSessionKey, State string }
	}
	if err := json.Unmarshal(c.must("bridge/acp/list", map[string]any{}), &list); err != nil {
		t.Fatal(err)
	}
	running := slices.DeleteFunc(list.Children, func(one struct{ ChildSessionKey, State string }) bool { return one.State == "ended" }) // and not removed yet
	if len(running) != 1 || running[0].ChildSessionKey != slow.key || running[0].State != "running" {
		t.Errorf("%+v", list)
	}
	c.must("bridge/acp/cancel", map[string]any{"childSessionKey": slow.key})
	if kind, _ := slow.waitEnd(slow.run); kind != "cancelled" {
		t.Errorf("cancelled: %s", kind)
	}
	c.mustFail("bridge/acp/cancel", map[string]any{"childSessionKey": slow.key})
	dies := c.spawn(map[string]any{"task": "SLOW: 3600000"})
	dies.waitUpdate(dies.run, "text")
	for _, pid := range w.processes() {
		if command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); strings.Contains(string(command), "codex-acp") {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
	if m, _ := dies.waitUpdate(dies.run, "done", "failed", "cancelled"); m.Param("kind") != "failed" || !strings.Contains(m.Param("text"), "killed") {
		t.Errorf("killed: %s", m.Raw)
	}

	// Refused requests, with their errors.
	for want, params := range map[string]map[string]any{
		"forbidden sandbox":          {"task": "x", "sandbox": "require"},
		"forbidden sandboxed thread": {"task": "x", "threadId": thread},
		"error thread = true":        {"task": "x", "mode": "session"},
		"error no agent \"nobody\"":  {"task": "x", "agentId": "nobody"},
		"error no licence":           {"task": "x", "agentId": "broken"},
		"error sessionKey":           {"task": "x", "streamTo": "parent"},
	} {
		status, words, _ := strings.Cut(want, " ")
		if result := c.must("bridge/acp/spawn", params); editor.Member(result, "status") != status || !strings.Contains(editor.Member(result, "error"), words) {
			t.Errorf("%v: %s", params, result)
		}
	}

	// The conversation continues, and its end ends all agents.
	c.runTurn(thread, "good day")
	for range 3 {
		last := c.spawn(map[string]any{"task": "SLOW: 3600000"})
		last.waitUpdate(last.run, "text")
	}
	c.closeAndWait()
	w.checkNoProcesses()
}

// A session of an agent takes follow-ups and knows the conversation.
func TestAgentSessionKeepsConversation(t *testing.T) {
	t.Parallel()
	w := newAgentWorld(t, "")
	other := w.open(proxyArgv...) // it does not offer the bridge: Codex gets the method and does not know it
	other.initialize(nil)
	if failed := other.mustFail("bridge/acp/spawn", map[string]any{"task": "x"}); failed.Code != -32600 {
		t.Error(failed)
	}
	other.closeAndWait()

	c := w.open(proxyArgv...).initializeWithBridge()
	for method, params := range map[string]map[string]any{
		"bridge/acp/spawn": {"tusk": "x"}, "bridge/acp/send": {"childSessionKey": "x", "text": "x"}, "bridge/acp/cancel": {"childSessionKey": 1},
	} {
		if failed := c.mustFail(method, params); failed.Code != -32602 || !strings.HasPrefix(failed.Message, method) {
			t.Error(failed)
		}
	}
	one := c.spawn(map[string]any{"task": "My name is Ada.", "thread": true})
	if kind, text := one.waitEnd(one.run); kind != "done" || !strings.Contains(text, "You said: My name is Ada.") {
		t.Errorf("%s, %q", kind, text)
	}
	run := editor.Member(c.must("bridge/acp/send", map[string]any{"childSessionKey": one.key, "text": "Who am I?"}), "runId")
	if kind, text := one.waitEnd(run); kind != "done" || !strings.Contains(text, "You said: Who am I?") {
		t.Errorf("%s, %q", kind, text)
	}
	if _, err := w.model.Await(c.ctx, func(r scripted.Request) bool { return r.UserText() == "Who am I?" && r.Contains("My name is Ada.") }); err != nil {
		t.Error(err)
	}
	c.must("bridge/acp/cancel", map[string]any{"childSessionKey": one.key, "close": true})
	if list := c.must("bridge/acp/list", map[string]any{}); strings.Contains(string(list), one.key) {
		t.Errorf("%s", list)
	}
	c.closeAndWait()
	w.checkNoProcesses()
}

// Ten agents run at once, each with its own Codex.
func TestTenAgentsRunAtOnce(t *testing.T) {
	t.Parallel()
	w := newAgentWorld(t, "")
	c := w.open(proxyArgv...).initializeWithBridge()
	type answer struct {
		n      int
		result json.RawMessage
		err    *editor.Error
	}
	answers := make(chan answer, 10)
	for n := range 10 {
		go func() {
			result, err := c.Call(c.ctx, "bridge/acp/spawn", map[string]any{"task": fmt.Sprintf("SAY: number %d", n)})
			answers <- answer{n, result, err}
		}()
	}
	for range 10 {
		a := <-answers
		if a.err != nil || editor.Member(a.result, "status") != "accepted" {
			t.Fatalf("%d: %s, %v", a.n, a.result, a.err)
		}
		one := spawned{c, editor.Member(a.result, "childSessionKey"), editor.Member(a.result, "runId"), "", 0}
		if kind, text := one.waitEnd(one.run); kind != "done" || text != fmt.Sprintf("number %d", a.n) {
			t.Errorf("%d: %s, %q", a.n, kind, text)
		}
	}
	c.closeAndWait()
	w.checkNoProcesses()
}

// If the bridge is killed, its agents end, with their bridges and Codexes.
func TestAgentsEndWithTheBridge(t *testing.T) {
	t.Parallel()
	w := newAgentWorld(t, "")
	c := w.open(proxyArgv...).initializeWithBridge()
	one := c.spawn(map[string]any{"task": "SLOW: 3600000"})
	one.waitUpdate(one.run, "text")
	if err := syscall.Kill(c.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.checkNoProcesses()
}
