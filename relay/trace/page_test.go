package trace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/relay/trace"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

var pageStart = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// pageEvents returns the events of a conversation: each line a type and its data, a second apart.
func pageEvents(script string) (all []trace.Event) {
	n := int64(0)
	for line := range strings.Lines(strings.TrimSpace(script)) {
		kind, data, _ := strings.Cut(strings.TrimSpace(line), " ")
		n++
		all = append(all, trace.Event{TraceID: "x", Type: trace.Type(kind), Time: pageStart.Add(time.Duration(n-1) * time.Second), SourceSeq: n, ThreadID: "t", TurnID: "u", Model: "m", Workspace: "/w", Data: json.RawMessage(data)})
	}
	return all
}

const pageTurn = `
session.started {"from":"codex","to":"client","message":{"id":1,"result":{"thread":{"id":"t"}}}}
prompt.submitted {"from":"client","to":"codex","message":{"id":2,"method":"turn/start","params":{"input":[{"type":"text","text":"do it"}]}}}
hook.started {"from":"codex","to":"client","message":{"method":"hook/started","params":{"run":{"id":"h","eventName":"preToolUse","status":"running"}}}}
decision {"verdict":"deny","method":"hook/preToolUse","rule":"policy.rule","reason":"Nothing is touched"}
hook.completed {"from":"codex","to":"client","outcome":"blocked","message":{"method":"hook/completed","params":{"run":{"id":"h","eventName":"preToolUse","status":"blocked","durationMs":5,"entries":[{"text":"no"}]}}}}
tool.call {"from":"codex","to":"client","message":{"method":"item/started","params":{"item":{"id":"i","type":"commandExecution","command":"mkdir x"}}}}
approval.requested {"from":"codex","to":"client","message":{"id":0,"method":"item/commandExecution/requestApproval","params":{"command":"mkdir x"}}}
approval.resolved {"from":"client","to":"codex","outcome":"decline","message":{"id":0,"result":{"decision":"decline"}}}
tool.result {"from":"codex","to":"client","outcome":"declined","message":{"method":"item/completed","params":{"item":{"id":"i","type":"commandExecution","command":"mkdir x"}}}}
message {"from":"codex","to":"client","message":{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{"total":{"totalTokens":70,"inputTokens":60,"outputTokens":10}}}}}
message {"from":"codex","to":"client","message":{"method":"item/completed","params":{"item":{"id":"a","type":"agentMessage","text":"It was refused."}}}}
session.ended {}
`

