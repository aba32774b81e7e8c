package answer_test

import (
	"encoding/json"
	"strings"
	"testing"

	"codex-bridge.example/relay/answer"
)

func TestElicitation(t *testing.T) {
	form := func(properties string) string {
		return `{"mode":"form","_meta":{},"requestedSchema":{"type":"object","properties":` + properties + `}}`
	}
	const no = `{"action":"decline","content":null,"_meta":null}`
	for _, c := range []struct {
		name, params string
		outcome      answer.Outcome
		want         string
	}{
		{"an outcome that nobody knows", form(`{}`), answer.Outcome(99), no},
		{"the turn is over", form(`{}`), answer.Cancelled, `{"action":"cancel","content":null,"_meta":null}`},
		{"a yes that lasts is no yes for once", form(`{"decision":{"enum":["always","allow always","no"]}}`), answer.ApprovedOnce, no},
		{"a yes for once goes before one that lasts", form(`{"decision":{"enum":["allow always","allow"]}}`), answer.ApprovedOnce,
			`{"action":"accept","content":{"decision":"allow"},"_meta":null}`},
		{"a no that speaks of allowing", form(`{"decision":{"enum":["do not allow","don't allow"]}}`), answer.ApprovedSession, no},
		{"a switch that says no", form(`{"approval":{"type":"boolean","title":"Decline this call"}}`), answer.ApprovedOnce, no},
		{"a switch that lasts", form(`{"approve":{"type":"boolean","title":"Always allow"}}`), answer.ApprovedOnce, no},
		{"what lasts is not filled for once, whatever its default", form(`{"approve":{"type":"boolean"},"scope":{"enum":["always"],"default":"always"}}`),
			answer.ApprovedOnce, `{"action":"accept","content":{"approve":true},"_meta":null}`},
		{"the longest that is on offer", form(`{"approve":{"type":"boolean"},"scope":{"enum":["session","always"]}}`),
			answer.ApprovedSession, `{"action":"accept","content":{"approve":true,"scope":"always"},"_meta":{"persist":"always"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			same(t, answer.Elicitation(answer.ToPerson, value(t, []byte(c.params)), c.outcome), json.RawMessage(c.want))
		})
	}
}

// A consent needs a route and an approval, and a consent for once does not last.
func FuzzElicitation(f *testing.F) {
	f.Add(2, 3, `{"mode":"form","requestedSchema":{"type":"object","properties":{"approve":{"type":"boolean"}}}}`)
	f.Fuzz(func(t *testing.T, route, outcome int, params string) {
		doc, err := parse(params)
		if err != nil {
			return
		}
		r, o := answer.Route(route), answer.Outcome(outcome)
		var got struct {
			Action string
			Meta   map[string]string `json:"_meta"`
		}
		if err := json.Unmarshal(answer.Elicitation(r, doc, o), &got); err != nil {
			t.Fatal(err)
		}
		accepted := got.Action == "accept"
		if accepted && (!o.Approved() || r != answer.ToPerson && r != answer.ToPlugin) || !accepted && got.Action != "decline" && got.Action != "cancel" {
			t.Fatalf("%d, %s: %+v", route, o, got)
		}
		if got.Meta != nil && (o != answer.ApprovedSession || r != answer.ToPerson) {
			t.Fatalf("%s lasts: %+v", o, got)
		}
		harmless(t, strings.ReplaceAll(answer.ElicitationCard(doc).Description, "\n", ""))
	})
}
