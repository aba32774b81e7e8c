//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/bridgetest/vectors"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/relay/trace"
)

// tracedThread is a conversation with a trace, in the thread "T1" of the session "k".
func tracedThread(t *testing.T) *assembled {
	t.Helper()
	w := newAssembled(t, "[trace]\nenabled = true\n", func(request) (any, string) {
		return map[string]any{"thread": map[string]any{"id": "T1"}, "cwd": "/w", "model": "m", "modelProvider": "openai"}, ""
	})
	w.initialize(nil)
	w.must("thread/start", map[string]any{"bridge": map[string]any{"sessionKey": "k"}})
	return w
}

// sendProbe sends a notification of Codex with this member, and returns it and its line in the
// trace.
func (w *assembled) sendProbe(member string) (data json.RawMessage, line string) {
	w.t.Helper()
	w.CodexSends(`{"method":"test/probe","params":{"threadId":"T1","probe":` + member + `}}`)
	w.waitNotification("test/probe")
	return w.probe()
}

// probe waits for the last such event.
func (w *assembled) probe() (data json.RawMessage, line string) {
	w.t.Helper()
	folder, err := store.Folder()
	if err != nil {
		w.t.Fatal(err)
	}
	for late := time.Now().Add(waitTime()); ; time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(folder, trace.FolderName, trace.FileName("T1")))
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		line := lines[len(lines)-1]
		var e struct{ Data json.RawMessage }
		if err == nil && json.Unmarshal([]byte(line), &e) == nil && (strings.Contains(line, "test/probe") || strings.Contains(line, `"truncated":true`)) {
			return e.Data, line
		}
		if time.Now().After(late) {
			w.t.Fatalf("the event is not in the trace: %.300s, %v", line, err)
		}
	}
}

// spelled returns the value of a case. Some cases give the number of characters or keys in words,
// as "<N chars> …".
func spelled(t *testing.T, raw json.RawMessage) (string, bool) {
	t.Helper()
	var words string
	if json.Unmarshal(raw, &words) != nil {
		return string(compact(t, raw)), true
	}
	var chars int
	if n, err := fmt.Sscanf(words, "<%d chars>", &chars); n != 1 || err != nil {
		return "", false
	}
	for n := 1; ; n++ {
		var b strings.Builder
		b.WriteString(`{"obj":{`)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"k%d":%d`, i, i)
		}
		b.WriteString("}}")
		switch {
		case b.Len() == chars:
			return b.String(), true
		case b.Len() > chars:
			t.Fatalf("unknown words: %s", words)
		}
	}
}

// The trace has a notification of Codex in redacted form.
func TestTrajectoryVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	var v struct {
		LineKeys  []string
		FirstLine map[string]any
		Cases     []struct{ In, Out json.RawMessage }
	}
	vectors.Read(t, "trajectory.json", &v)
	if len(v.Cases) == 0 || len(v.LineKeys) == 0 || len(v.FirstLine) == 0 {
		t.Fatal("no cases")
	}
	t.Run("redaction", func(t *testing.T) {
		for i, c := range v.Cases {
			in, ok := spelled(t, c.In)
			if !ok {
				continue // an event over the limit
			}
			out, _ := spelled(t, c.Out)
			w := tracedThread(t)
			data, _ := w.sendProbe(in)
			var got struct {
				Message struct{ Params struct{ Probe any } }
			}
			var want any
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(out), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.Message.Params.Probe); diff != "" {
				t.Errorf("case %d (-want +got)\n%s", i, diff)
			}
		}
	})
	t.Run("over the limit", func(t *testing.T) {
		for _, c := range v.Cases {
			var want, got map[string]any
			if _, ok := spelled(t, c.In); ok {
				continue
			}
			if err := json.Unmarshal(c.Out, &want); err != nil {
				t.Fatal(err)
			}
			texts := make([]string, 40)
			for i := range texts {
				texts[i] = strings.Repeat("ab ", 6_600)
			}
			w := tracedThread(t)
			data, _ := w.sendProbe(text(t, texts))
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if n, _ := got["originalBytes"].(float64); n <= want["limitBytes"].(float64) {
				t.Errorf("originalBytes is %v", n)
			}
			got["originalBytes"] = want["originalBytes"] // of another event
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		}
	})
	t.Run("line", func(t *testing.T) {
		w := tracedThread(t)
		w.CodexSends(`{"method":"test/probe","params":{"threadId":"T1","turnId":"r"}}`)
		w.waitNotification("test/probe")
		_, line := w.probe()
		var got map[string]any
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		rest := line
		for _, key := range v.LineKeys {
			_, after, ok := strings.Cut(rest, `"`+key+`":`)
			if !ok {
				t.Fatalf("%q is missing or at another place: %s", key, line)
			}
			rest = after
		}
		for key, want := range v.FirstLine {
			if _, ok := got[key]; !ok {
				t.Errorf("%s, there %v, is not in %s", key, want, line)
			}
		}
		for key, want := range map[string]any{
			"traceSchema": trace.Schema, "source": "bridge", "schemaVersion": v.FirstLine["schemaVersion"], "sessionKey": "k", "sessionId": "T1", "runId": "r", "workspaceDir": "/w",
		} {
			if got[key] != want {
				t.Errorf("%s is %v, want %v", key, got[key], want)
			}
		}
	})
}
