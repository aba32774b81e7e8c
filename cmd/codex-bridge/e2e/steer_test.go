//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// enqueueResult is the result of a message.
type enqueueResult struct {
	ThreadID, Disposition, TurnID string
	failed                        *editor.Error
}

// enqueue sends bridge/turn/enqueue; the response arrives on the channel.
func (c *conversation) enqueue(p map[string]any) <-chan enqueueResult {
	c.t.Helper()
	answer := make(chan enqueueResult, 1)
	before := c.Mark()
	go func() {
		var r enqueueResult
		result, err := c.Call(c.ctx, "bridge/turn/enqueue", p)
		if r.failed = err; err == nil {
			_ = json.Unmarshal(result, &r) // an invalid result fails the test later
		}
		answer <- r
	}()
	if _, err := c.Wait(c.ctx, before, func(m editor.Message) bool {
		return m.Sent && m.Method == "bridge/turn/enqueue"
	}); err != nil {
		c.t.Fatal(err)
	}
	return answer
}

// waitIdle waits until no turn runs and no message waits.
func (c *conversation) waitIdle() {
	c.t.Helper()
	for {
		var s struct {
			Turns struct{ Running, Waiting int }
		}
		if err := json.Unmarshal(c.must("bridge/status", map[string]any{}), &s); err != nil {
			c.t.Fatal(err)
		}
		if s.Turns.Running+s.Turns.Waiting == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// modelReceived reports whether the model got a text.
func (w *world) modelReceived(text string) bool {
	return slices.ContainsFunc(w.model.Requests(), func(r scripted.Request) bool { return r.Contains(text) })
}

// Two hundred messages within about two seconds, across ends of turns, interrupts, a review and a
// compaction: each reaches the model once, in order. The client opted out of all related
// notifications.
//
// It runs alone. Measured at a load of 14: Codex reports no item for the first input of a turn that is
// interrupted before the model has got it.
func TestMessagesArrive(t *testing.T) {
	w := newWorld(t, options{config: "[policy]\nmode = \"enforce\"\n[steering]\nquiet = \"5ms\"\n"})
	c := w.open(proxyArgv...)
	c.initialize(map[string]any{
		"experimentalApi": true, "bridge": map[string]any{"version": 1},
		"optOutNotificationMethods": []string{"turn/started", "turn/completed", "item/started", "thread/tokenUsage/updated"},
	})
	thread := editor.Member(c.must("thread/start", map[string]any{"cwd": w.workspace}), "thread", "id")

	const n = 200
	modes := []string{"steer", "steer", "steer", "steer", "steer", "steer", "steer", "followup", "steer", "queue"}
	var answers []<-chan enqueueResult
	var beside sync.WaitGroup
	for i := range n {
		answers = append(answers, c.enqueue(map[string]any{
			"threadId": thread, "input": fmt.Sprintf("SLOW: %d\n#%d", i%7*15, i), "mode": modes[i%len(modes)], "quietMs": i % 3 * 5,
		}))
		time.Sleep(8 * time.Millisecond) // it varies the timing
		request := func(method string, p map[string]any) {
			p["threadId"] = thread
			beside.Go(func() { _, _ = c.Call(c.ctx, method, p) }) // Codex may refuse it
		}
		switch {
		case i%23 == 11:
			request("bridge/turn/interrupt", map[string]any{})
		case i == 60 || i == 130:
			request("thread/compact/start", map[string]any{})
		case i == 90 || i == 160:
			request("review/start", map[string]any{
				"delivery": "inline", "target": map[string]any{"type": "custom", "instructions": "SLOW: 300"},
			})
		}
	}
	how := make(map[string]int)
	for i, answer := range answers {
		r := <-answer
		if r.failed != nil || r.ThreadID != thread || (r.TurnID == "") != (r.Disposition == "queued") {
			t.Errorf("message %d: %+v", i, r)
		}
		how[r.Disposition]++
	}
	beside.Wait()
	c.waitIdle()
	// The number of steers depends on the machine; lifecycle/turn has deterministic tests.
	if how["started"] == 0 || how["queued"] == 0 {
		t.Errorf("results of the messages: %v", how)
	}
	for _, m := range c.Messages() {
		if !m.Sent && (m.Method == "turn/started" || m.Method == "turn/completed" || m.Method == "item/started") {
			t.Fatalf("the client got a notification that it opted out of: %s", m.Raw)
		}
	}
	// An interrupted turn has no item/completed for a message that Codex has taken, so its record counts.
	var read struct {
		Thread struct {
			Turns []struct {
				Items []struct{ Content []struct{ Text string } }
			}
		}
	}
	if err := json.Unmarshal(c.must("thread/read", map[string]any{"threadId": thread, "includeTurns": true}), &read); err != nil {
		t.Fatal(err)
	}
	var accepted []int
	for _, turn := range read.Thread.Turns {
		for _, item := range turn.Items {
			for _, part := range item.Content {
				if _, id, ok := strings.Cut(part.Text, "\n#"); ok {
					k, err := strconv.Atoi(id)
					if err != nil {
						t.Fatal(err)
					}
					accepted = append(accepted, k)
				}
			}
		}
	}
	want := make([]int, n)
	for i := range want {
		want[i] = i
	}
	if !slices.Equal(accepted, want) {
		t.Errorf("Codex accepted %v", accepted)
	}
	for id := range n {
		if !w.modelReceived(`\n#` + strconv.Itoa(id) + `"`) {
			t.Errorf("the model did not get %d", id)
		}
	}
}

// A review and a compaction take no messages: they wait for the end.
func TestReviewTakesNoMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: sessionPolicy})
	c := w.open(proxyArgv...).initializeWithBridge()
	first := c.runSessionTurn("chat", "SAY: one", nil)
	thread := first.ThreadID

	for _, closed := range []struct {
		name  string
		begin func()
	}{
		{"review", func() {
			c.must("review/start", map[string]any{
				"threadId": thread, "delivery": "inline", "target": map[string]any{"type": "custom", "instructions": "SLOW: 1500"},
			})
		}},
		{"compaction", func() {
			w.model.Add(scripted.Step{Reply: scripted.Reply{scripted.Slow{For: 1500 * time.Millisecond}}})
			c.must("thread/compact/start", map[string]any{"threadId": thread})
		}},
	} {
		mark := c.Mark()
		closed.begin()
		c.waitFor(mark, "turn/started", nil)
		r := <-c.enqueue(map[string]any{"threadId": thread, "input": "SAY: after the " + closed.name, "quietMs": 0})
		if r.failed != nil || r.Disposition != "queued" {
			t.Errorf("during a %s: %+v", closed.name, r)
		}
		c.waitIdle()
		if !w.modelReceived("after the " + closed.name) {
			t.Errorf("after the %s the model got no message", closed.name)
		}
	}
	// The bridge's compaction reports its end, and a requested turn waits for it.
	mark := c.Mark()
	done := make(chan json.RawMessage, 1)
	go func() {
		result, err := c.Call(c.ctx, "bridge/turn/compact", map[string]any{"sessionKey": "chat"})
		if err != nil {
			t.Error(err)
		}
		done <- result
	}()
	if _, err := c.Wait(c.ctx, mark, func(m editor.Message) bool { return m.Sent }); err != nil {
		t.Fatal(err)
	}
	if r := c.runSessionTurn("chat", "SAY: compacted", nil); r.Text != "compacted" {
		t.Errorf("after the compaction: %+v", r)
	}
	result := <-done
	if editor.Member(result, "status") != "completed" || editor.Member(result, "threadId") != thread || editor.Member(result, "turnId") == "" {
		t.Errorf("the compaction: %s", result)
	}
	kinds := []string{}
	for _, m := range c.Messages()[mark:] {
		if m.Param("item", "type") == "contextCompaction" {
			kinds = append(kinds, m.Method)
		}
	}
	if !slices.Equal(kinds, []string{"item/started", "item/completed"}) {
		t.Errorf("notifications about the compaction: %v", kinds)
	}
}

