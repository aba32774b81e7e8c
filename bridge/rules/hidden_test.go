package rules

import (
	"testing"

	"codex-bridge.example/bridge/config"
)

// A rule against one tool has no effect behind a rule that allows the tool, also by the name that Codex makes of it.
func TestHiddenRules(t *testing.T) {
	allow := func(tool string) config.Rule { return config.Rule{Tool: tool, Decision: "allow"} }
	deny := func(tool string) config.Rule { return config.Rule{Tool: tool, Decision: "deny"} }
	for name, test := range map[string]struct {
		layers [][]config.Rule
		want   string // the allowed name of the first hidden rule; "" for none
	}{
		"its own name":              {[][]config.Rule{{allow("mcp__s__d*"), deny("mcp__s__drop")}}, "mcp__s__drop"},
		"all tools":                 {[][]config.Rule{{allow("mcp"), deny("mcp__s__drop")}}, "mcp__s__drop"},
		"a rule that asks":          {[][]config.Rule{{allow("mcp__s__*"), {Tool: "mcp__s__drop", Decision: "ask"}}}, "mcp__s__drop"},
		"the name at the hook":      {[][]config.Rule{{allow("mcp__s__d*"), deny("mcp__s___drop")}}, "mcp__s__drop"},
		"of a server with an end _": {[][]config.Rule{{allow("mcp__s__d*"), deny("mcp__s-__drop")}}, "mcp__s__drop"},
		"before it":                 {[][]config.Rule{{deny("mcp__s__drop"), allow("mcp__s__d*")}}, ""},
		"another file":              {[][]config.Rule{{allow("mcp__s__d*")}, {deny("mcp__s__drop")}}, ""},
		"another tool":              {[][]config.Rule{{allow("mcp__s__e*"), deny("mcp__s__drop")}}, ""},
		"a pattern":                 {[][]config.Rule{{allow("mcp__s__drop"), deny("mcp__s__*")}}, ""},
		"outside the sandbox":       {[][]config.Rule{{{Tool: "mcp__s__d*", Decision: "allow", Escalated: true}, deny("mcp__s__drop")}}, ""},
		"expired":                   {[][]config.Rule{{{Tool: "mcp__s__d*", Decision: "allow", Until: "2020-01-01"}, deny("mcp__s__drop")}}, ""},
		"no tool of a server":       {[][]config.Rule{{allow("spawn_*"), deny("spawn_agent")}}, ""},
	} {
		set, err := New(test.layers)
		if err != nil {
			t.Fatal(err)
		}
		hidden := set.HiddenRules()
		if test.want == "" {
			if len(hidden) > 0 {
				t.Errorf("%s: %+v", name, hidden)
			}
			continue
		}
		if len(hidden) != 1 || hidden[0].Name != test.want || hidden[0].By.Tool != test.layers[0][0].Tool || hidden[0].Rule.Tool != test.layers[0][1].Tool {
			t.Errorf("%s: %+v", name, hidden)
		}
		if m := set.decideTool("", matchMCP("s", "drop")); m.Decision != Allow {
			t.Errorf("%s: the tool is not allowed", name)
		}
	}
}
