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

	"codex-bridge/cmd/internal/editor"
	"codex-bridge/cmd/internal/scripted"
)

// enqueued is what became of a message.
type enqueued struct {
	ThreadID, Disposition, TurnID string
	failed                        *editor.Error
}

// enqueue is bridge/turn/enqueue, which was sent when it returns; the answer comes later.
func (c *conversation) enqueue(p map[string]any) <-chan enqueued {
	c.t.Helper()
	answer := make(chan enqueued, 1)
	before := c.Mark()
	go func() {
		var r enqueued
		result, err := c.Call(c.ctx, "bridge/turn/enqueue", p)
		if r.failed = err; err == nil {
			_ = json.Unmarshal(result, &r) // an empty one is none of those that are wanted
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

// idle waits until nothing runs, and no message waits.
func (c *conversation) idle() {
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

// given tells whether the model was given a text.
func (w *world) given(text string) bool {
	return slices.ContainsFunc(w.model.Requests(), func(r scripted.Request) bool { return r.Contains(text) })
}

// Two hundred messages within two seconds or so, over the ends of turns, over interrupts, a
// review and a compaction: each becomes part of the conversation once, in order, and is
// given to the model. The client has opted out of everything that says so.
func TestMessagesArrive(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nmode = \"enforce\"\n[steering]\nquiet = \"5ms\"\n"})
	c := w.open(proxyArgv...)
	c.initialize(map[string]any{
		"experimentalApi": true, "bridge": map[string]any{"version": 1},
		"optOutNotificationMethods": []string{"turn/started", "turn/completed", "item/started", "thread/tokenUsage/updated"},
	})
	thread := editor.Member(c.must("thread/start", map[string]any{"cwd": w.workspace}), "thread", "id")

	const n = 200
	modes := []string{"steer", "steer", "steer", "steer", "steer", "steer", "steer", "followup", "steer", "queue"}
	var answers []<-chan enqueued
	var beside sync.WaitGroup
	for i := range n {
		answers = append(answers, c.enqueue(map[string]any{
			"threadId": thread, "input": fmt.Sprintf("SLOW: %d\n#%d", i%7*15, i), "mode": modes[i%len(modes)], "quietMs": i % 3 * 5,
		}))
		time.Sleep(8 * time.Millisecond) // only how they meet the turns depends on it
		request := func(method string, p map[string]any) {
			p["threadId"] = thread
			beside.Go(func() { _, _ = c.Call(c.ctx, method, p) }) // which codex may refuse
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
	c.idle()
	// How many are steered depends on how fast the machine is; lifecycle/turn has fixed cases.
	if how["started"] == 0 || how["queued"] == 0 {
		t.Errorf("what became of the messages: %v", how)
	}
	var heard []int
	for _, m := range c.Messages() {
		switch {
		case m.Sent:
		case m.Method == "turn/started" || m.Method == "turn/completed" || m.Method == "item/started":
			t.Fatalf("the client hears what it has opted out of: %s", m.Raw)
		case m.Method == "item/completed" && m.Param("item", "type") == "userMessage":
			var item struct {
				Item struct{ Content []struct{ Text string } }
			}
			if err := json.Unmarshal(m.Params, &item); err != nil {
				t.Fatal(err)
			}
			for _, part := range item.Item.Content {
				if _, id, ok := strings.Cut(part.Text, "\n#"); ok {
					k, err := strconv.Atoi(id)
					if err != nil {
						t.Fatal(err)
					}
					heard = append(heard, k)
				}
			}
		}
	}
	want := make([]int, n)
	for i := range want {
		want[i] = i
	}
	if !slices.Equal(heard, want) {
		t.Errorf("codex has taken %v", heard)
	}
	for id := range n {
		if !w.given(`\n#` + strconv.Itoa(id) + `"`) {
			t.Errorf("the model was not given %d", id)
		}
	}
}

// A review, and a compaction, take no messages: they wait for the end.
func TestNotSteerable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: sessionPolicy})
	c := w.open(proxyArgv...).knows()
	first := c.runs("chat", "SAY: one", nil)
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
		c.idle()
		if !w.given("after the " + closed.name) {
			t.Errorf("after the %s nothing was given to the model", closed.name)
		}
	}
	// The bridge's own compaction tells of its end, and a turn that was asked for waits.
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
	if r := c.runs("chat", "SAY: compacted", nil); r.Text != "compacted" {
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
		t.Errorf("of the compaction the client hears %v", kinds)
	}
}

// Where nobody answers, approvals are declined, with a policy and without, and a question
// waits for the next message.
func TestNobodyAnswers(t *testing.T) {
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
			r := c.runs("chat", "RUN: touch made", map[string]any{"thread": thread})
			if _, err := os.Stat(filepath.Join(w.workspace, "made")); r.Status != "completed" || err == nil {
				t.Errorf("what nobody has allowed was done: %+v", r)
			}
			if out, problems, status := w.shell("", "decisions", "list"); config != "" && !strings.Contains(out, "approvals.nobody") || status != 0 {
				t.Errorf("on record is %s%s", out, problems)
			}
			mark := c.Mark()
			asked := make(chan ranTurn, 1)
			go func() { asked <- c.runs("chat", "ASK: Which colour?", nil) }()
			question := c.waitFor(mark, "bridge/turn/question", nil)
			if !strings.Contains(string(question.Params), "Which colour?") {
				t.Errorf("the question is told as %s", question.Params)
			}
			e := <-c.enqueue(map[string]any{"sessionKey": "chat", "input": "green", "quietMs": 0})
			if e.failed != nil || e.Disposition != "answered" {
				t.Errorf("the answer: %+v", e)
			}
			if r := <-asked; r.Status != "completed" || !strings.Contains(r.Text, "green") {
				t.Errorf("the turn that asked: %+v", r)
			}
			for _, m := range c.Messages() {
				if m.IsRequest() && !m.Sent {
					t.Errorf("the client is asked %s", m.Raw)
				}
			}
		})
	}
}

// A client that answers questions itself may have the next message answer, too.
func TestMessageAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: sessionPolicy, codexConfig: "[features]\ndefault_mode_request_user_input = true\n"})
	c := w.open(proxyArgv...).knows()
	for _, own := range []bool{false, true} {
		mark := c.Mark()
		asked := make(chan ranTurn, 1)
		go func() { asked <- c.runs("chat", "ASK: Which colour?", nil) }()
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
			c.idle()
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