func writePage(t testing.TB, script string) string {
	t.Helper()
	m, err := trace.NewPage(pageEvents(script))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Decisions are in the row of the tool call that they are about.
func TestRows(t *testing.T) {
	m, err := trace.NewPage(pageEvents(pageTurn))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, r := range m.Rows {
		fmt.Fprintf(&got, "%s %s %.0f+%.0f %s %q\n", r.Kind, r.State, r.Left, r.Width, r.Title, r.Decisions)
	}
	want := `session ok 0+0 thread t, m, in /w []
prompt ok 9+0 do it []
hook denied 18+18 preToolUse blocked 5 ms no ["deny hook/preToolUse policy.rule: Nothing is touched"]
decision denied 27+0 deny hook/preToolUse policy.rule: Nothing is touched []
tool denied 45+27 mkdir x []
approval denied 55+9 mkdir x ["client answered decline"]
message ok 91+0 It was refused. []
session ok 100+0 the conversation ended []
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
	if len(m.Usage) != 1 || m.Usage[0].Total != 70 {
		t.Errorf("tokens: %+v", m.Usage)
	}
}

// The first prompt is the title of the page. Rows of a subagent have its name.
func TestSubagent(t *testing.T) {
	var events []trace.Event
	for _, e := range pageEvents(pageTurn) {
		events = append(events, e)
		if e.Type == trace.ToolCall || e.Type == trace.ToolResult {
			e.ThreadID, e.TurnID = "thread-of-a-child", "v" // with the id of its parent's call
			events = append(events, e)
		}
	}
	m, err := trace.NewPage(events)
	if err != nil {
		t.Fatal(err)
	}
	var agents []string
	for _, r := range m.Rows {
		if r.Kind == "tool" {
			agents = append(agents, r.Agent)
		}
	}
	if diff := cmp.Diff([]string{"", "agent hild"}, agents); diff != "" || m.Title != "do it" || m.Thread != "t" {
		t.Errorf("%q in %q: -want +got\n%s", m.Title, m.Thread, diff)
	}
}

// shape returns the markup of a page: its tags, and their attributes without texts.
func shape(t testing.TB, text string) string {
	t.Helper()
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(text))
	for {
		switch z.Next() {
		case html.ErrorToken:
			if !errors.Is(z.Err(), io.EOF) {
				t.Fatal(z.Err())
			}
			return b.String()
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			b.WriteString("<" + token.Data)
			for _, a := range token.Attr {
				b.WriteString(" " + a.Key)
			}
			b.WriteString(">")
		case html.EndTagToken:
			b.WriteString("</" + z.Token().Data + ">")
		}
	}
}

// The page has the elements that its script uses, and loads nothing.
func TestPage(t *testing.T) {
	text := writePage(t, pageTurn)
	for _, want := range []string{
		"default-src 'none'", "prefers-color-scheme: dark", "<polyline", "mkdir x", "Nothing is touched", "It was refused.", "client answered decline", `margin-left:45.4`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	if got := strings.Count(shape(t, text), "<details class data-kind data-state>"); got != 8 {
		t.Errorf("%d rows", got)
	}
	for _, never := range []string{"ZgotmplZ", "http://", "https://", " src=", " href=", "url("} {
		if strings.Contains(text, never) {
			t.Errorf("%q is on the page", never)
		}
	}
	if !strings.Contains(writePage(t, ""), "Nothing happened") {
		t.Error("an empty trace has no page that says so")
	}
}

// A page, and the lines of trace show, show each character that can't be seen, or changes the direction of text.
func TestInvisibleCharactersAreShown(t *testing.T) {
	const hidden = "\x00\x07\b\x1b\r\u0085\u200b\u202e\u2066\u2800\ufe0f\ufeff\U000e0041"
	evil, err := json.Marshal("a" + hidden + "z")
	if err != nil {
		t.Fatal(err)
	}
	raw := strings.NewReplacer("\\u202e", "\u202e").Replace(string(evil))
	script := strings.ReplaceAll(`prompt.submitted {"from":"client","to":"codex","message":{"id":2,"method":"turn/start","params":{"input":[{"type":"text","text":$}]}}}
decision {"verdict":"deny","method":$,"rule":$,"reason":$}
tool.call {"from":"codex","to":"client","message":{"method":"item/started","params":{"item":{"id":$,"type":$,"command":$}}}}
approval.requested {"from":"codex","to":"client","message":{"id":$,"method":$,"params":{"command":$}}}
approval.resolved {"from":$,"to":"codex","outcome":$,"message":{"id":$,"result":{"decision":$}}}
message {"from":"codex","to":"client","message":{"method":"item/completed","params":{"item":{"id":$,"type":"agentMessage","text":$}}}}`, "$", raw)
	events := pageEvents(script)
	for i := range events {
		events[i].ThreadID, events[i].TurnID, events[i].Model, events[i].Workspace = "t"+hidden, "u"+hidden, "m"+hidden, "/w"+hidden
	}
	m, err := trace.NewPage(events)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	outputs := []string{b.String()}
	for _, e := range events {
		head, text, err := trace.Show(trace.TreeEvent{Event: e, Depth: 1}, true)
		if err != nil {
			t.Fatal(err)
		}
		outputs = append(outputs, head, text)
	}
	for _, output := range outputs {
		if at := strings.IndexAny(output, hidden); at >= 0 {
			t.Errorf("a character is not shown: %+q", output[max(at-40, 0):min(at+20, len(output))])
		}
	}
	if want := `<title>a\u0000\u0007\u0008\u001b\r\u0085\u200b\u202e`; !strings.Contains(b.String(), want) {
		t.Errorf("the title is not %s", want)
	}
}

// No text of a trace is markup.
func FuzzMarkup(f *testing.F) {
	for _, seed := range []string{
		"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "</style><script>", "'-alert(1)-'", "{{.}}", "</pre></details>", "javascript:alert(1)", "\x00<b>", "<!--",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, evil string) {
		fill := func(text string) string {
			quoted, err := json.Marshal("a" + text)
			if err != nil {
				t.Fatal(err)
			}
			var m strings.Builder
			for _, line := range []string{
				`prompt.submitted {"from":"client","to":"codex","message":{"id":2,"method":"turn/start","params":{"input":[{"type":"text","text":$}]}}}`,
				`decision {"verdict":"deny","method":$,"rule":$,"reason":$}`,
				`tool.call {"from":"codex","to":"client","message":{"method":"item/started","params":{"item":{"id":$,"type":$,"command":$}}}}`,
				`approval.requested {"from":"codex","to":"client","message":{"id":$,"method":$,"params":{"command":$}}}`,
				`approval.resolved {"from":$,"to":"codex","outcome":$,"message":{"id":$,"result":{"decision":$}}}`,
				`message {"from":"codex","to":"client","message":{"method":"item/completed","params":{"item":{"id":$,"type":"agentMessage","text":$}}}}`,
			} {
				m.WriteString(strings.ReplaceAll(line, "$", string(quoted)) + "\n")
			}
			return m.String()
		}
		if strings.ContainsAny(evil, "\n") { // a second line is shown below the first
			evil = strings.ReplaceAll(evil, "\n", " ")
		}
		if got, want := shape(t, writePage(t, fill(evil))), shape(t, writePage(t, fill("x"))); got != want {
			t.Errorf("%q changes the markup\n%s\n%s", evil, got, want)
		}
	})
}
