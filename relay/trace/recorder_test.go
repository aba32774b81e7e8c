package trace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/relay/trace"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func recorder(t testing.TB, l trace.Limits) (*trace.Recorder, string) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "state", trace.FolderName)
	return recorderIn(folder, l), folder
}

func recorderIn(folder string, l trace.Limits) *trace.Recorder {
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	return trace.NewRecorder(trace.Options{
		Folder: folder, TraceID: "one", Limits: l, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return at },
	})
}

// play passes a conversation to a recorder. Each line is "from>to message", where c is Codex, e the
// editor and b the bridge.
func play(r *trace.Recorder, script string) {
	for line := range strings.Lines(script) {
		way, text, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		party := map[byte]bridge.Side{'e': bridge.Client, 'c': bridge.Codex}
		if way[0] != 'b' {
			r.Received(party[way[0]], []byte(text))
		}
		if way[2] != 'b' {
			r.Sending(party[way[2]], []byte(text+"\n"))
		}
	}
}

// playForwarded is play, with messages from Codex to the editor as forwarded lines, or, if part is
// not 0, in parts of that length.
func playForwarded(r *trace.Recorder, script string, part int) {
	var run bytes.Buffer
	flush := func() {
		if run.Len() > 0 {
			r.ForwardedLines(run.Bytes(), bytes.Count(run.Bytes(), []byte{'\n'}))
		}
		for i := range run.Bytes() {
			run.Bytes()[i] = 'x' // who is told must not keep it
		}
		run.Reset()
	}
	for line := range strings.Lines(script) {
		text, ok := strings.CutPrefix(line, "c>e ")
		switch {
		case !ok:
			flush()
			play(r, line)
		case part > 0:
			for piece := range slices.Chunk([]byte(text), part) {
				r.ForwardedPart(piece, false)
				clear(piece)
			}
			r.ForwardedPart(nil, true)
		default:
			run.WriteString(text)
		}
	}
	flush()
}

const turn = `
e>c {"id":0,"method":"initialize","params":{}}
c>e {"id":0,"result":{"userAgent":"x"}}
e>b {"id":1,"method":"thread/start","params":{"cwd":"/w","sandbox":"danger-full-access"}}
b>c {"id":1,"method":"thread/start","params":{"cwd":"/w","sandbox":"read-only"}}
c>e {"id":1,"result":{"thread":{"id":"t1"},"cwd":"/w","model":"m","modelProvider":"p"}}
c>e {"method":"thread/started","params":{"thread":{"id":"t1"}}}
e>c {"id":2,"method":"turn/start","params":{"threadId":"t1","input":[]}}
c>e {"id":2,"result":{"turn":{"id":"u1"}}}
c>e {"method":"turn/started","params":{"threadId":"t1","turn":{"id":"u1"}}}
c>e {"method":"item/agentMessage/delta","params":{"threadId":"t1","turnId":"u1","itemId":"i0","delta":"héllo"}}
c>e {"method":"item/started","params":{"threadId":"t1","turnId":"u1","item":{"type":"commandExecution","id":"i1"}}}
c>e {"id":7,"method":"item/commandExecution/requestApproval","params":{"threadId":"t1","turnId":"u1","itemId":"i1"}}
e>c {"id":7,"result":{"decision":"accept"}}
c>e {"method":"item/completed","params":{"threadId":"t1","turnId":"u1","item":{"type":"commandExecution","id":"i1","status":"completed"}}}
c>e {"method":"item/started","params":{"threadId":"t1","turnId":"u1","item":{"type":"mcpToolCall","id":"i2"}}}
c>b {"id":8,"method":"mcpServer/elicitation/request","params":{"threadId":"t1","turnId":"u1"}}
b>c {"id":8,"result":{"action":"decline"}}
c>e {"method":"turn/completed","params":{"threadId":"t1","turn":{"id":"u1","status":"completed"}}}
e>b {"id":9,"method":"fs/remove","params":{}}
b>e {"id":9,"error":{"code":-32010,"message":"no"}}
`

