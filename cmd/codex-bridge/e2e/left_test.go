//go:build linux

package e2e_test

import (
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// Work left in a thread without questions: when a client opens the thread, Codex continues the work
// without turn/start.
var leftBehind = map[string]struct {
	left  request   // sent before, to Codex alone, which has not loaded the thread
	first []request // sent after the thread was opened
}{
	"queue": {
		request{"thread/queue/add", `{"threadId":"$THREAD","clientUserMessageId":"m",` + words + `}`},
		[]request{{"thread/queue/start", `{"threadId":"$THREAD"}`}},
	},
	"goal": {request{"thread/goal/set", `{"threadId":"$THREAD","objective":"$WORD","status":"active","tokenBudget":20}`}, nil},
}

// leaveAndOpen leaves work in a thread without limits, and opens the thread with argv. It declines
// all questions.
func (w *world) leaveAndOpen(t *testing.T, left request, then []request, argv ...string) *attackRun {
	t.Helper()
	made := w.open(codexPath, "app-server")
	made.initialize(nil)
	thread := made.thread(looseThread)
	made.runTurn(thread, "good day")
	made.closeAndWait()
	other := w.open(codexPath, "app-server")
	other.initialize(nil)
	s := other.newAttackRun("left", attack{}, thread, "", listen(t))
	for _, when := range []string{s.word, `<codex_internal_context source="goal">`} {
		w.model.Add(scripted.Step{When: when, Reply: scripted.Reply{scripted.Run("touch " + s.out + "/marker")}})
	}
	if m := s.sendAttack("left", left); m.Error != nil {
		t.Fatalf("%s", m.Raw)
	}
	other.closeAndWait()
	c := w.openAnswering("decline", argv...)
	c.initialize(nil)
	s.conversation = c
	s.answer = s.sendAttack("open", request{"thread/resume", `{"threadId":"$THREAD"}`}).Raw
	for _, r := range then {
		s.sendAttack(r.method, r)
	}
	return s
}

// Codex alone runs the work.
func TestLeftWorkRunsWithoutBridge(t *testing.T) {
	t.Parallel()
	for name, l := range leftBehind {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWorld(t, options{}).leaveAndOpen(t, l.left, l.first, codexPath, "app-server")
			s.waitEffect("no marker", hasMarker)
		})
	}
}

// Under a policy the thread opens with the policy's settings, and its work asks; the editor
// declines.
func TestLeftWorkIsAsked(t *testing.T) {
	t.Parallel()
	for name, l := range leftBehind {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWorld(t, options{config: policyConfig}).leaveAndOpen(t, l.left, l.first, proxyArgv...)
			s.waitFor(0, "turn/completed", nil)
			if s.closeAndWait(); hasMarker(s) {
				t.Errorf("the work ran: %.500s", s.answer)
			}
		})
	}
}

// If a policy allows several approval policies, the thread's own would return, and Codex continues
// a goal at once: the thread opens with an allowed one. A thread with "never" gets one that also asks for nothing.
func TestLeftWorkUnderSeveralApprovals(t *testing.T) {
	t.Parallel()
	for name, l := range leftBehind {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, dir := withTee(t, options{config: strings.Replace(policyConfig, `"untrusted"`, `"untrusted", "on-request"`, 1)})
			s := newWorld(t, o).leaveAndOpen(t, l.left, l.first, proxyArgv...)
			s.waitFor(0, "turn/completed", nil)
			if s.closeAndWait(); hasMarker(s) {
				t.Errorf("the work ran: %.500s", s.answer)
			}
			for _, line := range recordedLines(t, dir, "out") {
				said := editor.Member(line, "result", "approvalPolicy")
				if said != "" && said != "on-request" && (!strings.HasPrefix(said, `{"granular":`) || strings.Contains(said, "true")) {
					t.Errorf("Codex reports %s", said)
				}
			}
		})
	}
}