// For a client that answers nothing, approvals are declined, with and without a policy, and a
// question waits for the next message.
func TestUnattendedQuestionsDecline(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{
		"policy":    "[policy]\nmode = \"enforce\"\napproval = [\"untrusted\"]\nsandbox = \"workspace-write\"\n",
		"no policy": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: config, codexConfig: "[features]\ndefault_mode_request_user_input = true\n"})
			c := w.open(proxyArgv...)
			c.initialize(map[string]any{"experimentalApi": true, "bridge": map[string]any{"version": 1, "approvals": false}})
			thread := map[string]any{"cwd": w.workspace, "approvalPolicy": "untrusted", "sandbox": "workspace-write"}
			r := c.runSessionTurn("chat", "RUN: touch made", map[string]any{"thread": thread})
			if _, err := os.Stat(filepath.Join(w.workspace, "made")); r.Status != "completed" || err == nil {
				t.Errorf("an action ran without approval: %+v", r)
			}
			if out, problems, status := w.runShell("", "decisions", "list"); config != "" && !strings.Contains(out, "approvals.nobody") || status != 0 {
				t.Errorf("log %s%s", out, problems)
			}
			mark := c.Mark()
			asked := make(chan turnResult, 1)
			go func() { asked <- c.runSessionTurn("chat", "ASK: Which colour?", nil) }()
			question := c.waitFor(mark, "bridge/turn/question", nil)
			if !strings.Contains(string(question.Params), "Which colour?") {
				t.Errorf("question %s", question.Params)
			}
			e := <-c.enqueue(map[string]any{"sessionKey": "chat", "input": "green", "quietMs": 0})
			if e.failed != nil || e.Disposition != "answered" {
				t.Errorf("answer: %+v", e)
			}
			if r := <-asked; r.Status != "completed" || !strings.Contains(r.Text, "green") {
				t.Errorf("the turn that asked: %+v", r)
			}
			for _, m := range c.Messages() {
				if m.IsRequest() && !m.Sent {
					t.Errorf("the client got %s", m.Raw)
				}
			}
		})
	}
}

