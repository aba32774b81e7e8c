//go:build linux

package e2e_test

import (
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// gateConfig lets the editor choose the approval policy.
const gateConfig = `
[policy]
mode = "enforce"
approval = ["untrusted", "on-request", "never"]
sandbox = "workspace-write"
[[policy.rule]]
command = "mkdir **"
decision = "ask"
reason = "Folders are for people."
`

var asksAll = map[string]any{"approvalPolicy": "untrusted", "sandbox": "workspace-write"}

// For an editor with untrusted the bridge asks once per call, in Codex's form. An accepted call
// stays in the sandbox, even if it fails there.
func TestGateAsksForEachCall(t *testing.T) {
	t.Parallel()
	o, dir := withTee(t, options{config: gateConfig})
	w := newWorld(t, o)
	a := w.newAcceptingEditor(proxyArgv...)
	opened := a.must("thread/start", map[string]any{"cwd": w.workspace, "approvalPolicy": "untrusted", "sandbox": "workspace-write"})
	thread := editor.Member(opened, "thread", "id")
	if got := editor.Member(opened, "approvalPolicy"); got != "untrusted" {
		t.Errorf("approval policy %q", got)
	}
	for _, test := range []struct {
		text   string
		asked  int
		output string
	}{ // workspace-write allows /tmp, which has the folders of the tests
		{"RUN: echo yes > inside", 1, "Process exited with code 0"},
		{"PATCH: patched\nx", 1, "Success"},
		{"PATCH: " + filepath.Join(w.root, "out") + "\nx", 0, "policy"},
		{"PATCH: .git/out\nx", 0, "policy"},
		{w.escalates("out"), 0, "policy.escalation"},
		{"RUN: mkdir folder", 1, "Process exited with code 0"},
	} {
		if asked := a.turn(thread, test.text); len(asked) != test.asked {
			t.Errorf("%s: questions %q", test.text, asked)
		}
		if output := w.lastToolOutput(); !strings.Contains(output, test.output) {
			t.Errorf("%s: the model got %q", test.text, output)
		}
	}
	thread = a.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"})
	for _, text := range []string{"touch out", "touch out 2>/dev/null || { echo permission denied; false; }"} {
		if asked := a.turn(thread, "RUN: "+text); len(asked) != 1 {
			t.Errorf("%s: questions %q", text, asked)
		}
		if output := w.lastToolOutput(); !strings.Contains(output, "Process exited with code 1") {
			t.Errorf("%s: the model got %q", text, output)
		}
	}
	mark := a.Mark()
	a.closeAndWait()
	if w.hasFile("out") || w.hasFile("workspace/out") {
		t.Error("it left the sandbox")
	}
	a.checkPresent("inside", "patched", "folder")
	if started := a.repeatedItem(mark); started != "" {
		t.Errorf("the item %s has two item/started", started)
	}
	for _, line := range recordedLines(t, dir, "in") {
		if editor.Member(line, "params", "approvalPolicy") == "untrusted" {
			t.Errorf("Codex got %s", line)
		}
	}
}

// repeatedItem returns an item with more than one item/started; "" for none.
func (c *conversation) repeatedItem(before int) string {
	seen := make(map[string]bool)
	for _, m := range c.Messages()[:before] {
		if id := m.Param("item", "id"); !m.Sent && m.Method == "item/started" && m.Param("item", "type") != "userMessage" {
			if seen[id] {
				return id
			}
			seen[id] = true
		}
	}
	return ""
}

// The editor may change the approval policy at any time, within the policy. Forks and resumed
// threads keep it.
func TestGateFollowsApprovalPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: gateConfig})
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(asksAll)
	asked := func(thread string, params map[string]any) int {
		t.Helper()
		if params != nil {
			params["threadId"] = thread
			a.must("thread/settings/update", params)
		}
		return len(a.turn(thread, "RUN: true"))
	}
	if got := asked(thread, nil); got != 1 {
		t.Errorf("%d questions", got)
	}
	if got := asked(thread, map[string]any{"approvalPolicy": "on-request"}); got != 0 {
		t.Errorf("under on-request: %d questions", got)
	}
	if got := a.turn(thread, "RUN: mkdir b"); len(got) != 1 || !strings.HasPrefix(got[0], "Folders are for people (policy.rule, ") || !strings.HasSuffix(got[0], " (shell: bash)") {
		t.Errorf("questions by a rule: %q", got)
	}
	if got := asked(thread, map[string]any{"approvalPolicy": "never"}); got != 0 {
		t.Errorf("under never: %d questions", got)
	}
	if got := a.turn(thread, "RUN: mkdir c"); len(got) != 0 || !strings.Contains(w.lastToolOutput(), "Folders are for people") {
		t.Errorf("under never, questions by a rule: %q; the model got %q", got, w.lastToolOutput())
	}
	mark := a.Mark()
	if got := asked(thread, map[string]any{"approvalPolicy": "untrusted"}); got != 1 {
		t.Errorf("again under untrusted: %d questions", got)
	}
	shown := a.waitFor(mark, "thread/settings/updated", nil)
	if got := shown.Param("threadSettings", "approvalPolicy"); got != "untrusted" {
		t.Errorf("approval policy %q", got)
	}
	forked := a.must("thread/fork", map[string]any{"threadId": thread})
	if got := editor.Member(forked, "approvalPolicy"); got != "untrusted" {
		t.Errorf("fork: approval policy %q", got)
	}
	if got := asked(editor.Member(forked, "thread", "id"), nil); got != 1 {
		t.Errorf("fork: %d questions", got)
	}
	a.closeAndWait()

	a = w.newAcceptingEditor(proxyArgv...)
	resumed := a.resume(thread, map[string]any{"approvalPolicy": "untrusted"})
	if got := editor.Member(resumed, "approvalPolicy"); got != "untrusted" {
		t.Errorf("resumed: approval policy %q", got)
	}
	if got := len(a.turn(thread, "RUN: true")); got != 1 {
		t.Errorf("resumed: %d questions", got)
	}
	a.closeAndWait()
	if w.hasFile("workspace/c") {
		t.Error("the command ran")
	}
}

