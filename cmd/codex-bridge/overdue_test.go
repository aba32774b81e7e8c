//go:build unix

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The error of a turn that timed out has the last error of Codex. A session keeps its thread if the
// turn was interrupted; else its next turn runs in a new thread with the same settings.
func TestTimedOutTurn(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	for _, c := range []struct {
		name        string
		interrupted bool
		text        string
		thread      string // of the next turn
	}{
		{"interrupted", true, "the turn timed out after 100ms (Codex last reported: Reconnecting... 2/5) and was interrupted", "T1"},
		{"not interrupted", false, "(Codex last reported: Reconnecting... 2/5) and could not be interrupted within 5s", "T2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			threads, turns := 0, 0
			var w *assembled
			w = newAssembled(t, "", func(r request) (any, string) {
				switch r.Method {
				case "thread/start":
					threads++
					return map[string]any{"thread": map[string]any{"id": fmt.Sprint("T", threads)}, "cwd": "/w", "model": "m"}, ""
				case "turn/start":
					turns++
					thread, id := r.Params["threadId"].(string), fmt.Sprint("t", turns)
					if turns > 1 {
						return w.turnResponse(thread, id, "done"), ""
					}
					return responseThen{map[string]any{"turn": map[string]any{"id": id}}, func() {
						about := map[string]any{"threadId": thread, "turn": map[string]any{"id": id}}
						w.notify(map[string]any{"method": "turn/started", "params": about})
						w.notify(map[string]any{"method": "error", "params": map[string]any{
							"threadId": thread, "turnId": id, "willRetry": true, "error": map[string]any{"message": "Reconnecting... 2/5"},
						}})
					}}, ""
				case "turn/interrupt":
					if c.interrupted {
						return responseThen{map[string]any{}, func() { w.endTurn(r.Params["threadId"].(string), "t1", "") }}, ""
					}
					time.Sleep(5500 * time.Millisecond)
				}
				return map[string]any{}, ""
			})
			w.initialize(nil)
			run := func(timeout int) (string, error) {
				result, err := w.call("bridge/turn/run", map[string]any{
					"sessionKey": "s", "input": "x", "timeoutMs": timeout, "thread": map[string]any{"cwd": "/w", "sandbox": "read-only"},
				})
				if err != nil {
					return "", err
				}
				thread, _ := result.Get("threadId").Text()
				return thread, nil
			}
			if _, err := run(100); err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v, want %s", err, c.text)
			}
			w.takeRequests()
			if thread, err := run(30_000); err != nil || thread != c.thread {
				t.Errorf("the next turn runs in %s, %v; want %s", thread, err, c.thread)
			}
			for _, r := range withMethod(w.takeRequests(), "thread/start") {
				if r.Params["sandbox"] != "read-only" || r.Params["cwd"] != "/w" {
					t.Errorf("the new thread has %v", r.Params)
				}
			}
		})
	}
}
