package follow_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/cmd/codex-bridge/internal/follow"
	"codex-bridge.example/rpc"
)

func value(t *testing.T, text string) rpc.Value {
	t.Helper()
	doc, err := rpc.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}

// turn has the notifications of a turn, one "method params" per line.
const turn = `
item/agentMessage/delta {"threadId":"other","itemId":"z","delta":"not ours"}
turn/started {"threadId":"T","turn":{"id":"t"}}
item/started {"threadId":"T","item":{"type":"agentMessage","id":"a"}}
item/agentMessage/delta {"threadId":"T","itemId":"a","delta":"Let me "}
item/agentMessage/delta {"threadId":"T","itemId":"a","delta":"look."}
item/completed {"threadId":"T","item":{"type":"agentMessage","id":"a","text":"Let me look."}}
item/started {"threadId":"T","item":{"type":"commandExecution","id":"c","command":"go test ./...\n# with\u001b[31m colour"}}
item/agentMessage/delta {"threadId":"child","itemId":"z","delta":"a subagent's"}
item/completed {"threadId":"T","item":{"type":"commandExecution","id":"c"}}
item/completed {"threadId":"T","item":{"type":"agentMessage","id":"b","text":"All\u001b]0;x\u0007 green.\u202e\n"}}
turn/completed {"threadId":"T","turn":{"id":"t","status":"completed"}}
`

func play(t *testing.T, s *follow.Screen) (out, problems string) {
	t.Helper()
	var o, e strings.Builder
	s.Out, s.Err = &o, &e
	at := time.Unix(0, 0)
	s.Now = func() time.Time { at = at.Add(time.Second); return at }
	s.Begin()
	for line := range strings.Lines(strings.TrimSpace(turn)) {
		method, params, _ := strings.Cut(strings.TrimSpace(line), " ")
		s.Show(method, value(t, params))
	}
	s.End(value(t, `{"status":"completed","text":"All green.\n"}`), nil)
	return o.String(), e.String()
}

func TestScreen(t *testing.T) {
	for _, c := range []struct {
		name   string
		screen *follow.Screen
		out    string
		err    string // a part of it; "" nothing at all
	}{
		{"a pipe", &follow.Screen{}, "All green.\n", ""},
		{"a terminal", &follow.Screen{Stream: true, Progress: true}, "Let me look.\n\nAll]0;x green.\n", `· running go test ./...\n# with\u001b[31m colour (5s)`},
		{"output is a file", &follow.Screen{Progress: true}, "All green.\n", "running go test"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, problems := play(t, c.screen)
			if diff := cmp.Diff(c.out, out); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(problems, c.err) || c.err == "" && problems != "" {
				t.Errorf("on stderr %q", problems)
			}
			if problems != "" && !strings.HasSuffix(problems, "\r\x1b[K") {
				t.Errorf("the progress line was not erased: %q", problems)
			}
		})
	}
}

// The JSON output has all events, of other threads too, and the result last.
func TestEvents(t *testing.T) {
	out, problems := play(t, &follow.Screen{JSON: true, Stream: true, Progress: true})
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if problems != "" || len(lines) != 12 || lines[11] != `{"event":"result","result":{"status":"completed","text":"All green.\n"}}` ||
		lines[0] != `{"event":"item/agentMessage/delta","params":{"threadId":"other","itemId":"z","delta":"not ours"}}` {
		t.Errorf("%q\n%s", problems, out)
	}
	var o strings.Builder
	s := &follow.Screen{JSON: true, Out: &o}
	s.End(rpc.Value{}, rpc.Errorf(rpc.CodeBusy, "held"))
	if got := o.String(); got != `{"event":"error","error":{"code":-32015,"message":"held"}}`+"\n" {
		t.Error(got)
	}
}

func TestDoing(t *testing.T) {
	for item, want := range map[string]string{
		`{"type":"reasoning"}`: "thinking",
		`{"type":"fileChange","changes":[{"path":"/a"},{"path":"/b","kind":{"type":"update","move_path":"/c"}}]}`: "changing /a, /b, /c",
		`{"type":"mcpToolCall","server":"s","tool":"t"}`:                                                          "calling s/t",
		`{"type":"dynamicToolCall","tool":"t"}`:                                                                   "calling t",
		`{"type":"webSearch","query":"q"}`:                                                                        "searching the web for q",
		`{"type":"contextCompaction"}`:                                                                            "summing the conversation up",
		`{"type":"userMessage"}`:                                                                                  "",
		`{"type":"commandExecution","command":"/bin/bash -lc 'a; b'","commandActions":[{"command":"a"},{"command":"b"}]}`: "running a && b",
		`{"type":"commandExecution","command":"ls"}`: "running ls",
	} {
		if got := follow.DescribeItem(value(t, item)); got != want {
			t.Errorf("%s is %q", item, got)
		}
	}
}

// typist is a screen with a user who types a line when something is shown, and leaves.
type typist struct {
	in   io.WriteCloser
	line string
	once sync.Once
}

func (p *typist) Write(shown []byte) (int, error) {
	p.once.Do(func() {
		go func() {
			_, _ = io.WriteString(p.in, p.line)
			p.in.Close()
		}()
	})
	return len(shown), nil
}

