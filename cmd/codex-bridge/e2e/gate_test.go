//go:build linux

package e2e_test

import (
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge/cmd/internal/editor"
)

// gateConfig leaves it to the editor how often it is asked.
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

// An editor that wants to be asked about everything is, by the bridge: once a call, in
// Codex's words. What it accepts stays in the sandbox, also what fails there.
func TestGate(t *testing.T) {
	t.Parallel()
	o, dir := withTee(t, options{config: gateConfig})
	w := newWorld(t, o)
	a := w.agreeable(proxyArgv...)
	opened := a.must("thread/start", map[string]any{"cwd": w.workspace, "approvalPolicy": "untrusted", "sandbox": "workspace-write"})
	thread := editor.Member(opened, "thread", "id")
	if got := editor.Member(opened, "approvalPolicy"); got != "untrusted" {
		t.Errorf("the editor is shown %q", got)
	}
	for _, test := range []struct {
		text  string
		asked int
		told  string
	}{ // workspace-write lets a command write below /tmp, where the test's folders lie
		{"RUN: echo yes > inside", 1, "Process exited with code 0"},
		{"PATCH: patched\nx", 1, "Success"},
		{"PATCH: " + filepath.Join(w.root, "out") + "\nx", 0, "policy"},
		{"PATCH: .git/out\nx", 0, "policy"},
		{w.escalates("out"), 0, "policy.escalation"},
		{"RUN: mkdir folder", 1, "Process exited with code 0"},
	} {
		if asked := a.turn(thread, test.text); len(asked) != test.asked {
			t.Errorf("%s: the editor was asked %q", test.text, asked)
		}
		if told := w.told(); !strings.Contains(told, test.told) {
			t.Errorf("%s: the model was told %q", test.text, told)
		}
	}
	thread = a.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"})
	for _, text := range []string{"touch out", "touch out 2>/dev/null || { echo permission denied; false; }"} {
		if asked := a.turn(thread, "RUN: "+text); len(asked) != 1 {
			t.Errorf("%s: the editor was asked %q", text, asked)
		}
		if told := w.told(); !strings.Contains(told, "Process exited with code 1") {
			t.Errorf("%s: the model was told %q", text, told)
		}
	}
	mark := a.Mark()
	a.quit()
	if w.left("out") || w.left("workspace/out") {
		t.Error("it got out")
	}
	a.present("inside", "patched", "folder")
	if started := a.startedTwice(mark); started != "" {
		t.Errorf("the item %s was started twice", started)
	}
	for _, line := range recordedLines(t, dir, "in") {
		if editor.Member(line, "params", "approvalPolicy") == "untrusted" {
			t.Errorf("codex was told %s", line)
		}
	}
}

// startedTwice is an item that the editor heard the start of more than once; "" none.
func (c *conversation) startedTwice(before int) string {
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

// The editor says how often it is asked, as far as policy lets it, at any time. What is
// forked from a thread, or resumed, is asked about as that is.
func TestGateFollows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: gateConfig})
	a := w.agreeable(proxyArgv...)
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
		t.Errorf("asked %d times", got)
	}
	if got := asked(thread, map[string]any{"approvalPolicy": "on-request"}); got != 0 {
		t.Errorf("under on-request asked %d times", got)
	}
	if got := a.turn(thread, "RUN: mkdir b"); len(got) != 1 || got[0] != "Folders are for people. (shell: bash)" {
		t.Errorf("a rule asks: %q", got)
	}
	if got := asked(thread, map[string]any{"approvalPolicy": "never"}); got != 0 {
		t.Errorf("under never asked %d times", got)
	}
	if got := a.turn(thread, "RUN: mkdir c"); len(got) != 0 || !strings.Contains(w.told(), "Folders are for people") {
		t.Errorf("a rule asks where nobody is asked: %q, and the model was told %q", got, w.told())
	}
	mark := a.Mark()
	if got := asked(thread, map[string]any{"approvalPolicy": "untrusted"}); got != 1 {
		t.Errorf("under untrusted again asked %d times", got)
	}
	shown := a.waitFor(mark, "thread/settings/updated", nil)
	if got := shown.Param("threadSettings", "approvalPolicy"); got != "untrusted" {
		t.Errorf("the editor is shown %q", got)
	}
	forked := a.must("thread/fork", map[string]any{"threadId": thread})
	if got := editor.Member(forked, "approvalPolicy"); got != "untrusted" {
		t.Errorf("of the fork the editor is shown %q", got)
	}
	if got := asked(editor.Member(forked, "thread", "id"), nil); got != 1 {
		t.Errorf("in the fork asked %d times", got)
	}
	a.quit()

	a = w.agreeable(proxyArgv...)
	resumed := a.resume(thread, map[string]any{"approvalPolicy": "untrusted"})
	if got := editor.Member(resumed, "approvalPolicy"); got != "untrusted" {
		t.Errorf("resumed, the editor is shown %q", got)
	}
	if got := len(a.turn(thread, "RUN: true")); got != 1 {
		t.Errorf("resumed, asked %d times", got)
	}
	a.quit()
	if w.left("workspace/c") {
		t.Error("it ran")
	}
}

