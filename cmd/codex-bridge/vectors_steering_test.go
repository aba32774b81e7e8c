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

	"codex-bridge/bridge/bridgetest/vectors"
	"codex-bridge/rpc"
)

// steeringStep is one step of a script: a message, or what happens to those that wait.
type steeringStep struct {
	Text                 string
	DebounceMs, Wait     float64
	Flush, Cancel, Abort float64
}

// A step waits for what was sent before it; the times of the script are not waited for. DEVIATIONS.md has what stands for
// flush, cancel and abort.
func TestSteeringVectors(t *testing.T) {
	if apart(t) {
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
				t.Errorf("%s: sent after %v, %v; want %v", c.In, waited, err, least)
			}
		}
	})
	for _, c := range v.Cases {
		t.Run(c.Name, func(t *testing.T) {
			w := duringTurn(t)
			ids, flushed := w.steer(c.Script)
			answers := w.answers(slices.Concat(ids, flushed)...)
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
			got := w.takes()
			for i := range got {
				delete(got[i].Params, "clientUserMessageId") // see DEVIATIONS.md
				items, _ := got[i].Params["input"].([]any)
				got[i].Params["input"] = slices.DeleteFunc(items, func(v any) bool { return v.(map[string]any)["text"] == flushing })
			}
			if diff := cmp.Diff(append([]request{}, c.Requests...), append([]request{}, got...)); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// flushing is the text of the message that ends the wait of those before it.
const flushing = "and go"

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
			case ends: // it still waits when the end comes
				quiet = 60_000
			case window: // the others come in time
				quiet += 500
			}
			ids = append(ids, w.begin("bridge/turn/enqueue", map[string]any{"threadId": "t", "input": s.Text, "quietMs": quiet}))
		case s.Flush > 0:
			flushed = append(flushed, w.begin("bridge/turn/enqueue", map[string]any{"threadId": "t", "input": flushing, "quietMs": 0}))
		case s.Cancel > 0, s.Abort > 0:
			w.waits(len(ids))
			w.tells(map[string]any{"method": "thread/closed", "params": map[string]any{"threadId": "t"}})
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

// waits waits until so many messages wait.
func (w *assembled) waits(n int) {
	w.until(func() bool {
		var turns struct{ Waiting int }
		if err := json.Unmarshal(w.must("bridge/status", map[string]any{}).Get("turns").Raw(), &turns); err != nil {
			w.t.Fatal(err)
		}
		return turns.Waiting >= n
	})
}

// until waits until is is true.
func (w *assembled) until(is func() bool) {
	w.t.Helper()
	for late := time.Now().Add(patience()); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(late) {
			w.t.Fatal("it never comes")
		}
	}
}

// duringTurn is a conversation in which the turn "u" of the thread "t" runs, and takes what it is sent.
func duringTurn(t *testing.T) *assembled {
	t.Helper()
	w := newAssembled(t, "", func(r request) (any, string) {
		if r.Method == "turn/steer" {
			return map[string]any{"turnId": "u"}, ""
		}
		return map[string]any{"thread": map[string]any{"id": "t"}, "cwd": "/w", "model": "m"}, ""
	})
	w.knows(nil)
	w.must("thread/start", map[string]any{})
	w.tells(map[string]any{"method": "turn/started", "params": map[string]any{"threadId": "t", "turn": map[string]any{"id": "u"}}})
	w.sees("turn/started")
	w.takes()
	return w
}

func isInvalidParams(err error) bool {
	var e *rpc.Error
	return errors.As(err, &e) && e.Code == rpc.CodeInvalidParams
}

// A turn of bridge/turn/run, whose notifications come before and after the answer to turn/start.
func TestTurnCollectorVectors(t *testing.T) {
	if apart(t) {
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
					w.tells(map[string]any{"method": "turn/completed", "params": map[string]any{"threadId": "th", "turn": map[string]any{"id": c.Turn, "status": "interrupted", "items": []any{}}}})
					return map[string]any{}, ""
				}
				for _, n := range before {
					w.tells(n)
				}
				return following{map[string]any{"turn": map[string]any{"id": c.Turn}}, func() {
					for _, n := range c.After {
						w.tells(n)
					}
				}}, ""
			})
			w.knows(nil)
			w.must("thread/start", map[string]any{})
			timesOut := c.Result.Error != nil && *c.Result.Error == "<text>"
			p := map[string]any{"threadId": "th", "input": "hi"}
			if timesOut { // a turn that ends has all the time that a loaded machine needs
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
				t.Fatal("a case without a result")
			case *want.ReplyText == "": // see DEVIATIONS.md: a text that says so
				if !strings.HasPrefix(text, "Codex completed without") {
					t.Errorf("the reply is %q", text)
				}
			case text != *want.ReplyText:
				t.Errorf("the reply is %q, want %q", text, *want.ReplyText)
			}
		})
	}
}
