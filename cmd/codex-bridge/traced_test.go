//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/relay/trace"
)

// A trace has the session of its thread, the request for the thread that Codex received, and the
// tools that timed out.
func TestTraceHasSessionContextAndTimeouts(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	folder := t.TempDir()
	var w *assembled
	w = newAssembled(t, `
[trace]
enabled = true
[thread]
developer_instructions = "Be kind."
[tools.slow]
description = "takes its time"
command = ["/bin/sleep", "60"]
timeout = "100ms"
`, func(r request) (any, string) {
		result, failed := one(&w)(r)
		if r.Method == "thread/start" {
			result.(map[string]any)["cwd"] = folder
		}
		return result, failed
	})
	w.initialize(nil)
	id, _ := w.must("thread/start", map[string]any{"bridge": map[string]any{"sessionKey": "chat/1"}}).Get("thread").Get("id").Text()
	w.askClient("q", "item/tool/call", map[string]any{"threadId": id, "turnId": "u", "callId": "c1", "tool": "slow", "arguments": map[string]any{}})
	w.must("bridge/turn/run", map[string]any{"sessionKey": "chat/1", "input": "x"})

	events := traceOf(t, id, trace.ModelCompleted)
	for _, c := range []struct {
		kind trace.Type
		data string
	}{{trace.ContextCompiled, `"developerInstructions":"Be kind."`}, {trace.ToolTimeout, `"timeoutMs":100`}, {trace.PromptSubmitted, `"text":"x"`}} {
		e, ok := events[c.kind]
		if !ok || !strings.Contains(string(e.Data), c.data) {
			t.Errorf("%s: %s, want %s", c.kind, e.Data, c.data)
		}
		if e.SessionKey != "chat/1" {
			t.Errorf("%s has session %q", c.kind, e.SessionKey)
		}
	}
	var late struct{ Tool, CallID string }
	if err := json.Unmarshal(events[trace.ToolTimeout].Data, &late); err != nil || late.Tool != "slow" || late.CallID != "c1" {
		t.Errorf("%+v, %v", late, err)
	}
}

// traceOf waits for an event in the trace of a thread, and returns the last event of each type.
func traceOf(t *testing.T, thread string, until trace.Type) map[trace.Type]trace.Event {
	t.Helper()
	state, err := statefolder.Path()
	if err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		all, err := trace.ReadFile(filepath.Join(state, trace.FolderName, trace.FileName(thread)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		events := make(map[trace.Type]trace.Event)
		for _, e := range all {
			events[e.Type] = e
		}
		if _, ok := events[until]; ok {
			return events
		}
		if time.Now().After(late) {
			t.Fatalf("the trace has no %s: %v", until, events)
		}
	}
}
