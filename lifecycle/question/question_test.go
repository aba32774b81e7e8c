package question_test

import (
	"encoding/json"
	"strings"
	"testing"

	"codex-bridge/lifecycle/question"
	"codex-bridge/rpc"
)

func value(t *testing.T, text string) rpc.Value {
	t.Helper()
	doc, err := rpc.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}

const ask = `{"threadId":"th","turnId":"tu","questions":[{"id":"q","header":"Colour","question":"Which?","options":[{"label":"Blue"},{"label":"Red"}]}]}`

const (
	nothing = `{"answers":{}}`
	blue    = `{"answers":{"q":{"answers":["Blue"]}}}`
)

func TestAnswers(t *testing.T) {
	first, second := rpc.NewStringID("1"), rpc.NewStringID("2")
	for name, c := range map[string]struct {
		end  func(*question.Desk)
		want string // what the question is answered; "" it is open
	}{
		"the next message": {func(d *question.Desk) {
			if !d.Answer("th", "1") || d.Answer("th", "1") {
				t.Error("one message answers it, and the next does not")
			}
		}, blue},
		"another thread's message": {func(d *question.Desk) {
			if d.Answer("other", "1") {
				t.Error("the message of another thread answers it")
			}
		}, ""},
		"resolved":           {func(d *question.Desk) { d.Resolved("th", first) }, nothing},
		"another resolved":   {func(d *question.Desk) { d.Resolved("th", second) }, ""},
		"the turn's end":     {func(d *question.Desk) { d.Ended("th", "tu") }, nothing},
		"another turn's end": {func(d *question.Desk) { d.Ended("th", "zz") }, ""},
		"the next question":  {func(d *question.Desk) { d.Ask(second, value(t, ask), func(json.RawMessage) {}) }, nothing},
	} {
		t.Run(name, func(t *testing.T) {
			d := question.New()
			var got []string
			lines := d.Ask(first, value(t, ask), func(result json.RawMessage) { got = append(got, string(result)) })
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
	d := question.New()
	got := ""
	lines := d.Ask(rpc.NewStringID("1"), value(t, `{"threadId":"th","questions":[{"id":"q"}]}`), func(result json.RawMessage) { got = string(result) })
	if lines != nil || got != nothing || d.Answer("th", "x") {
		t.Errorf("%q, answered %q", lines, got)
	}
}
