//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/rpc"
)

// steeringStep is one step of a script: a message, or an event for the waiting messages.
type steeringStep struct {
	Text                 string
	DebounceMs, Wait     float64
	Flush, Cancel, Abort float64
}

// DEVIATIONS.md explains flush, cancel and abort.
func TestSteeringVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	type debounce struct {
		In  json.RawMessage
		Out float64
	}
	eachCase(t, "steering.json", "normalizeDebounce", func(t *testing.T, c debounce) {
		w := duringTurn(t, "t", "u")
		began := time.Now()
		_, err := w.call("bridge/turn/enqueue", map[string]any{"threadId": "t", "input": "hi", "quietMs": c.In})
		waited := time.Since(began)
		var n *float64
		if json.Unmarshal(c.In, &n) != nil || n != nil && (*n < 0 || *n > 60_000) { // see DEVIATIONS.md
			if !isInvalidParams(err) {
				t.Errorf("%s: %v, want an error", c.In, err)
			}
			return
		}
		if least := time.Duration(c.Out) * time.Millisecond; err != nil || waited < least || waited > least+10*time.Second {
			t.Errorf("%s: sent after %v, error %v; want at least %v", c.In, waited, err, least)
		}
	})
	type steering struct {
		Script   []steeringStep
		Requests []request
		Results  []string
	}
	eachCase(t, "steering.json", "cases", func(t *testing.T, c steering) {
		thread, turn := "t", "u"
		if len(c.Requests) > 0 {
			thread, _ = c.Requests[0].Params["threadId"].(string)
			turn, _ = c.Requests[0].Params["expectedTurnId"].(string)
		}
		w := duringTurn(t, thread, turn)
		ids, flushed := w.steer(thread, c.Script)
		answers := w.waitResponses(slices.Concat(ids, flushed)...)
		var results []string
		for _, id := range ids {
			result := "resolved"
			if answers[id].err != nil {
				result = "<text>"
			}
			results = append(results, result)
		}
		if diff := cmp.Diff(c.Results, results, masked); diff != "" {
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

// flushText is the text of the message that ends the wait of the earlier messages.
const flushText = "and go"

const (
	// steeringScale multiplies all times of a script, so that a loaded machine is fast enough.
	steeringScale = 50
	maxQuietMs    = 60_000
)

// steer plays a script. It returns the ids of the messages, and of those that stand for a flush.
func (w *assembled) steer(thread string, script []steeringStep) (ids, flushed []string) {
	w.t.Helper()
	waiting := 0 // messages since the last step of another kind
	for i, s := range script {
		switch {
		case s.Text != "":
			quiet := min(s.DebounceMs*steeringScale, maxQuietMs)
			rest := script[i+1:]
			if n := slices.IndexFunc(rest, func(s steeringStep) bool { return s.Text == "" }); n >= 0 && rest[n].Cancel+rest[n].Abort > 0 {
				quiet = maxQuietMs // the thread is closed before
			}
			waiting++
			ids = append(ids, w.send("bridge/turn/enqueue", map[string]any{"threadId": thread, "input": s.Text, "quietMs": quiet}))
			continue
		case s.Flush > 0:
			flushed = append(flushed, w.send("bridge/turn/enqueue", map[string]any{"threadId": thread, "input": flushText, "quietMs": 0}))
		case s.Cancel > 0, s.Abort > 0:
			w.waitQueued(waiting)
			w.notify(map[string]any{"method": "thread/closed", "params": map[string]any{"threadId": thread}})
			return ids, flushed // nothing is sent any more
		case s.Wait > 0:
			time.Sleep(time.Duration(s.Wait*steeringScale) * time.Millisecond)
		}
		waiting = 0
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

// duringTurn returns a conversation with a running turn that accepts messages.
func duringTurn(t *testing.T, thread, turn string) *assembled {
	t.Helper()
	w := newAssembled(t, "", func(r request) (any, string) {
		if r.Method == "turn/steer" {
			return map[string]any{"turnId": turn}, ""
		}
		return map[string]any{"thread": map[string]any{"id": thread}, "cwd": "/w", "model": "m"}, ""
	})
	w.initialize(nil)
	w.must("thread/start", map[string]any{})
	w.notify(map[string]any{"method": "turn/started", "params": map[string]any{"threadId": thread, "turn": map[string]any{"id": turn}}})
	w.waitNotification("turn/started")
	w.takeRequests()
	return w
}

func isInvalidParams(err error) bool {
	var e *rpc.Error
	return errors.As(err, &e) && e.Code == rpc.CodeInvalidParams
}