// On a read-only thread Codex also asks about a patch: one answer counts for both.
func TestGateAsksOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: strings.Replace(gateConfig, "[policy]", "[policy]\nescalation = \"ask\"", 1)})
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"})
	if asked := a.turn(thread, "PATCH: patched\nx"); len(asked) != 1 {
		t.Errorf("questions %q", asked)
	}
	a.closeAndWait()
	a.checkPresent("patched")
}

// Any answer but a plain yes declines, and so does a missing answer.
func TestGateDeclines(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]struct {
		result any // nil: no answer
		output string
		status string
	}{
		"decline": {decision("decline"), "rejected by user", "completed"},
		"cancel":  {decision("cancel"), "", "interrupted"},
		"bogus":   {decision("approved"), "the client's answer can't be read", "completed"},
		"nothing": {map[string]any{}, "the client's answer can't be read", "completed"},
		"late":    {nil, "no answer came within 2s", "completed"},
	} {
		if !isSampledName(2, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: gateConfig + "[approvals]\ntimeout = \"2s\"\n"})
			c := w.open(proxyArgv...)
			c.initialize(nil)
			thread := c.thread(asksAll)
			turn, mark := c.startTurn(thread, "RUN: echo > written")
			asked := c.waitFor(mark, commandApproval, nil)
			if answer.result != nil {
				if err := c.Reply(asked, answer.result); err != nil {
					t.Fatal(err)
				}
			}
			c.waitFor(asked.Index, "serverRequest/resolved", nil)
			if status := c.waitTurn(thread, turn, mark); status != answer.status {
				t.Errorf("turn status %s", status)
			}
			if ended := c.waitFor(mark, "item/completed", func(m editor.Message) bool { return m.Param("item", "type") == "commandExecution" }); ended.Param("item", "status") != "declined" {
				t.Errorf("the item: %s", ended.Params)
			}
			if answer.output != "" && !strings.Contains(w.lastToolOutput(), answer.output) {
				t.Errorf("the model got %q", w.lastToolOutput())
			}
			c.closeAndWait()
			c.checkAbsent("written")
		})
	}
}

