//go:build linux

package e2e_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// gatedAttacks make the model work, or change its input, without turn/start. Each uses its own
// thread, which has run a turn; with holds, its second turn, $TURN, still runs.
var gatedAttacks = map[string]struct {
	attack
	holds bool
}{
	"turn":          {attack: attack{method: "turn/start", params: `{"threadId":"$THREAD",` + words + `}`, effect: reachedModel}},
	"steer":         {attack: attack{method: "turn/steer", params: `{"threadId":"$THREAD","expectedTurnId":"$TURN",` + words + `}`, effect: reachedModel}, holds: true},
	"context":       {attack: attack{method: "turn/steer", params: `{"threadId":"$THREAD","expectedTurnId":"$TURN","input":[{"type":"text","text":"more"}],"additionalContext":{"x":{"kind":"application","value":"$WORD"}}}`, effect: reachedModel}, holds: true},
	"turn settings": {attack: attack{method: "turn/settings/update", params: `{"threadId":"$THREAD","turnId":"$TURN","approvalsReviewer":"user"}`, effect: gotResult}, holds: true},
	"settings":      {attack: attack{method: "thread/settings/update", params: `{"threadId":"$THREAD","effort":"low"}`, effect: gotResult}},
	"queue":         {attack: attack{method: "thread/queue/add", params: `{"threadId":"$THREAD","clientUserMessageId":"m",` + words + `}`, effect: reachedModel}},
	"queue start":   {attack: attack{method: "thread/queue/start", params: `{"threadId":"$THREAD"}`, effect: clientReceives("queue is empty")}},
	"queue update":  {attack: attack{method: "thread/queue/update", params: `{"threadId":"$THREAD","queuedSubmissionId":"00000000-0000-7000-8000-000000000000",` + words + `}`, effect: clientReceives("queued submission not found")}},
	"queue reorder": {attack: attack{method: "thread/queue/reorder", params: `{"threadId":"$THREAD","queuedSubmissionIds":[]}`, effect: gotResult}},
	"goal":          {attack: attack{method: "thread/goal/set", params: `{"threadId":"$THREAD","objective":"$WORD","status":"active","tokenBudget":20}`, effect: reachedModel}},
	"review":        {attack: attack{method: "review/start", params: `{"threadId":"$THREAD","target":{"type":"custom","instructions":"$WORD"}}`, effect: reachedModel}},
	"review diff":   {attack: attack{method: "review/start", params: `{"threadId":"$THREAD","delivery":"inline","target":{"type":"uncommittedChanges"}}`, effect: gotResult}},
	"compact":       {attack: attack{method: "thread/compact/start", params: `{"threadId":"$THREAD"}`, effect: clientReceives(`"contextCompaction"`)}},
	"sample":        {attack: attack{method: "thread/sample", params: `{"threadId":"$THREAD","expectedTurnId":"$TURN","prompt":"$WORD"}`, effect: reachedModel}},
	"prediction":    {attack: attack{method: "thread/prediction/request", params: `{"threadId":"$THREAD","sourceTurnId":"$TURN"}`, effect: clientReceives("is not implemented yet")}},
	"guardian":      {attack: attack{method: "thread/guardianReview", params: `{"threadId":"$THREAD"}`, effect: clientReceives("expected a completed plaintext exec_command")}},
	"revert":        {attack: attack{method: "thread/revert", params: `{"threadId":"$THREAD","beforeTurnId":"$TURN"}`, effect: gotResult}},
	"voice":         {attack: attack{method: "thread/realtime/start", params: `{"threadId":"$THREAD","outputModality":"text","transport":{"type":"websocket"}}`, effect: clientReceives("realtime conversation requires API key auth")}},
	"voice text":    {attack: attack{method: "thread/realtime/appendText", params: `{"threadId":"$THREAD","text":"$WORD"}`, effect: clientReceives("conversation is not running")}},
	"voice speech":  {attack: attack{method: "thread/realtime/appendSpeech", params: `{"threadId":"$THREAD","text":"$WORD"}`, effect: clientReceives("conversation is not running")}},
	"voice audio":   {attack: attack{method: "thread/realtime/appendAudio", params: `{"threadId":"$THREAD","audio":{"data":"AAAA","sampleRate":24000,"numChannels":1}}`, effect: clientReceives("conversation is not running")}},
}

const words = `"input":[{"type":"text","text":"$WORD"}]`

// openGated opens a thread for each attack and prepares the attack.
func (c *conversation) openGated(params map[string]any) []*attackRun {
	c.t.Helper()
	var all []*attackRun
	for _, name := range slices.Sorted(maps.Keys(gatedAttacks)) {
		g := gatedAttacks[name]
		thread := c.thread(params)
		turn, mark := c.startTurn(thread, "good day")
		c.waitTurn(thread, turn, mark)
		if g.holds {
			turn, mark = c.startTurn(thread, "HOLD")
			c.waitFor(mark, "item/agentMessage/delta", func(m editor.Message) bool { return m.Param("threadId") == thread })
		}
		all = append(all, c.newAttackRun(name, g.attack, thread, turn, listen(c.t)))
	}
	return all
}

