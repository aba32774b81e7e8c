package trace_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/relay/trace"

	"github.com/google/go-cmp/cmp"
)

// recorded are the messages of the client (e) and to the client (c) of one conversation.
const recorded = `
e {"id":0,"method":"initialize","params":{"a":1}}
c {"id":0,"result":{"userAgent":"x"}}
e {"method":"initialized"}
e {"id":1,"method":"thread/start","params":{}}
c {"id":1,"result":{"thread":{"id":"t"}}}
e {"id":2,"method":"turn/start","params":{"threadId":"t"}}
c {"method":"item/agentMessage/delta","params":{"threadId":"t","itemId":"i","delta":"<hé"}}
c {"id":2,"result":{"turn":{"id":"u"}}}
c {"method":"item/agentMessage/delta","params":{"threadId":"t","itemId":"i","delta":"llo>"}}
c {"id":0,"method":"item/commandExecution/requestApproval","params":{"threadId":"t"}}
e {"id":0,"result":{"decision":"accept"}}
c {"method":"item/completed","params":{"threadId":"t","item":{"id":"i","type":"agentMessage","text":"<héllo>"}}}
c {"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u"}}}
`

// A text beside the part of a stream, of which this version knows nothing, is left out; it
// takes nothing of the stream's.
func TestPlayUnknown(t *testing.T) {
	delta := `{"method":"item/agentMessage/delta","params":{"threadId":"t","itemId":"i","delta":"<hé"`
	path := record(t, strings.Replace(recorded, delta, delta+`,"later":"text","more":{"delta":"text"}`, 1))
	if err := replay(t, player(t, path, 0), strings.Replace(recorded, delta, delta+`,"later":"","more":{"delta":""}`, 1)); err != nil {
		t.Error(err)
	}
}

// An id is the same however a client writes it.
func TestPlayIDs(t *testing.T) {
	const asks = `
e {"id":1,"method":"turn/start","params":{"threadId":"t","input":[]}}
c {"id":1,"result":{"turn":{"id":"u"}}}
c {"id":"a/\u0062","method":"item/tool/requestUserInput","params":{"threadId":"t","turnId":"u"}}
e {"id":"a/b","result":{}}
c {"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u","status":"completed"}}}
`
	path := record(t, asks)
	script := strings.Replace(strings.Replace(asks, `c {"id":"a/\u0062"`, `c {"id":"a/b"`, 1), `e {"id":"a/b"`, `e {"id":"\u0061\/b"`, 1)
	if err := replay(t, player(t, path, 0), script); err != nil {
		t.Error(err)
	}
}

func steps(script string) (all [][2]string) {
	for l := range strings.Lines(strings.TrimSpace(script)) {
		who, text, _ := strings.Cut(strings.TrimSpace(l), " ")
		all = append(all, [2]string{who, text})
	}
	return all
}

// record writes a trace and returns its file.
func record(t *testing.T, script string) string {
	t.Helper()
	folder := t.TempDir() + "/traces"
	r := trace.NewRecorder(trace.Options{Folder: folder, TraceID: "x", Log: slog.New(slog.DiscardHandler)})
	for _, s := range steps(script) {
		from, to := bridge.Client, bridge.Codex
		if s[0] == "c" {
			from, to = to, from
		}
		r.Received(from, []byte(s[1]))
		r.Sending(to, []byte(s[1]))
	}
	r.Close()
	return filepath.Join(folder, trace.FileName("t"))
}

// player plays a conversation of a trace; by default the last.
func player(t *testing.T, path string, speed float64, conversation ...string) *trace.Player {
	t.Helper()
	events, err := trace.Conversation(path, strings.Join(conversation, ""))
	if err != nil {
		t.Fatal(err)
	}
	p, err := trace.NewPlayer(events, speed)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// replay plays the lines of script as a client: it sends those of the client, and expects those of Codex,
// in their order.
func replay(t *testing.T, p *trace.Player, script string) error {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := p.Play(context.Background(), inR, outW)
		outW.Close()
		inR.Close()
		ended <- err
	}()
	heard := bufio.NewReader(outR)
	for _, s := range steps(script) {
		if s[0] == "e" {
			if _, err := io.WriteString(inW, s[1]+"\n"); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := heard.ReadString('\n')
		if err != nil {
			t.Fatalf("%v in place of %s", err, s[1])
		}
		var want, have any
		if err := json.Unmarshal([]byte(s[1]), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(got), &have); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Fatalf("-want +got\n%s", diff)
		}
	}
	inW.Close()
	return <-ended
}

// A client that does the same hears the same, with ids of its own.
func TestSame(t *testing.T) {
	path := record(t, recorded)
	if err := replay(t, player(t, path, 0), recorded); err != nil {
		t.Error(err)
	}
	other := strings.NewReplacer(`e {"id":1,`, `e {"id":"one",`, `{"id":1,"result"`, `{"id":"one","result"`, `e {"id":2,`, `e {"id":44,`, `{"id":2,"result"`, `{"id":44,"result"`,
		`{"a":1}`, `{"b":2}`).Replace(recorded)
	if err := replay(t, player(t, path, 1e9), other); err != nil {
		t.Error(err)
	}
}

