package turns

import (
	"encoding/json"
	"strings"
	"testing"

	"codex-bridge.example/rpc"
)

func mustParse(t *testing.T, text string) rpc.Value {
	t.Helper()
	doc, err := rpc.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}

const askParams = `{"threadId":"th","turnId":"tu","questions":[{"id":"q","header":"Colour","question":"Which?","options":[{"label":"Blue"},{"label":"Red"}]}]}`

const (
	noAnswer   = `{"answers":{}}`
	blueAnswer = `{"answers":{"q":{"answers":["Blue"]}}}`
)

func TestQuestionAnswers(t *testing.T) {
	first, second := rpc.NewStringID("1"), rpc.NewStringID("2")
	for name, c := range map[string]struct {
		end  func(*openQuestions)
		want string // what the question is answered; "" it is open
	}{
		"the next message": {func(d *openQuestions) {
			if !d.answer("th", "1") || d.answer("th", "1") {
				t.Error("one message answers it, and the next does not")
			}
		}, blueAnswer},
		"another thread's message": {func(d *openQuestions) {
			if d.answer("other", "1") {
				t.Error("the message of another thread answers it")
			}
		}, ""},
		"resolved":           {func(d *openQuestions) { d.resolved("th", first) }, noAnswer},
		"another resolved":   {func(d *openQuestions) { d.resolved("th", second) }, ""},
		"the turn's end":     {func(d *openQuestions) { d.turnEnded("th", "tu") }, noAnswer},
		"another turn's end": {func(d *openQuestions) { d.turnEnded("th", "zz") }, ""},
		"the next question":  {func(d *openQuestions) { d.ask(second, mustParse(t, askParams), func(json.RawMessage) {}) }, noAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			d := newOpenQuestions()
			var got []string
			lines := d.ask(first, mustParse(t, askParams), func(result json.RawMessage) { got = append(got, string(result)) })
			if !strings.Contains(strings.Join(lines, "\n"), "1. Blue") {
				t.Errorf("it is shown as %q", lines)
			}
			c.end(d)
			if len(got) > 1 || strings.Join(got, "") != c.want {
				t.Errorf("it is answered %q, want %q", got, c.want)
			}
		})
	}
}

func TestNothingToAsk(t *testing.T) {
	d := newOpenQuestions()
	got := ""
	lines := d.ask(rpc.NewStringID("1"), mustParse(t, `{"threadId":"th","questions":[{"id":"q"}]}`), func(result json.RawMessage) { got = string(result) })
	if lines != nil || got != noAnswer || d.answer("th", "x") {
		t.Errorf("%q, answered %q", lines, got)
	}
}
