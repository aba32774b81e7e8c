package answer_test

import (
	"encoding/json"
	"strings"
	"testing"

	"codex-bridge.example/relay/answer"
)

func TestReply(t *testing.T) {
	two := `{"questions":[{"id":"a","header":"Same","question":"One"},{"id":"b","header":"same","question":"Two","options":[{"label":"2"},{"label":"Yes"}]}]}`
	for _, c := range []struct{ name, params, reply, want string }{
		{"nothing is answered with nothing", two, " \n", `{"answers":{"a":{"answers":[]},"b":{"answers":[]}}}`},
		{"a key of two questions is none", two, "same: x", `{"answers":{"a":{"answers":["same: x"]},"b":{"answers":[]}}}`},
		{"a label goes before a number", two, "x\n2", `{"answers":{"a":{"answers":["x"]},"b":{"answers":["2"]}}}`},
		{"the text is a key", two, "Two = yes", `{"answers":{"a":{"answers":[]},"b":{"answers":["Yes"]}}}`},
		{"a colon in an answer", two, "http://x: y\nYES", `{"answers":{"a":{"answers":["http://x: y"]},"b":{"answers":["Yes"]}}}`},
		{"one answer of several lines", `{"questions":[{"id":"a","header":"h","question":"q"}]}`, "x\ny: z\n", `{"answers":{"a":{"answers":["x\ny: z"]}}}`},
		{"an id is asked once", `{"questions":[{"id":"a","header":"h","question":"q"},{"id":"a","header":"i","question":"r"}]}`, "x", `{"answers":{"a":{"answers":["x"]}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			same(t, answer.Reply(answer.Questions(value(t, []byte(c.params))), c.reply), json.RawMessage(c.want))
		})
	}
}

// Every question gets an answer: one of its options or none, if only options are accepted.
func FuzzReply(f *testing.F) {
	f.Add(`{"questions":[{"id":"a","header":"h","question":"q","options":[{"label":"x"}]},{"id":"b","header":"i","question":"r"}]}`, "a: 1\nb")
	f.Fuzz(func(t *testing.T, params, message string) {
		doc, err := parse(params)
		if err != nil {
			return
		}
		questions := answer.Questions(doc)
		var r struct {
			Answers map[string]struct{ Answers []string }
		}
		if err := json.Unmarshal(answer.Reply(questions, message), &r); err != nil || len(r.Answers) > len(questions) {
			t.Fatalf("%v: %v", r, err)
		}
		for _, line := range answer.Prompt(questions) {
			harmless(t, line)
		}
		for _, q := range questions {
			got, ok := r.Answers[q.ID]
			if !ok && strings.ToValidUTF8(q.ID, "") == q.ID || got.Answers == nil && ok || len(got.Answers) > 1 {
				t.Fatalf("%q is answered %v", q.ID, got)
			}
			if len(got.Answers) == 0 || q.Other || len(q.Options) == 0 {
				continue
			}
			found := false
			for _, o := range q.Options {
				found = found || strings.ToValidUTF8(o.Label, "\uFFFD") == got.Answers[0]
			}
			if !found {
				t.Fatalf("%q is not to choose", got.Answers[0])
			}
		}
	})
}
