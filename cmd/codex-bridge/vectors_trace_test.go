//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/bridgetest/vectors"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/relay/trace"
)

// tracedThread is a conversation with a trace, in the thread "T1" of a session in a folder.
func tracedThread(t *testing.T, session, folder string) *assembled {
	t.Helper()
	w := newAssembled(t, "[trace]\nenabled = true\n", func(request) (any, string) {
		return map[string]any{"thread": map[string]any{"id": "T1"}, "cwd": folder, "model": "m", "modelProvider": "openai"}, ""
	})
	w.initialize(nil)
	w.must("thread/start", map[string]any{"bridge": map[string]any{"sessionKey": session}})
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
	folder, err := statefolder.Path()
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

// spelledObject matches the words for a long value: an object with numbered keys.
var spelledObject = regexp.MustCompile(`^<([0-9]+) chars> \{("[^"]+"):\{"([^"0-9]+)0":0`)

// spelled returns the value of a case. Some cases give the number of characters and the first keys
// in words, as "<N chars> …". ok is false for the words of an event over the limit.
func spelled(t *testing.T, raw json.RawMessage) (string, bool) {
	t.Helper()
	var words string
	if json.Unmarshal(raw, &words) != nil {
		return string(compact(t, raw)), true
	}
	m := spelledObject.FindStringSubmatch(words)
	if m == nil {
		return text(t, words), !strings.HasPrefix(words, "<event over ")
	}
	chars, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		var b strings.Builder
		fmt.Fprintf(&b, "{%s:{", m[2])
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"%s%d":%d`, m[3], i, i)
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
	eachCase(t, "trajectory.json", "cases", func(t *testing.T, c redaction) {
		w := tracedThread(t, "k", "/w")
		in, ok := spelled(t, c.In)
		if !ok {
			c.overLimit(t, w)
			return
		}
		out, _ := spelled(t, c.Out)
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
		if diff := cmp.Diff(want, got.Message.Params.Probe, masked); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
	eachCase(t, "trajectory.json", "firstLine", func(t *testing.T, want map[string]any) { firstLine(t, want) })
}

type redaction struct{ In, Out json.RawMessage }

// overLimit plays an event that is too large for the trace.
func (c redaction) overLimit(t *testing.T, w *assembled) {
	t.Helper()
	var want, got map[string]any
	if err := json.Unmarshal(c.Out, &want); err != nil {
		t.Fatal(err)
	}
	texts := make([]string, 40)
	for i := range texts {
		texts[i] = strings.Repeat("ab ", 6_600)
	}
	data, _ := w.sendProbe(text(t, texts))
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	limit, _ := want["limitBytes"].(float64)
	if n, _ := got["originalBytes"].(float64); n <= limit {
		t.Errorf("originalBytes is %v", n)
	}
	got["originalBytes"] = want["originalBytes"] // of another event
	if diff := cmp.Diff(want, got, masked); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// firstLine compares the line of an event in a session, a folder and a turn.
func firstLine(t *testing.T, first map[string]any) {
	t.Helper()
	word := func(name string) string { text, _ := first[name].(string); return text }
	var keys []string
	if err := json.Unmarshal(vectors.Member(t, "trajectory.json", "lineKeys"), &keys); err != nil {
		t.Fatal(err)
	}
	w := tracedThread(t, word("sessionKey"), word("workspaceDir"))
	w.CodexSends(fmt.Sprintf(`{"method":"test/probe","params":{"threadId":"T1","turnId":%q}}`, word("runId")))
	w.waitNotification("test/probe")
	_, line := w.probe()
	var got map[string]any
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		t.Fatal(err)
	}
	rest := line
	for _, key := range keys {
		_, after, ok := strings.Cut(rest, `"`+key+`":`)
		if !ok {
			t.Fatalf("%q is missing or at another place: %s", key, line)
		}
		rest = after
	}
	for key, want := range first {
		if _, ok := got[key]; !ok {
			t.Errorf("%s, there %v, is not in %s", key, want, line)
		}
	}
	for key, want := range map[string]any{
		"traceSchema": trace.Schema, "source": "bridge", "schemaVersion": first["schemaVersion"],
		"sessionKey": word("sessionKey"), "sessionId": "T1", "runId": word("runId"), "workspaceDir": word("workspaceDir"),
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
}
