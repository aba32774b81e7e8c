package answer_test

import (
	"encoding/json"
	"strings"
	"testing"

	"codex-bridge/bridge/bridgetest/vectors"

	"codex-bridge/relay/answer"
)

func TestElicitationVectors(t *testing.T) {
	var v struct {
		Cases []struct {
			Name                     string
			Request                  json.RawMessage
			ComputerUseMcpServerName string
			PluginAppPolicyContext   *struct {
				Apps map[string]struct {
					ConfigKey, PluginName   string
					AllowDestructiveActions bool
					McpServerNames          []string
				}
			}
			ApprovalDecision string
			Response         json.RawMessage
			Asked            []struct{ Title, Description, ToolName, Severity string }
		}
	}
	vectors.Read(t, "elicitation.json", &v)
	if len(v.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range v.Cases {
		t.Run(c.Name, func(t *testing.T) {
			params := value(t, c.Request)
			scope := answer.Scope{Thread: "thread-1", Turn: "turn-1", ComputerUse: c.ComputerUseMcpServerName}
			if c.PluginAppPolicyContext != nil {
				scope.Apps = &answer.Apps{ByID: map[string]answer.App{}}
				for id, a := range c.PluginAppPolicyContext.Apps {
					scope.Apps.ByID[id] = answer.App{ConfigKey: a.ConfigKey, PluginName: a.PluginName, Destructive: a.AllowDestructiveActions, Servers: a.McpServerNames}
				}
			}
			route := answer.RouteElicitation(params, scope)
			if asks := route == answer.ToPerson; asks != (len(c.Asked) > 0) {
				t.Fatalf("the route is %d, the person is asked %d times", route, len(c.Asked))
			}
			outcome := answer.Decision(c.ApprovalDecision)
			if len(c.Asked) == 0 {
				outcome = answer.ApprovedSession // which must not matter
			}
			got := answer.Elicitation(route, params, outcome)
			if strings.HasPrefix(string(c.Response), `"<undefined`) {
				if route != answer.Foreign {
					t.Errorf("the route is %d", route)
				}
				c.Response = json.RawMessage(`{"action":"decline","content":null,"_meta":null}`)
			}
			same(t, got, c.Response)
			if len(c.Asked) == 0 {
				return
			}
			card, want := answer.ElicitationCard(params), c.Asked[0]
			if card != answer.Card(want) {
				t.Errorf("the person is shown\n%+v\nwant\n%+v", card, want)
			}
		})
	}
}

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

// A consent needs a route and a yes, and one for once leaves nothing behind.
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
