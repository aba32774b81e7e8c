//go:build linux

package e2e_test

import (
	"strings"
	"testing"

	"codex-bridge/cmd/internal/editor"
	"codex-bridge/cmd/internal/scripted"
)

// What somebody has left in a thread that runs without asking, for whoever opens
// it next: codex goes on with it on its own, without a turn/start.
var leftBehind = map[string]struct {
	left  said   // before, to a codex alone that has not opened the thread
	first []said // after it was opened
}{
	"queue": {
		said{"thread/queue/add", `{"threadId":"$THREAD","clientUserMessageId":"m",` + words + `}`},
		[]said{{"thread/queue/start", `{"threadId":"$THREAD"}`}},
	},
	"goal": {said{"thread/goal/set", `{"threadId":"$THREAD","objective":"$WORD","status":"active","tokenBudget":20}`}, nil},
}

// leave leaves something in a loose thread, and opens the thread with argv. Every
// question is declined.
func (w *world) leave(t *testing.T, left said, then []said, argv ...string) *assault {
	t.Helper()
	made := w.open(codexPath, "app-server")
	made.initialize(nil)
	thread := made.thread(looseThread)
	made.say(thread, "good day")
	made.quit()
	other := w.open(codexPath, "app-server")
	other.initialize(nil)
	s := other.assault("left", attack{}, thread, "", listen(t))
	for _, when := range []string{s.word, `<codex_internal_context source="goal">`} {
		w.model.Add(scripted.Step{When: when, Reply: scripted.Reply{scripted.Run("touch " + s.out + "/marker")}})
	}
	if m := s.send("left", left); m.Error != nil {
		t.Fatalf("%s", m.Raw)
	}
	other.quit()
	c := w.openAnswering("decline", argv...)
	c.initialize(nil)
	s.conversation = c
	s.answer = s.send("open", said{"thread/resume", `{"threadId":"$THREAD"}`}).Raw
	for _, r := range then {
		s.send(r.method, r)
	}
	return s
}

// Codex alone carries it out.
func TestLeftControl(t *testing.T) {
	t.Parallel()
	for name, l := range leftBehind {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWorld(t, options{}).leave(t, l.left, l.first, codexPath, "app-server")
			s.until("no marker", marked)
		})
	}
}

// Under a policy the thread is opened with what the policy allows, and what was
// left there is held to it: it is asked for, and declined.
func TestLeft(t *testing.T) {
	t.Parallel()
	for name, l := range leftBehind {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWorld(t, options{config: policyConfig}).leave(t, l.left, l.first, proxyArgv...)
			s.waitFor(0, "turn/completed", nil)
			if s.quit(); marked(s) {
				t.Errorf("it was carried out: %.500s", s.answer)
			}
		})
	}
}

// Where a policy leaves more than one approval, the thread's own would come back
// with it, and codex goes on with a goal as soon as the thread is open: the thread
// is opened with one that is allowed.
func TestLeftToMore(t *testing.T) {
	t.Parallel()
	for name, l := range leftBehind {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, dir := withTee(t, options{config: strings.Replace(policyConfig, `"untrusted"`, `"untrusted", "on-request"`, 1)})
			s := newWorld(t, o).leave(t, l.left, l.first, proxyArgv...)
			s.waitFor(0, "turn/completed", nil)
			if s.quit(); marked(s) {
				t.Errorf("it was carried out: %.500s", s.answer)
			}
			for _, line := range recordedLines(t, dir, "out") {
				if said := editor.Member(line, "result", "approvalPolicy"); said != "" && said != "on-request" { // the bridge asks in its place
					t.Errorf("codex says %s", said)
				}
			}
		})
	}
}