// holdModel makes the model pause until the end of the test at the word HOLD.
func (w *world) holdModel(release chan struct{}) {
	for _, g := range gatedAttacks {
		if g.holds {
			w.model.Add(scripted.Step{When: "HOLD", Reply: scripted.Reply{scripted.Paused{Until: release}}})
		}
	}
}

// runGatedAttacks runs all attacks on threads of a conversation and waits for their effects.
func (w *world) runGatedAttacks(params map[string]any, argv ...string) {
	w.t.Helper()
	release := make(chan struct{})
	w.holdModel(release)
	c := w.openAnswering("decline", argv...)
	c.initialize(nil)
	all := c.openGated(params)
	for _, s := range all {
		s.runAttack(true)
	}
	close(release)
	for _, s := range all {
		s.waitEffect("no effect", s.effect)
	}
}

// With Codex alone all attacks work on a thread without questions and sandbox.
func TestGatedControl(t *testing.T) {
	t.Parallel()
	newWorld(t, options{}).runGatedAttacks(looseThread, codexPath, "app-server")
}

var looseThread = map[string]any{"approvalPolicy": "never", "sandbox": "danger-full-access"}

// Under a policy they work on a verified thread.
func TestGatedVerified(t *testing.T) {
	t.Parallel()
	// If each command must ask, a review is refused: see TestReviewUnasked and TestModelReview.
	config := strings.Replace(policyConfig, `"untrusted"`, `"untrusted", "on-request"`, 1) + "reviewers = [\"user\", \"auto_review\"]\n"
	newWorld(t, options{config: config}).runGatedAttacks(map[string]any{"approvalPolicy": "untrusted", "sandbox": "read-only"}, proxyArgv...)
}

// A thread opened before the policy is loaded in Codex without limits. No work starts on it, and its turn is interrupted.
func TestGatedLoosened(t *testing.T) {
	t.Parallel()
	o, dir := withTee(t, options{config: strings.Replace(policyConfig, "enforce", "audit", 1)})
	w := newWorld(t, o)
	release := make(chan struct{})
	w.holdModel(release)
	c := w.openAnswering("decline", proxyArgv...)
	c.initialize(nil)
	all := c.openGated(looseThread)
	effective := c.Mark()
	w.write("config.toml", policyConfig)
	for {
		answer := c.must("thread/start", map[string]any{"cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": "read-only"})
		if editor.Member(answer, "approvalPolicy") == "untrusted" {
			break
		}
		select {
		case <-c.ctx.Done():
			t.Fatal("the policy is not effective")
		case <-time.After(20 * time.Millisecond):
		}
	}
	heard := len(recordedLines(t, dir, "in"))
	requests := len(w.model.Requests())
	for _, s := range all {
		s.from = c.Mark()
		s.gate()
	}
	for _, s := range all {
		if thread := s.fill.Replace("$THREAD"); gatedAttacks[s.name].holds {
			c.waitFor(effective, "turn/completed", func(m editor.Message) bool {
				return m.Param("threadId") == thread && m.Param("turn", "status") == "interrupted"
			})
		}
	}
	close(release)
	c.closeAndWait()
	for _, s := range all {
		if s.effect(s) {
			t.Errorf("%s had its effect", s.name)
		}
		s.checkNotForwarded(recordedLines(t, dir, "in")[heard:])
	}
	if n := len(w.model.Requests()); n != requests {
		t.Errorf("the model was asked %d times", n-requests)
	}
}

// Nor on a thread that was made elsewhere and never opened here.
func TestGatedElsewhere(t *testing.T) {
	t.Parallel()
	o, dir := withTee(t, options{config: policyConfig})
	w := newWorld(t, o)
	release := make(chan struct{})
	close(release)
	w.holdModel(release)
	made := w.open(codexPath, "app-server")
	made.initialize(nil)
	all := made.openGated(looseThread)
	for _, s := range all {
		if gatedAttacks[s.name].holds {
			made.waitTurn(s.fill.Replace("$THREAD"), s.fill.Replace("$TURN"), s.from-1)
		}
	}
	made.closeAndWait()
	requests := len(w.model.Requests())
	c := w.openAnswering("decline", proxyArgv...)
	c.initialize(nil)
	for _, s := range all {
		s.conversation, s.from = c, c.Mark()
		s.gate()
	}
	c.closeAndWait()
	for _, s := range all {
		if s.effect(s) {
			t.Errorf("%s has had its effect", s.name)
		}
		s.checkNotForwarded(recordedLines(t, dir, "in"))
	}
	if n := len(w.model.Requests()); n != requests {
		t.Errorf("the model was asked %d times", n-requests)
	}
}

// gate makes the attack, as a request and as a notification: it is refused.
func (s *attackRun) gate() {
	s.t.Helper()
	answers := s.runAttack(false)
	m := answers[len(answers)-1]
	var data struct{ Method, Rule, Reason string }
	if m.Error == nil || json.Unmarshal(m.Error.Data, &data) != nil || !slices.Contains([]int{-32010, -32013}, m.Error.Code) ||
		data.Method != s.method || data.Rule == "" || data.Reason == "" {
		s.t.Errorf("%s: the client got %.500s", s.name, m.Raw)
	}
	if err := s.Send([]byte("{" + s.members(request{s.method, s.params}) + "}")); err != nil {
		s.t.Fatal(err)
	}
}