// A client that goes early is no failure.
func TestGone(t *testing.T) {
	head, _, _ := strings.Cut(recorded, `e {"id":2`)
	if err := replay(t, player(t, record(t, recorded), 0), head); err != nil {
		t.Error(err)
	}
}

// One that does something else is told where.
func TestLeaves(t *testing.T) {
	head, _, _ := strings.Cut(recorded, `e {"id":2`)
	err := replay(t, player(t, record(t, recorded), 0), head+`e {"id":9,"method":"thread/list"}
c {"id":9,"error":{"code":-32600,"message":"the client sent thread/list at event 6, where the recording has turn/start"}}`)
	var left *trace.PathError
	if !errors.As(err, &left) || left.Got != "thread/list" || left.Want != "turn/start" {
		t.Errorf("%v", err)
	}
	err = replay(t, player(t, record(t, recorded), 0), recorded+`e {"id":9,"method":"thread/list"}
c {"id":9,"error":{"code":-32600,"message":"the client sent thread/list at event 0, where the recording has its end"}}`)
	if !errors.As(err, &left) || left.Want != "its end" {
		t.Errorf("%v", err)
	}
}

// Of several conversations in a file the last is played, or the one that is named.
func TestConversation(t *testing.T) {
	folder := t.TempDir() + "/traces"
	for n := range 2 {
		r := trace.NewRecorder(trace.Options{Folder: folder, TraceID: fmt.Sprint(n), Log: slog.New(slog.DiscardHandler)})
		hello := []byte(`{"method":"initialized","params":{"threadId":"t"}}`)
		r.Received(bridge.Client, hello)
		r.Sending(bridge.Codex, hello)
		line := fmt.Appendf(nil, `{"method":"n%d","params":{"threadId":"t"}}`, n)
		r.Received(bridge.Codex, line)
		r.Sending(bridge.Client, line)
		r.Close()
	}
	path := folder + "/t.jsonl"
	for id, want := range map[string]string{"": "n1", "0": "n0", "1": "n1"} {
		if err := replay(t, player(t, path, 0, id), `e {"method":"initialized"}
c {"method":"`+want+`","params":{"threadId":"t"}}`); err != nil {
			t.Error(err)
		}
	}
	events, err := trace.Conversation(path, "2")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trace.NewPlayer(events, 0); !errors.Is(err, trace.ErrNoConversation) {
		t.Errorf("a conversation that is not there: %v", err)
	}
}

// threads is a conversation about two threads at once.
const threads = `
e {"id":0,"method":"initialize","params":{}}
c {"id":0,"result":{}}
e {"id":1,"method":"thread/start","params":{"cwd":"/w"}}
c {"id":1,"result":{"thread":{"id":"t"}}}
e {"id":2,"method":"turn/start","params":{"threadId":"t"}}
e {"id":3,"method":"thread/start","params":{"ephemeral":true}}
c {"id":2,"result":{"turn":{"id":"u"}}}
c {"id":3,"result":{"thread":{"id":"e"}}}
e {"id":4,"method":"turn/start","params":{"threadId":"e"}}
e {"id":5,"method":"turn/start","params":{"threadId":"t"}}
c {"id":4,"result":{"turn":{"id":"v"}}}
c {"id":5,"result":{"turn":{"id":"w"}}}
`

// The threads of a conversation are played together, and the client may do in one what it does
// before or after what it does in another. In one thread the order counts.
func TestThreads(t *testing.T) {
	path := record(t, threads)
	whole := func() *trace.Player { return player(t, path, 0) }
	if err := replay(t, whole(), threads); err != nil {
		t.Error(err)
	}
	if err := replay(t, whole(), `
e {"id":"a","method":"initialize","params":[]}
c {"id":"a","result":{}}
e {"id":"b","method":"thread/start","params":{"cwd":"/w"}}
c {"id":"b","result":{"thread":{"id":"t"}}}
e {"id":"d","method":"thread/start","params":{"ephemeral":true}}
e {"id":"c","method":"turn/start","params":{"threadId":"t"}}
c {"id":"c","result":{"turn":{"id":"u"}}}
c {"id":"d","result":{"thread":{"id":"e"}}}
e {"id":"f","method":"turn/start","params":{"threadId":"t"}}
e {"id":"g","method":"turn/start","params":{"threadId":"e"}}
c {"id":"g","result":{"turn":{"id":"v"}}}
c {"id":"f","result":{"turn":{"id":"w"}}}
`); err != nil {
		t.Error(err)
	}
	var left *trace.PathError
	err := replay(t, whole(), `
e {"id":"a","method":"initialize","params":{}}
c {"id":"a","result":{}}
e {"id":"b","method":"thread/start","params":{"cwd":"/w"}}
c {"id":"b","result":{"thread":{"id":"t"}}}
e {"id":"c","method":"turn/interrupt","params":{"threadId":"t"}}
c {"id":"c","error":{"code":-32600,"message":"the client sent turn/interrupt at event 5, where the recording has turn/start"}}
`)
	if !errors.As(err, &left) {
		t.Errorf("%v", err)
	}
}

// A play ends when it is told to.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Nanosecond)
	defer cancel()
	<-ctx.Done()
	in, w := io.Pipe()
	defer w.Close()
	if err := player(t, record(t, recorded), 0).Play(ctx, in, io.Discard); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}