// lines returns the events of a file in short form.
func lines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range bytes.Lines(text) {
		var e trace.Event
		var data struct {
			trace.Hop
			Reason string
			Events int
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		var m struct{ Method string }
		if data.Message != nil {
			if err := json.Unmarshal(data.Message, &m); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, strings.Join(strings.Fields(fmt.Sprintf("%d %s %s %s>%s %s %s %s", e.Seq, e.Type, e.TurnID, data.From, data.To, m.Method, data.Outcome, data.Reason)), " "))
	}
	return all
}

// A message that is forwarded unchanged is one event, and open items are ended.
func TestTurn(t *testing.T) {
	for name, tell := range map[string]func(*trace.Recorder, string){
		"one by one": play,
		"in runs":    func(r *trace.Recorder, script string) { playForwarded(r, script, 0) },
		"in parts":   func(r *trace.Recorder, script string) { playForwarded(r, script, 7) },
	} {
		t.Run(name, func(t *testing.T) { testTurn(t, tell) })
	}
}

func testTurn(t *testing.T, tell func(r *trace.Recorder, script string)) {
	r, folder := recorder(t, trace.Limits{})
	tell(r, turn)
	r.Decided(decision.Record{Method: "fs/remove", Verdict: "deny", Reason: "by default"})
	r.Close()
	r.Close()
	want := strings.Split(strings.TrimSpace(`
1 message client>codex initialize
2 message codex>client
3 message client>bridge thread/start
4 context.compiled bridge>codex thread/start
5 session.started codex>client
6 message codex>client thread/started
7 prompt.submitted client>codex turn/start
8 message u1 codex>client
9 message u1 codex>client turn/started
10 message u1 codex>client item/agentMessage/delta
11 tool.call u1 codex>client item/started
12 approval.requested u1 codex>client item/commandExecution/requestApproval
13 approval.resolved u1 client>codex accept
14 tool.result u1 codex>client item/completed completed
15 tool.call u1 codex>client item/started
16 approval.requested u1 codex>bridge mcpServer/elicitation/request
17 approval.resolved u1 bridge>codex decline
18 model.completed u1 codex>client turn/completed completed
19 tool.result u1 > unfinished the turn ended
20 message client>bridge fs/remove
21 message bridge>client
22 decision > by default
23 session.ended >
`), "\n")
	if diff := cmp.Diff(want, lines(t, filepath.Join(folder, "t1.jsonl"))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	text, err := os.ReadFile(filepath.Join(folder, "t1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "llo") || !strings.Contains(string(text), `"chars":5`) {
		t.Error("a part of a stream is written with its text, or without its length")
	}
	if runtime.GOOS != "windows" {
		info, err := os.Stat(filepath.Join(folder, "t1.jsonl"))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v (%v)", info.Mode(), err)
		}
	}
}

// A response to a request of the bridge is written at once.
func TestResponseToBridge(t *testing.T) {
	r, folder := recorder(t, trace.Limits{})
	play(r, `
c>e {"method":"turn/started","params":{"threadId":"t1","turn":{"id":"u1"}}}
b>e {"id":"b1","method":"item/commandExecution/requestApproval","params":{"threadId":"t1","turnId":"u1"}}
e>b {"id":"b1","result":{"decision":"decline"}}
b>c {"id":"b2","method":"config/read","params":{}}
c>b {"id":"b2","result":{}}
c>e {"method":"turn/completed","params":{"threadId":"t1","turn":{"id":"u1","status":"completed"}}}
`)
	r.Close()
	want := strings.Split(strings.TrimSpace(`
1 message u1 codex>client turn/started
2 approval.requested u1 bridge>client item/commandExecution/requestApproval
3 approval.resolved u1 client>bridge decline
4 message bridge>codex config/read
5 message codex>bridge
6 model.completed u1 codex>client turn/completed completed
7 session.ended >
`), "\n")
	if diff := cmp.Diff(want, lines(t, filepath.Join(folder, "t1.jsonl"))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// The client and Codex may use the same ids. Their responses are assigned to the right requests,
// also if the bridge has changed both requests.
func TestSameIDs(t *testing.T) {
	r, folder := recorder(t, trace.Limits{})
	play(r, `
c>e {"method":"turn/started","params":{"threadId":"t1","turn":{"id":"u1"}}}
c>b {"id":5,"method":"item/commandExecution/requestApproval","params":{"threadId":"t1","turnId":"u1"}}
b>e {"id":5,"method":"item/commandExecution/requestApproval","params":{"threadId":"t1","turnId":"u1","availableDecisions":[]}}
e>b {"id":5,"method":"thread/start","params":{}}
b>c {"id":5,"method":"thread/start","params":{"sandbox":"read-only"}}
e>b {"id":5,"result":{"decision":"acceptForSession"}}
b>c {"id":5,"result":{"decision":"accept"}}
c>e {"id":5,"result":{"thread":{"id":"t2"}}}
c>e {"id":6,"method":"item/fileChange/requestApproval","params":{"threadId":"t1","turnId":"u1"}}
e>c {"id":6,"method":"thread/resume","params":{"threadId":"t2"}}
e>b {"id":6,"result":{"decision":"accept"}}
b>c {"id":6,"result":{"decision":"decline"}}
c>b {"id":6,"result":{"thread":{"id":"t2"}}}
b>e {"id":6,"result":{"thread":{"id":"t2"},"x":1}}
`)
	r.Close()
	for name, want := range map[string]string{
		"t1": `
1 message u1 codex>client turn/started
2 approval.requested u1 codex>bridge item/commandExecution/requestApproval
3 approval.requested u1 bridge>client item/commandExecution/requestApproval
4 approval.resolved u1 client>bridge acceptForSession
5 approval.resolved u1 bridge>codex accept
6 approval.requested u1 codex>client item/fileChange/requestApproval
7 approval.resolved u1 client>bridge accept
8 approval.resolved u1 bridge>codex decline
9 turn.client_closed u1 >
10 session.ended >`,
		"t2": `
1 message client>bridge thread/start
2 context.compiled bridge>codex thread/start
3 session.started codex>client
4 context.compiled client>codex thread/resume
5 session.started codex>bridge
6 session.started bridge>client
7 session.ended >`,
	} {
		if diff := cmp.Diff(strings.Split(strings.TrimSpace(want), "\n"), lines(t, filepath.Join(folder, name+".jsonl"))); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// A thread ends when Codex unloads it. Later events are in the same file, which is not kept open.
func TestUnloadedThread(t *testing.T) {
	r, folder := recorder(t, trace.Limits{})
	play(r, `
e>c {"method":"initialized"}
c>e {"method":"thread/name/updated","params":{"threadId":"t1"}}
c>e {"method":"thread/archived","params":{"threadId":"t1"}}
b>e {"method":"bridge/hooks/state"}
c>e {"method":"thread/name/updated","params":{"threadId":"t1"}}
e>c {"id":3,"method":"thread/resume","params":{"threadId":"t1"}}
c>e {"id":3,"result":{"thread":{"id":"t1"}}}
c>e {"method":"thread/name/updated","params":{"threadId":"t1"}}
`)
	r.Close()
	want := strings.Split(strings.TrimSpace(`
1 message client>codex initialized
2 message codex>client thread/name/updated
3 message codex>client thread/archived
4 session.ended >
5 message bridge>client bridge/hooks/state
6 message codex>client thread/name/updated
7 context.compiled client>codex thread/resume
8 session.started codex>client
9 message codex>client thread/name/updated
10 session.ended >
`), "\n")
	if diff := cmp.Diff(want, lines(t, filepath.Join(folder, "t1.jsonl"))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// If the conversation ends during a turn, its calls, approval requests and the turn are ended.
func TestEndDuringTurn(t *testing.T) {
	r, folder := recorder(t, trace.Limits{})
	head, _, _ := strings.Cut(turn, `e>c {"id":7`)
	play(r, head)
	r.Close()
	got := lines(t, filepath.Join(folder, "t1.jsonl"))
	want := []string{
		"13 tool.result u1 > unfinished the conversation ended", "14 approval.resolved u1 > unanswered the conversation ended",
		"15 turn.client_closed u1 >", "16 session.ended >",
	}
	if diff := cmp.Diff(want, got[len(got)-4:]); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// Lines and files never exceed their maximum sizes.
func TestBounds(t *testing.T) {
	root := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		folder := filepath.Join(root, fmt.Sprint(n), trace.FolderName)
		l := trace.Limits{Event: rapid.IntRange(1024, 4096).Draw(t, "event"), File: int64(rapid.IntRange(2048, 16384).Draw(t, "file"))}
		r := recorderIn(folder, l)
		for range rapid.IntRange(1, 30).Draw(t, "n") {
			text := strings.Repeat("word ", rapid.IntRange(0, 2000).Draw(t, "length"))
			r.Received(bridge.Codex, fmt.Appendf(nil, `{"method":"x","params":{"threadId":"t","text":%q}}`, text))
		}
		r.Close()
		text, err := os.ReadFile(filepath.Join(folder, "t.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(text)) > l.File {
			t.Fatalf("%d bytes of %d", len(text), l.File)
		}
		var last trace.Event
		for line := range bytes.Lines(text) {
			last = trace.Event{}
			if len(line) > l.Event+1 {
				t.Fatalf("a line of %d bytes of %d", len(line), l.Event)
			}
			if err := json.Unmarshal(line, &last); err != nil {
				t.Fatal(err)
			}
		}
		if last.Type != trace.SessionEnded && last.Type != trace.FileFull {
			t.Fatalf("the last event is %s", last.Type)
		}
	})
}

// canary must not be in a file.
const canary = "Zq7Kx0Vw9Rt3Yb5N"

// stuckLog is a log that blocks: here, when a file cannot be opened.
type stuckLog struct {
	slog.Handler
	free chan struct{}
}

func (s stuckLog) Enabled(context.Context, slog.Level) bool { return true }

func (s stuckLog) Handle(context.Context, slog.Record) error { <-s.free; return nil }

// Events beyond the queue are dropped, and their number is written.
func TestDropped(t *testing.T) {
	folder := filepath.Join(t.TempDir(), trace.FolderName)
	if err := os.MkdirAll(filepath.Join(folder, "bad.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, tell := range map[string]func(r *trace.Recorder, line []byte){
		"heard":  func(r *trace.Recorder, line []byte) { r.Received(bridge.Codex, line) },
		"passed": func(r *trace.Recorder, line []byte) { r.ForwardedLines(append(line, '\n'), 1) },
		"in parts": func(r *trace.Recorder, line []byte) {
			r.ForwardedPart(line[:100], false)
			r.ForwardedPart(line[100:], true)
		},
	} {
		t.Run(name, func(t *testing.T) { testDropped(t, folder, name, tell) })
	}
}

func testDropped(t *testing.T, folder, name string, tell func(r *trace.Recorder, line []byte)) {
	stuck := stuckLog{slog.DiscardHandler, make(chan struct{})}
	r := trace.NewRecorder(trace.Options{Folder: folder, TraceID: "one", Limits: trace.Limits{Memory: 4096}, Log: slog.New(stuck)})
	r.Received(bridge.Codex, []byte(`{"method":"x","params":{"threadId":"bad"}}`))
	text := strings.Repeat("word ", 180)
	for range 5000 {
		tell(r, fmt.Appendf(nil, `{"method":"x","params":{"threadId":%q,"text":%q}}`, name, text))
	}
	close(stuck.free)
	r.Close()
	if r.Dropped() < 4990 { // four go into the memory
		t.Fatalf("%d messages were lost while nothing could be written", r.Dropped())
	}
	file, err := os.ReadFile(filepath.Join(folder, trace.FileName(name)))
	if err != nil {
		t.Fatal(err)
	}
	var lost, kept int64
	for line := range bytes.Lines(file) {
		var e struct {
			Type trace.Type
			Data struct{ Events int64 }
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		lost += e.Data.Events
		if e.Type == trace.Message {
			kept++
		}
	}
	if lost != r.Dropped() || lost+kept != 5000 {
		t.Errorf("%d kept, %d told as lost, %d lost", kept, lost, r.Dropped())
	}
}

// The event of a message that is too long has its length.
func TestLongMessage(t *testing.T) {
	long := []byte(`{"method":"y","params":{"threadId":"t","password":"` + strings.Repeat(canary, 8<<10) + `"}}`)
	for name, tell := range map[string]func(*trace.Recorder){
		"heard":  func(r *trace.Recorder) { r.Received(bridge.Codex, long) },
		"passed": func(r *trace.Recorder) { r.ForwardedLines(append(long, '\n'), 1) },
		"in parts": func(r *trace.Recorder) {
			for piece := range slices.Chunk(long, 10_000) {
				r.ForwardedPart(piece, false)
			}
			r.ForwardedPart([]byte{'\n'}, true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			// Forwarded lines are not longer than the buffer of a Pump.
			r, folder := recorder(t, trace.Limits{Memory: 256 << 10, Event: 4096})
			r.Received(bridge.Codex, []byte(`{"method":"x","params":{"threadId":"t"}}`))
			tell(r)
			r.Close()
			text, err := os.ReadFile(filepath.Join(folder, "t.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(text, []byte{'\n'}); n != 3 || r.Dropped() > 0 || strings.Contains(string(text), canary) {
				t.Errorf("%d events, %d lost: %.2000s", n, r.Dropped(), text)
			}
			if elided := strings.Contains(string(text), `"elidedBytes":131`); elided != (name != "passed") {
				t.Errorf("%.2000s", text)
			}
		})
	}
}

// The decision about a request that opens a thread is in the file of that thread only.
func TestDecisionOfOpeningRequest(t *testing.T) {
	r, folder := recorder(t, trace.Limits{})
	for i, id := range []string{"t1", "t2"} {
		r.Received(bridge.Client, fmt.Appendf(nil, `{"id":%d,"method":"thread/start","params":{"sandbox":"danger-full-access"}}`, i))
		r.Decided(decision.Record{Method: "thread/start", Verdict: "rewrite", Reason: "cut down for " + id})
		r.Sending(bridge.Codex, fmt.Appendf(nil, `{"id":%d,"method":"thread/start","params":{"sandbox":"read-only"}}`+"\n", i))
		play(r, fmt.Sprintf(`c>e {"id":%d,"result":{"thread":{"id":%q}}}`, i, id))
	}
	// A refused request has no thread.
	r.Received(bridge.Client, []byte(`{"id":2,"method":"thread/fork","params":{}}`))
	r.Decided(decision.Record{Method: "thread/fork", Verdict: "deny", Reason: "not this one"})
	r.Sending(bridge.Client, []byte(`{"id":2,"error":{"code":-32010,"message":"no"}}`+"\n"))
	r.Close()
	want := map[string][]string{
		"t1": {"1 decision > cut down for t1", "2 message client>bridge thread/start", "3 context.compiled bridge>codex thread/start", "4 session.started codex>client", "5 session.ended >"},
		"t2": {"1 decision > cut down for t2", "2 message client>bridge thread/start", "3 context.compiled bridge>codex thread/start", "4 session.started codex>client",
			"5 decision > not this one", "6 message client>bridge thread/fork", "7 message bridge>client", "8 session.ended >"},
	}
	for id, steps := range want {
		if diff := cmp.Diff(steps, lines(t, filepath.Join(folder, id+".jsonl"))); diff != "" {
			t.Errorf("%s: -want +got\n%s", id, diff)
		}
	}
}