func TestPerson(t *testing.T) {
	const own = `{"threadId":"T","turnId":null,"serverName":"codex-bridge","mode":"form","message":"Allow it?","requestedSchema":{"type":"object","properties":{}}}`
	const approval = `{"threadId":"T","turnId":"t","command":"touch x","availableDecisions":["accept","acceptForSession","cancel"]}`
	for _, c := range []struct{ typed, method, params, want string }{
		{"y", "item/commandExecution/requestApproval", approval, `{"decision":"accept"}`},
		{" S ", "item/commandExecution/requestApproval", approval, `{"decision":"acceptForSession"}`},
		{"n", "item/commandExecution/requestApproval", approval, `{"decision":"decline"}`},
		{"why?", "item/commandExecution/requestApproval", approval, `{"decision":"decline"}`},
		{"y", "item/fileChange/requestApproval", `{"threadId":"T","turnId":"t"}`, `{"decision":"accept"}`},
		{"s", "mcpServer/elicitation/request", own, `{"_meta":null,"action":"decline","content":null}`},
		{"y", "mcpServer/elicitation/request", own, `{"_meta":null,"action":"accept","content":null}`},
		{"n", "mcpServer/elicitation/request", `{"threadId":"T","mode":"form","_meta":{"codex_approval_kind":"mcp_tool_call"},"requestedSchema":{"type":"object","properties":{}}}`, `{"_meta":null,"action":"decline","content":null}`},
		{"2", "item/tool/requestUserInput", `{"questions":[{"id":"a","header":"A","question":"?","options":[{"label":"x"},{"label":"y"}]}]}`, `{"answers":{"a":{"answers":["y"]}}}`},
		{"", "currentTime/read", `{}`, ""},
	} {
		r, w := io.Pipe()
		p := follow.NewPerson(&follow.Screen{Out: io.Discard, Err: &typist{in: w, line: c.typed + "\n"}, Now: time.Now}, r, "")
		got, ok := p.Answer(t.Context(), c.method, value(t, c.params))
		if ok != (c.want != "") || ok && !same(t, c.want, got) {
			t.Errorf("%q to %s is %s, %v", c.typed, c.method, got, ok)
		}
		r.Close()
	}
	// The turn is interrupted: the question is cancelled. At the end of the input the answer is no.
	r, w := io.Pipe()
	defer w.Close()
	p := follow.NewPerson(&follow.Screen{Out: io.Discard, Err: io.Discard, Now: time.Now}, r, "")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	question := func(ctx context.Context, want string) {
		t.Helper()
		if got, _ := p.Answer(ctx, "item/fileChange/requestApproval", value(t, `{"threadId":"T","turnId":"t"}`)); !same(t, want, got) {
			t.Errorf("the answer at the end of the input is %s", got)
		}
	}
	question(over, `{"decision":"cancel"}`)
	// A line typed then does not answer the next question.
	for _, line := range []string{"y\n", "n"} { // the reader asks for the second line after it handled the first
		if _, err := io.WriteString(w, line); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	question(t.Context(), `{"decision":"decline"}`)
}

// A question about a patch shows what the patch does: two patches never look the same.
func TestQuestionShowsPatch(t *testing.T) {
	seen := make(map[string]string)
	for _, changes := range []string{
		`[{"path":"/w/keep.txt","kind":{"type":"update","move_path":null},"diff":"@@\n-precious\n+precious!\n"}]`,
		`[{"path":"/w/keep.txt","kind":{"type":"delete"},"diff":"precious\n"}]`,
		`[{"path":"/w/keep.txt","kind":{"type":"update","move_path":"/w/other.txt"},"diff":"@@\n-precious\n+precious!\n"}]`,
		`[{"path":"/w/keep.txt","kind":{"type":"add"},"diff":"rm -rf ~\n"}]`,
		`[{"path":"/w/keep.txt","kind":{"type":"add"},"diff":"echo hi\n"}]`,
		"",
	} {
		r, w := io.Pipe()
		var shown strings.Builder
		s := &follow.Screen{Out: io.Discard, Err: io.MultiWriter(&shown, &typist{in: w, line: "y\n"}), Now: time.Now}
		s.Show("turn/started", value(t, `{"threadId":"T","turn":{"id":"t"}}`))
		if changes != "" {
			s.Show("item/started", value(t, `{"threadId":"T","turnId":"t","item":{"type":"fileChange","id":"i","changes":`+changes+`}}`))
		}
		got, _ := follow.NewPerson(s, r, "").Answer(t.Context(), "item/fileChange/requestApproval", value(t, `{"threadId":"T","turnId":"t","itemId":"i","reason":"why"}`))
		if other, ok := seen[shown.String()]; ok || !same(t, `{"decision":"accept"}`, got) {
			t.Errorf("answered %s; %s and %s look the same:\n%s", got, changes, other, shown.String())
		}
		if strings.Contains(changes, "rm -rf") != strings.Contains(shown.String(), "\nAdd file: /w/keep.txt\n  | rm -rf ~\n") {
			t.Errorf("%s is shown as\n%s", changes, shown.String())
		}
		seen[shown.String()] = changes
		r.Close()
	}
}

func same(t *testing.T, want string, got []byte) bool {
	t.Helper()
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	return json.Unmarshal(got, &g) == nil && cmp.Equal(w, g)
}

// The progress line of a command with wide characters fits a line of 80 columns, else it could not be erased.
func TestProgressLineFits(t *testing.T) {
	var e strings.Builder
	s := &follow.Screen{Progress: true, Out: io.Discard, Err: &e, Now: time.Now}
	s.Begin()
	s.Show("turn/started", value(t, `{"threadId":"a","turn":{"id":"u"}}`))
	s.Show("item/started", value(t, `{"threadId":"a","turnId":"u","item":{"type":"commandExecution","command":"`+strings.Repeat("命", 50)+`"}}`))
	line := e.String()[strings.LastIndex(e.String(), "·"):]
	if !strings.HasPrefix(line, "· running 命") || !strings.HasSuffix(line, "命… (0s)") || follow.Columns(line) > 80 {
		t.Errorf("%d columns: %q", follow.Columns(line), line)
	}
}
