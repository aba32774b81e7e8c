//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/rpc"

	"github.com/google/go-cmp/cmp"
)

const inputQuestion = "item/tool/requestUserInput"

type inputCase struct {
	Name                  string
	Questions             json.RawMessage
	Reply                 *string
	MessageConsumed       *bool
	SecondMessageConsumed *bool
	Event                 *struct {
		Notify struct {
			Method string
			Params json.RawMessage
		}
	}
	Response    json.RawMessage
	PromptLines []string
}

// chat is a client that answers questions by messages.
type chat struct {
	*terminal
	thread   string
	messages int
}

func newChat(t *testing.T, thread string) *chat {
	t.Helper()
	c := &chat{terminal: connected(t, "[steering]\nquiet = \"1ms\"\n", false), thread: thread}
	c.codex.EditorSends(`{"id":"start","method":"thread/start","params":{}}`)
	c.reply(fmt.Sprintf(`{"thread":{"id":%q},"model":"m"}`, thread))
	c.next(c.codex.EditorReceives()) // the response
	return c
}

// asks sends a question of Codex with an id and returns the lines that the client shows; nil if
// Codex gets a response at once.
func (c *chat) asks(id int, questions json.RawMessage) (lines []string, at *rpc.Envelope) {
	c.t.Helper()
	c.sendQuestion(id, questions)
	select {
	case line := <-c.codex.EditorReceives():
		var told struct{ Params struct{ Lines []string } }
		if err := json.Unmarshal([]byte(line), &told); err != nil {
			c.t.Fatal(err)
		}
		return told.Params.Lines, nil
	case line := <-c.codex.CodexReceives():
		e, err := rpc.ParseEnvelope([]byte(strings.TrimSpace(line)))
		if err != nil {
			c.t.Fatal(err)
		}
		return nil, e
	case <-time.After(waitTime()):
		c.t.Fatal("nothing becomes of the question")
		return nil, nil
	}
}

func (c *chat) sendQuestion(id int, questions json.RawMessage) {
	c.t.Helper()
	params := fmt.Sprintf(`{"threadId":%q,"turnId":"u","itemId":"i","questions":%s}`, c.thread, compact(c.t, questions))
	c.codex.CodexSends(string(rpc.EncodeRequest(mustID(c.t, id), inputQuestion, json.RawMessage(params))))
}

// says sends a message and reports whether it answered a question. answer is the result that Codex
// receives.
func (c *chat) says(message string) (consumed bool, answer *rpc.Envelope) {
	c.t.Helper()
	c.send(message)
	e := c.next(c.codex.CodexReceives())
	if e.Method == "turn/start" {
		c.codex.CodexSends(string(rpc.EncodeResult(e.ID, json.RawMessage(`{"turn":{"id":"next","items":[],"status":"inProgress"}}`))))
		e = nil
	}
	reply := c.next(c.codex.EditorReceives())
	return reply.Root().Get("result").Get("disposition").Is("answered"), e
}

func (c *chat) send(message string) {
	c.t.Helper()
	c.messages++
	c.codex.EditorSends(fmt.Sprintf(`{"id":"m%d","method":"bridge/turn/enqueue","params":{"threadId":%q,"input":%s}}`, c.messages, c.thread, text(c.t, message)))
}

func TestRequestUserInputVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	eachCase(t, "request_user_input.json", "cases", func(t *testing.T, c inputCase) { c.play(t) })
}

// address returns the thread and the id of Codex's question. An event resolves the question with
// its id, except where the question stays open.
func (c inputCase) address(t *testing.T) (thread string, id int) {
	thread, id = "t", 7
	if c.Event == nil {
		return thread, id
	}
	var about struct {
		ThreadID  *string
		RequestID *int
	}
	if err := json.Unmarshal(c.Event.Notify.Params, &about); err != nil {
		t.Fatal(err)
	}
	if about.ThreadID != nil {
		thread = *about.ThreadID
	}
	if about.RequestID != nil {
		if id = *about.RequestID; c.isPending() {
			id++
		}
	}
	return thread, id
}

func (c inputCase) isPending() bool { return masks(c.Response, "pending>") }

