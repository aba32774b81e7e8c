//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/rpc"
)

type collectorNotification struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// about returns the thread and the turn of a notification.
func (n collectorNotification) about() (thread, turn string) {
	var p struct {
		ThreadID, TurnID string
		Turn             struct{ ID string }
	}
	_ = json.Unmarshal(n.Params, &p) // without them, it is about neither
	if p.TurnID == "" {
		p.TurnID = p.Turn.ID
	}
	return p.ThreadID, p.TurnID
}

type collectorCase struct {
	Before    json.RawMessage `json:"beforeTurnId"`
	Turn      string          `json:"turnId"`
	After     []collectorNotification
	TimeoutMs float64
	Result    struct{ ReplyText, Error *string }
}

// before returns the notifications before the id of the turn. Some cases give their number in words.
func (c collectorCase) before(t *testing.T, thread string) (all []collectorNotification) {
	var words string
	if json.Unmarshal(c.Before, &words) != nil {
		if err := json.Unmarshal(c.Before, &all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	var n int
	if _, err := fmt.Sscanf(words, "<%d notifications>", &n); err != nil {
		t.Fatalf("%q: %v", words, err)
	}
	for i := range n {
		params := fmt.Sprintf(`{"threadId":%q,"turnId":%q,"itemId":"a","delta":"%d"}`, thread, c.Turn, i%10)
		all = append(all, collectorNotification{"item/agentMessage/delta", json.RawMessage(params)})
	}
	return all
}

// thread returns the thread of the turn.
func (c collectorCase) thread(t *testing.T) string {
	for _, n := range slices.Concat(c.After, c.before(t, "th")) {
		if thread, turn := n.about(); turn == c.Turn && thread != "" {
			return thread
		}
	}
	return "th"
}

// timesOut reports whether nothing ends the turn.
func (c collectorCase) timesOut(t *testing.T, thread string) bool {
	for _, n := range slices.Concat(c.before(t, thread), c.After) {
		if of, turn := n.about(); n.Method == "turn/completed" && of == thread && turn == c.Turn {
			return false
		}
	}
	return true
}

// The notifications of bridge/turn/run arrive before and after the response to turn/start.
func TestTurnCollectorVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	eachCase(t, "turn_collector.json", "cases", func(t *testing.T, c collectorCase) { c.play(t) })
}

func (c collectorCase) play(t *testing.T) {
	thread := c.thread(t)
	before := c.before(t, thread)
	var w *assembled
	w = newAssembled(t, "", func(r request) (any, string) {
		switch r.Method {
		case "thread/start":
			return map[string]any{"thread": map[string]any{"id": thread}, "cwd": "/w", "model": "m"}, ""
		case "turn/interrupt":
			w.notify(map[string]any{"method": "turn/completed", "params": map[string]any{"threadId": thread, "turn": map[string]any{"id": c.Turn, "status": "interrupted", "items": []any{}}}})
			return map[string]any{}, ""
		}
		for _, n := range before {
			w.notify(n)
		}
		return responseThen{map[string]any{"turn": map[string]any{"id": c.Turn}}, func() {
			for _, n := range c.After {
				w.notify(n)
			}
		}}, ""
	})
	w.initialize(nil)
	w.must("thread/start", map[string]any{})
	timesOut := c.timesOut(t, thread)
	p := map[string]any{"threadId": thread, "input": "hi"}
	if timesOut { // otherwise, the time that a loaded machine needs
		p["timeoutMs"] = c.TimeoutMs
	}
	began := time.Now()
	result, err := w.call("bridge/turn/run", p)
	c.compare(t, result, err, timesOut, time.Since(began))
}

// compare compares the result of bridge/turn/run after this time.
func (c collectorCase) compare(t *testing.T, result rpc.Value, err error, timesOut bool, waited time.Duration) {
	t.Helper()
	text, _ := result.Get("text").Text()
	problem, _ := result.Get("error").Text()
	var e *rpc.Error
	switch want := c.Result; {
	case timesOut:
		least := max(time.Duration(c.TimeoutMs)*time.Millisecond, 100*time.Millisecond)
		if want.Error == nil || !errors.As(err, &e) || e.Code != rpc.CodeDeadline || waited < least {
			t.Errorf("%s, %v, after %v", result.Raw(), err, waited)
		}
	case err != nil:
		t.Error(err)
	case want.Error != nil:
		if !isLike(*want.Error, problem) || !result.Get("status").Is("failed") {
			t.Errorf("%s, want the error %q", result.Raw(), *want.Error)
		}
	case want.ReplyText == nil:
		t.Fatal("the case has no result")
	case *want.ReplyText == "": // see DEVIATIONS.md: a text about it
		if !strings.HasPrefix(text, "Codex completed without") {
			t.Errorf("reply %q", text)
		}
	case !isLike(*want.ReplyText, text):
		t.Errorf("the reply is %q, want %q", text, *want.ReplyText)
	}
}