// A client that answers questions may also let the next message answer.
func TestMessageMayAnswerQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: sessionPolicy, codexConfig: "[features]\ndefault_mode_request_user_input = true\n"})
	c := w.open(proxyArgv...).initializeWithBridge()
	for _, own := range []bool{false, true} {
		mark := c.Mark()
		asked := make(chan turnResult, 1)
		go func() { asked <- c.runSessionTurn("chat", "ASK: Which colour?", nil) }()
		question := c.waitFor(mark, "item/tool/requestUserInput", nil)
		if own {
			if err := c.Reply(question, map[string]any{"answers": map[string]any{"q1": map[string]any{"answers": []string{"blue"}}}}); err != nil {
				t.Fatal(err)
			}
			if r := <-asked; r.Status != "completed" {
				t.Errorf("%+v", r)
			}
			r := <-c.enqueue(map[string]any{"sessionKey": "chat", "input": "SAY: no answer", "quietMs": 0})
			if r.Disposition != "started" {
				t.Errorf("after the client's own answer: %+v", r)
			}
			c.waitIdle()
			continue
		}
		r := <-c.enqueue(map[string]any{"sessionKey": "chat", "input": "green", "quietMs": 0})
		if r.failed != nil || r.Disposition != "answered" {
			t.Errorf("the message: %+v", r)
		}
		c.waitFor(question.Index, "serverRequest/resolved", func(m editor.Message) bool { return m.Param("requestId") == string(question.ID) })
		if r := <-asked; !strings.Contains(r.Text, "green") {
			t.Errorf("the turn: %+v", r)
		}
	}
}