// second completes a case that has only the answer to the second of two questions.
func (c *inputCase) second(t *testing.T) {
	var response struct {
		Answers map[string]struct{ Answers []string }
	}
	if err := json.Unmarshal(c.Response, &response); err != nil {
		t.Fatal(err)
	}
	var questions []any
	var lines []string
	for _, id := range slices.Sorted(maps.Keys(response.Answers)) {
		q := map[string]any{"id": id, "header": "Header of " + id, "question": "Text of " + id}
		line := id + ": "
		if answers := response.Answers[id].Answers; len(answers) > 0 {
			q["options"] = []any{map[string]any{"label": answers[0]}}
			line += strings.ToLower(answers[0])
		}
		questions, lines = append(questions, q), append(lines, line)
	}
	if len(lines) == 1 {
		_, lines[0], _ = strings.Cut(lines[0], ": ")
	}
	reply := strings.Join(lines, "\n")
	c.Questions, c.Reply = json.RawMessage(text(t, questions)), &reply
}

func (c inputCase) play(t *testing.T) {
	thread, id := c.address(t)
	w := newChat(t, thread)
	if c.Questions == nil {
		c.second(t)
		w.asks(id-1, c.Questions) // ends with the second
		w.sendQuestion(id, c.Questions)
		sameJSON(t, json.RawMessage(`{"answers":{}}`), w.next(w.codex.CodexReceives()).Root().Get("result").Raw())
		w.next(w.codex.EditorReceives()) // the question
	} else {
		lines, answer := w.asks(id, c.Questions)
		c.lines(t, lines)
		if lines == nil {
			sameJSON(t, c.Response, answer.Root().Get("result").Raw())
			return
		}
	}
	if c.Event != nil {
		w.codex.CodexSends(string(rpc.EncodeRequest(rpc.ID{}, c.Event.Notify.Method, compact(t, c.Event.Notify.Params))))
		w.next(w.codex.EditorReceives()) // the event
		if !c.isPending() {
			sameJSON(t, c.Response, w.next(w.codex.CodexReceives()).Root().Get("result").Raw())
		}
	}
	if c.Reply != nil && strings.TrimSpace(*c.Reply) == "" { // see DEVIATIONS.md: the question stays open
		w.send(*c.Reply)
		if failed := w.next(w.codex.EditorReceives()); string(failed.Root().Get("error").Get("code").Raw()) != "-32602" {
			t.Errorf("the blank message gets %s", failed.Root().Raw())
		}
		if consumed, _ := w.says("1"); !consumed {
			t.Error("the question is not open after a blank message")
		}
		return
	}
	if c.Reply != nil {
		consumed, answer := w.says(*c.Reply)
		if c.MessageConsumed != nil && consumed != *c.MessageConsumed || answer == nil {
			t.Fatalf("the message counted as an answer: %v", consumed)
		}
		sameJSON(t, c.Response, answer.Root().Get("result").Raw())
	}
	if c.SecondMessageConsumed != nil {
		if consumed, _ := w.says("1"); consumed != *c.SecondMessageConsumed {
			t.Errorf("the next message counted as an answer: %v", consumed)
		}
	}
}

// lines compares the lines that the client shows; "<text>" matches any.
func (c inputCase) lines(t *testing.T, got []string) {
	t.Helper()
	for i, line := range c.PromptLines {
		if line == "<text>" && i < len(got) && got[i] != "" {
			got[i] = line
		}
	}
	if diff := cmp.Diff(c.PromptLines, got); diff != "" {
		t.Errorf("the client shows (-want +got):\n%s", diff)
	}
}

// A question shows a text unchanged.
func TestDisplayTextVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	eachCase(t, "display_text.json", "cases", func(t *testing.T, c struct{ In, Out string }) {
		w := newChat(t, "t")
		lines, answer := w.asks(7, json.RawMessage(`[{"id":"q","header":"H","question":`+text(t, c.In)+`}]`))
		if strings.TrimSpace(c.In) == "" { // see DEVIATIONS.md: it is not asked
			if answer == nil {
				t.Errorf("a blank question is shown as %q", lines)
			}
			return
		}
		if len(lines) != 4 || lines[3] != c.Out {
			t.Errorf("%q is shown as %q, want %q", c.In, lines, c.Out)
		}
		w.says("x")
	})
}