// On a read-only thread Codex asks about a patch as well: the one answer counts for both.
func TestGateAsksOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: strings.Replace(gateConfig, "[policy]", "[policy]\nescalation = \"ask\"", 1)})
	a := w.agreeable(proxyArgv...)
	thread := a.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"})
	if asked := a.turn(thread, "PATCH: patched\nx"); len(asked) != 1 {
		t.Errorf("asked %q", asked)
	}
	a.quit()
	a.present("patched")
}

// A no is one, whatever it looks like, and so is no answer at all.
func TestGateDeclines(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]struct {
		result any // nil: none
		told   string
		status string
	}{
		"decline": {decision("decline"), "rejected by user", "completed"},
		"cancel":  {decision("cancel"), "", "interrupted"},
		"bogus":   {decision("approved"), "rejected by user", "completed"},
		"nothing": {map[string]any{}, "rejected by user", "completed"},
		"late":    {nil, "no answer came within 2s", "completed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: gateConfig + "[approvals]\ntimeout = \"2s\"\n"})
			c := w.open(proxyArgv...)
			c.initialize(nil)
			thread := c.thread(asksAll)
			turn, mark := c.begin(thread, "RUN: echo > written")
			asked := c.waitFor(mark, commandApproval, nil)
			if answer.result != nil {
				if err := c.Reply(asked, answer.result); err != nil {
					t.Fatal(err)
				}
			}
			c.waitFor(asked.Index, "serverRequest/resolved", nil)
			if status := c.end(thread, turn, mark); status != answer.status {
				t.Errorf("the turn is %s", status)
			}
			if ended := c.waitFor(mark, "item/completed", func(m editor.Message) bool { return m.Param("item", "type") == "commandExecution" }); ended.Param("item", "status") != "declined" {
				t.Errorf("the item: %s", ended.Params)
			}
			if answer.told != "" && !strings.Contains(w.told(), answer.told) {
				t.Errorf("the model was told %q", w.told())
			}
			c.quit()
			c.absent("written")
		})
	}
}

// Who interrupts the turn has the question taken back.
func TestGateInterrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: gateConfig})
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(asksAll)
	turn, mark := c.begin(thread, "RUN: echo > written")
	asked := c.waitFor(mark, commandApproval, nil)
	c.must("turn/interrupt", map[string]any{"threadId": thread, "turnId": turn})
	if status := c.end(thread, turn, mark); status != "interrupted" {
		t.Errorf("the turn is %s", status)
	}
	c.waitFor(asked.Index, "serverRequest/resolved", nil)
	c.quit()
	c.absent("written")
}

// What is accepted for longer is remembered here, exactly; Codex is not told.
func TestGateRemembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: gateConfig + "[approvals]\nremember = \"session\"\n"})
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(asksAll)
	c.sayAnd(thread, "RUN: echo a", commandApproval, decision("acceptForSession"))
	turn, mark := c.begin(thread, "RUN: echo a")
	if c.end(thread, turn, mark); !strings.Contains(w.told(), "Process exited with code 0") {
		t.Errorf("the model was told %q", w.told())
	}
	if asked := c.asked(mark); len(asked) > 0 {
		t.Errorf("the same again: asked %q", asked)
	}
	c.sayAnd(thread, "RUN: echo  a", commandApproval, decision("cancel"))
	c.quit()
}