// The verdicts of policy.methods about questions of Codex count for the gate's questions, too. Without the gate, Codex asks
// about the command itself, and the bridge declines.
func TestGateFollowsMethodVerdicts(t *testing.T) {
	t.Parallel()
	const rules = `
[[policy.rule]]
command = "echo **"
decision = "allow"
[[policy.rule]]
tool = "mcp__probe__read"
decision = "ask"
`
	verdicts := func(verdict string) string {
		return "[policy.methods]\n\"" + commandApproval + "\" = \"" + verdict + "\"\n\"" + fileApproval + "\" = \"" + verdict + "\"\n\"mcpServer/elicitation/request\" = \"" + verdict + "\"\n"
	}
	for _, world := range []struct {
		name, verdict string
		gate          bool
		asked         int // about each call
	}{{"deny", "deny", true, 0}, {"ask", "ask", true, 1}, {"control: Codex's own questions", "deny", false, 0}} {
		config := strings.Replace(gateConfig, "[[policy.rule]]", verdicts(world.verdict)+"[[policy.rule]]", 1) + rules
		if !world.gate {
			config = strings.Replace(config, "[policy]", "[policy]\ngate = false", 1)
		}
		w := newWorld(t, options{config: config, codexConfig: mcpConfigOf("probe", []string{"read"})})
		a := w.newAcceptingEditor(proxyArgv...)
		thread := a.thread(asksAll)
		for _, text := range []string{"RUN: touch a", "RUN: echo out", "PATCH: patched\nx", `CALL: mcp__probe/read {"path":"` + filepath.Join(w.root, "touched") + `"}`} {
			if !world.gate && !strings.HasPrefix(text, "RUN") || world.asked == 1 && strings.HasPrefix(text, "CALL") {
				continue // Codex does not ask about these, and the editor has no answer to a form
			}
			asked := a.turn(thread, text)
			if output := w.lastToolOutput(); len(asked) != world.asked || world.gate && world.asked == 0 && !strings.Contains(output, "policy.methods") {
				t.Errorf("%s: %s: questions %q; the model got %q", world.name, text, asked, output)
			}
		}
		for file, want := range map[string]bool{"workspace/a": world.asked == 1, "workspace/patched": world.asked == 1, "touched": false} {
			if done := w.hasFile(file); done != want {
				t.Errorf("%s: %s: done %t", world.name, file, done)
			}
		}
		a.closeAndWait()
	}
}

// An interrupt of the turn withdraws the question.
func TestGateInterrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: gateConfig})
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(asksAll)
	turn, mark := c.startTurn(thread, "RUN: echo > written")
	asked := c.waitFor(mark, commandApproval, nil)
	c.must("turn/interrupt", map[string]any{"threadId": thread, "turnId": turn})
	if status := c.waitTurn(thread, turn, mark); status != "interrupted" {
		t.Errorf("turn status %s", status)
	}
	c.waitFor(asked.Index, "serverRequest/resolved", nil)
	c.closeAndWait()
	c.checkAbsent("written")
}

// The bridge remembers a lasting accept for exactly this command; Codex gets none.
func TestGateRemembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: gateConfig + "[approvals]\nremember = \"session\"\n"})
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(asksAll)
	c.runTurnAnswering(thread, "RUN: echo a", commandApproval, decision("acceptForSession"))
	turn, mark := c.startTurn(thread, "RUN: echo a")
	if c.waitTurn(thread, turn, mark); !strings.Contains(w.lastToolOutput(), "Process exited with code 0") {
		t.Errorf("the model got %q", w.lastToolOutput())
	}
	if asked := c.questionsSince(mark); len(asked) > 0 {
		t.Errorf("repeated command: questions %q", asked)
	}
	c.runTurnAnswering(thread, "RUN: echo  a", commandApproval, decision("cancel"))
	c.closeAndWait()
}
