package trace_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"codex-bridge/bridge/bridgetest/vectors"
	"codex-bridge/relay/redact"
	"codex-bridge/relay/trace"

	"github.com/google/go-cmp/cmp"
)

type seen struct {
	Enabled   []json.RawMessage
	LineKeys  []string
	FirstLine map[string]any
	Cases     []struct{ In, Out json.RawMessage }
}

func load(t *testing.T) (v seen) {
	t.Helper()
	vectors.Read(t, "trajectory.json", &v)
	return v
}

// written are the vectors that say in words what their value is.
var written = map[int]struct {
	in, out func() string
}{
	5: {func() string { return numbered(120) }, func() string { return numbered(100) }},
}

// elsewhere are those that are no matter of redaction, and where they are held.
var elsewhere = map[int]string{
	6: "an event beyond the limit: TestVectorsEvent",
}

func numbered(n int) string {
	var b strings.Builder
	b.WriteString(`{"obj":{`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"k%d":%d`, i, i)
	}
	return b.String() + "}}"
}

func TestVectorsRedaction(t *testing.T) {
	v := load(t)
	if len(v.Cases) == 0 {
		t.Fatal("no cases")
	}
	for i, c := range v.Cases {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			if where, ok := elsewhere[i]; ok {
				t.Log(where)
				return
			}
			in, out := string(c.In), string(c.Out)
			if w, ok := written[i]; ok {
				if !strings.Contains(in, fmt.Sprintf("<%d chars>", len(w.in()))) || !strings.Contains(out, fmt.Sprintf("<%d chars>", len(w.out()))) {
					t.Fatalf("the vector speaks of other texts than %d and %d characters: %s", len(w.in()), len(w.out()), in)
				}
				in, out = w.in(), w.out()
			}
			got, err := redact.New(redact.Limits{}).JSON([]byte(in))
			if err != nil {
				t.Fatal(err)
			}
			var want, have any
			if err := json.Unmarshal([]byte(out), &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(got, &have); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// ours are the fields of the first line whose value is another one here.
var ours = map[string]string{
	"traceSchema": trace.Schema, // the format is ours
	"source":      "bridge",     // what writes is the bridge, not the runtime of a host
	"ts":          "<iso>",      // any
}

func TestVectorsFirstLine(t *testing.T) {
	v := load(t)
	data, err := json.Marshal(v.FirstLine["data"])
	if err != nil {
		t.Fatal(err)
	}
	text := func(key string) string { s, _ := v.FirstLine[key].(string); return s }
	e := trace.Event{
		TraceID: text("traceId"), Type: trace.Type(text("type")), Seq: 1, SourceSeq: 1, ThreadID: text("sessionId"), SessionKey: text("sessionKey"),
		TurnID: text("runId"), Workspace: text("workspaceDir"), Provider: text("provider"), Model: text("modelId"), API: text("modelApi"), Data: data,
	}
	line, err := e.Line(trace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(line, &got); err != nil {
		t.Fatal(err)
	}
	for key, value := range ours {
		if key != "ts" && got[key] != value {
			t.Errorf("%s is %v", key, got[key])
		}
		got[key] = v.FirstLine[key]
	}
	if diff := cmp.Diff(v.FirstLine, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	rest := string(line) // in this order
	for _, key := range v.LineKeys {
		_, after, ok := strings.Cut(rest, `"`+key+`":`)
		if !ok {
			t.Fatalf("%q is not there, or not in its place: %s", key, line)
		}
		rest = after
	}
}

func TestVectorsEvent(t *testing.T) {
	v := load(t)
	var want map[string]any
	if err := json.Unmarshal(v.Cases[6].Out, &want); err != nil {
		t.Fatal(err)
	}
	texts := make([]string, 100)
	for i := range texts {
		texts[i] = strings.Repeat("ab ", 6_600)
	}
	data, err := json.Marshal(map[string]any{"texts": texts})
	if err != nil {
		t.Fatal(err)
	}
	e := trace.Event{Type: "test", Data: data}
	line, err := e.Line(trace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Data map[string]any }
	if err := json.Unmarshal(line, &got); err != nil {
		t.Fatal(err)
	}
	if n, _ := got.Data["originalBytes"].(float64); int(n) <= len(data) {
		t.Errorf("originalBytes is %v of more than %d", n, len(data))
	}
	got.Data["originalBytes"] = want["originalBytes"] // of another event
	if diff := cmp.Diff(want, got.Data); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// The vectors of the switch and of the file's name have no counterpart: traces are on where
// [trace] says so, one file a thread.
func TestVectorsElsewhere(t *testing.T) {
	v := load(t)
	if len(v.Enabled) != 6 {
		t.Errorf("%d seen of a variable of the environment; each is a deviation, because contract.md has a key of the configuration", len(v.Enabled))
	}
	if got := trace.FileName("sess/1"); !strings.HasPrefix(got, "sess_1") || !strings.HasSuffix(got, ".jsonl") {
		t.Errorf("the file of sess/1 is %s", got)
	}
	names := []string{trace.FileName("a/b"), trace.FileName("a_b"), trace.FileName(strings.Repeat("x", 300)), trace.FileName(strings.Repeat("x", 301)), trace.FileName("..")}
	slices.Sort(names)
	if len(slices.Compact(names)) != 5 {
		t.Errorf("two threads have one file: %q", names)
	}
}
