//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/bridgetest/vectors"
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
	messages int
}

func newChat(t *testing.T) *chat {
	t.Helper()
	c := &chat{terminal: connected(t, "[steering]\nquiet = \"1ms\"\n", false)}
	c.codex.EditorSends(`{"id":"start","method":"thread/start","params":{}}`)
	c.reply(`{"thread":{"id":"t"},"model":"m"}`)
	c.next(c.codex.EditorReceives()) // the response
	return c
}

// asks sends a question of Codex with an id and returns the lines that the client shows; nil if
// Codex gets a response at once.
func (c *chat) asks(id int, questions json.RawMessage) (lines []string, at *rpc.Envelope) {
	c.t.Helper()
	params := fmt.Sprintf(`{"threadId":"t","turnId":"u","itemId":"i","questions":%s}`, compact(c.t, questions))
	c.codex.CodexSends(string(rpc.EncodeRequest(mustID(c.t, id), inputQuestion, json.RawMessage(params))))
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
	case <-time.After(5 * time.Second):
		c.t.Fatal("nothing becomes of the question")
		return nil, nil
	}
}

// says sends a message and reports whether it answered a question. answer is the result that Codex
// receives.
func (c *chat) says(message string) (consumed bool, answer *rpc.Envelope) {
	c.t.Helper()
	c.messages++
	c.codex.EditorSends(fmt.Sprintf(`{"id":"m%d","method":"bridge/turn/enqueue","params":{"threadId":"t","input":%s}}`, c.messages, text(c.t, message)))
	e := c.next(c.codex.CodexReceives())
	if e.Method == "turn/start" {
		c.codex.CodexSends(string(rpc.EncodeResult(e.ID, json.RawMessage(`{"turn":{"id":"next","items":[],"status":"inProgress"}}`))))
		e = nil
	}
	reply := c.next(c.codex.EditorReceives())
	return reply.Root().Get("result").Get("disposition").Is("answered"), e
}

func TestRequestUserInputVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	var v struct{ Cases []inputCase }
	vectors.Read(t, "request_user_input.json", &v)
	if len(v.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range v.Cases {
		t.Run(c.Name, func(t *testing.T) { c.play(t, newChat(t)) })
	}
}

func (c inputCase) play(t *testing.T, w *chat) {
	const id = 7 // of Codex's question in the vectors
	if c.Questions == nil {
		// The case keeps only the answer to the second of two questions: the first one has ended.
		c.Questions = json.RawMessage(`[{"id":"q1","header":"Mode","question":"Pick","options":[{"label":"Fast"}]}]`)
		word := "fast"
		c.Reply = &word
		w.asks(id-1, c.Questions)
		w.codex.CodexSends(string(rpc.EncodeRequest(mustID(t, id), inputQuestion, json.RawMessage(`{"threadId":"t","turnId":"u","itemId":"i","questions":`+string(c.Questions)+`}`))))
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
	pending := string(c.Response) == `"<pending>"`
	if c.Event != nil {
		w.codex.CodexSends(string(rpc.EncodeRequest(rpc.ID{}, c.Event.Notify.Method, compact(t, c.Event.Notify.Params))))
		w.next(w.codex.EditorReceives()) // the event
		if !pending {
			sameJSON(t, c.Response, w.next(w.codex.CodexReceives()).Root().Get("result").Raw())
		}
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
	var v struct{ Cases []struct{ In, Out string } }
	vectors.Read(t, "display_text.json", &v)
	if len(v.Cases) == 0 {
		t.Fatal("no cases")
	}
	w := newChat(t)
	for i, c := range v.Cases {
		t.Run(c.In, func(t *testing.T) {
			lines, answer := w.asks(i, json.RawMessage(`[{"id":"q","header":"H","question":`+text(t, c.In)+`}]`))
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
}
