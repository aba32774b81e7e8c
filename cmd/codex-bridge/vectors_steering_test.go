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

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/bridgetest/vectors"
	"codex-bridge.example/rpc"
)

// steeringStep is one step of a script: a message, or an event for the waiting messages.
type steeringStep struct {
	Text                 string
	DebounceMs, Wait     float64
	Flush, Cancel, Abort float64
}

// A step waits for the earlier messages; the test does not wait for the times of the script.
// DEVIATIONS.md explains flush, cancel and abort.
func TestSteeringVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	var v struct {
		NormalizeDebounce []struct {
			In  json.RawMessage
			Out float64
		}
		Cases []struct {
			Name     string
			Script   []steeringStep
			Requests []request
			Results  []string
		}
	}
	vectors.Read(t, "steering.json", &v)
	if len(v.NormalizeDebounce) == 0 || len(v.Cases) == 0 {
		t.Fatal("no cases")
	}
	t.Run("debounce", func(t *testing.T) {
		w := duringTurn(t)
		for _, c := range v.NormalizeDebounce {
			began := time.Now()
			_, err := w.call("bridge/turn/enqueue", map[string]any{"threadId": "t", "input": "hi", "quietMs": c.In})
			waited := time.Since(began)
			var n *float64
			if json.Unmarshal(c.In, &n) != nil || n != nil && (*n < 0 || *n > 60_000) { // see DEVIATIONS.md
				if !isInvalidParams(err) {
					t.Errorf("%s: %v, want an error", c.In, err)
				}
				continue
			}
			if least := time.Duration(c.Out) * time.Millisecond; err != nil || waited < least || waited > least+10*time.Second {
				t.Errorf("%s: sent after %v, error %v; want at least %v", c.In, waited, err, least)
			}
		}
	})
	for _, c := range v.Cases {
		t.Run(c.Name, func(t *testing.T) {
			w := duringTurn(t)
			ids, flushed := w.steer(c.Script)
			answers := w.waitResponses(slices.Concat(ids, flushed)...)
			var results []string
			for _, id := range ids {
				result := "resolved"
				if answers[id].err != nil {
					result = "<text>"
				}
				results = append(results, result)
			}
			if diff := cmp.Diff(c.Results, results); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			got := w.takeRequests()
			for i := range got {
				delete(got[i].Params, "clientUserMessageId") // see DEVIATIONS.md
				items, _ := got[i].Params["input"].([]any)
				got[i].Params["input"] = slices.DeleteFunc(items, func(v any) bool { return v.(map[string]any)["text"] == flushText })
			}
			if diff := cmp.Diff(append([]request{}, c.Requests...), append([]request{}, got...)); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// flushText is the text of the message that ends the wait of the earlier messages.
const flushText = "and go"

// steer plays a script. It returns the ids of the messages, and of those that stand for a flush.
func (w *assembled) steer(script []steeringStep) (ids, flushed []string) {
	w.t.Helper()
	ends := slices.ContainsFunc(script, func(s steeringStep) bool { return s.Cancel > 0 || s.Abort > 0 })
	window := len(script) > 1 && script[1].Text != ""
	for _, s := range script {
		switch {
		case s.Text != "":
			quiet := s.DebounceMs
			switch { // for a loaded machine
			case ends: // it is still waiting at the end
				quiet = 60_000
			case window: // the others arrive in time
				quiet += 500
			}
			ids = append(ids, w.send("bridge/turn/enqueue", map[string]any{"threadId": "t", "input": s.Text, "quietMs": quiet}))
		case s.Flush > 0:
			flushed = append(flushed, w.send("bridge/turn/enqueue", map[string]any{"threadId": "t", "input": flushText, "quietMs": 0}))
		case s.Cancel > 0, s.Abort > 0:
			w.waitQueued(len(ids))
			w.notify(map[string]any{"method": "thread/closed", "params": map[string]any{"threadId": "t"}})
			return ids, flushed
		case s.Wait > 0:
			w.until(func() bool {
				w.mu.Lock()
				defer w.mu.Unlock()
				sent := 0
				for _, r := range w.requests {
					items, _ := r.Params["input"].([]any)
					sent += len(items)
				}
				return sent >= len(ids)
			})
		}
	}
	return ids, flushed
}

// waitQueued waits until n messages are queued.
func (w *assembled) waitQueued(n int) {
	w.until(func() bool {
		var turns struct{ Waiting int }
		if err := json.Unmarshal(w.must("bridge/status", map[string]any{}).Get("turns").Raw(), &turns); err != nil {
			w.t.Fatal(err)
		}
		return turns.Waiting >= n
	})
}

// until waits until is returns true.
func (w *assembled) until(is func() bool) {
	w.t.Helper()
	for late := time.Now().Add(waitTime()); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(late) {
			w.t.Fatal("timeout")
		}
	}
}

// duringTurn returns a conversation with the running turn "u" of the thread "t", which accepts
// messages.
func duringTurn(t *testing.T) *assembled {
	t.Helper()
	w := newAssembled(t, "", func(r request) (any, string) {
		if r.Method == "turn/steer" {
			return map[string]any{"turnId": "u"}, ""
		}
		return map[string]any{"thread": map[string]any{"id": "t"}, "cwd": "/w", "model": "m"}, ""
	})
	w.initialize(nil)
	w.must("thread/start", map[string]any{})
	w.notify(map[string]any{"method": "turn/started", "params": map[string]any{"threadId": "t", "turn": map[string]any{"id": "u"}}})
	w.waitNotification("turn/started")
	w.takeRequests()
	return w
}

func isInvalidParams(err error) bool {
	var e *rpc.Error
	return errors.As(err, &e) && e.Code == rpc.CodeInvalidParams
}

// The notifications of bridge/turn/run arrive before and after the response to turn/start.
func TestTurnCollectorVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	type notification struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	var v struct {
		Cases []struct {
			Name      string
			Before    json.RawMessage `json:"beforeTurnId"`
			Turn      string          `json:"turnId"`
			After     []notification
			TimeoutMs float64
			Result    struct{ ReplyText, Error *string }
		}
	}
	vectors.Read(t, "turn_collector.json", &v)
	if len(v.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range v.Cases {
		t.Run(c.Name, func(t *testing.T) {
			var before []notification
			if string(c.Before) == `"<150 notifications>"` {
				for i := range 150 {
					params := fmt.Sprintf(`{"threadId":"th","turnId":%q,"itemId":"a","delta":"%d"}`, c.Turn, i%10)
					before = append(before, notification{"item/agentMessage/delta", json.RawMessage(params)})
				}
			} else if err := json.Unmarshal(c.Before, &before); err != nil {
				t.Fatal(err)
			}
			var w *assembled
			w = newAssembled(t, "", func(r request) (any, string) {
				switch r.Method {
				case "thread/start":
					return map[string]any{"thread": map[string]any{"id": "th"}, "cwd": "/w", "model": "m"}, ""
				case "turn/interrupt":
					w.notify(map[string]any{"method": "turn/completed", "params": map[string]any{"threadId": "th", "turn": map[string]any{"id": c.Turn, "status": "interrupted", "items": []any{}}}})
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
			timesOut := c.Result.Error != nil && *c.Result.Error == "<text>"
			p := map[string]any{"threadId": "th", "input": "hi"}
			if timesOut { // otherwise, the time that a loaded machine needs
				p["timeoutMs"] = c.TimeoutMs
			}
			began := time.Now()
			result, err := w.call("bridge/turn/run", p)
			text, _ := result.Get("text").Text()
			problem, _ := result.Get("error").Text()
			var e *rpc.Error
			switch want := c.Result; {
			case timesOut:
				least := max(time.Duration(c.TimeoutMs)*time.Millisecond, 100*time.Millisecond)
				if waited := time.Since(began); !errors.As(err, &e) || e.Code != rpc.CodeDeadline || waited < least {
					t.Errorf("%s, %v, after %v", result.Raw(), err, waited)
				}
			case err != nil:
				t.Error(err)
			case want.Error != nil:
				if problem != *want.Error || !result.Get("status").Is("failed") {
					t.Errorf("%s, want the error %q", result.Raw(), *want.Error)
				}
			case want.ReplyText == nil:
				t.Fatal("the case has no result")
			case *want.ReplyText == "": // see DEVIATIONS.md: a text about it
				if !strings.HasPrefix(text, "Codex completed without") {
					t.Errorf("reply %q", text)
				}
			case text != *want.ReplyText:
				t.Errorf("the reply is %q, want %q", text, *want.ReplyText)
			}
		})
	}
}
