package policy_test

import (
	"strings"
	"testing"

	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// TestAgentSettings checks that an agent is denied unless its models and efforts are allowed.
func TestAgentSettings(t *testing.T) {
	for name, test := range map[string]struct {
		tool, input     string
		by              string // the model that makes the call
		agent           *policy.AgentSettings
		models, efforts []string
		want            string // part of the reason; "" it passes
	}{
		"no limits":            {tool: "spawn_agent", input: `{"model":"x"}`},
		"nothing named":        {tool: "spawn_agent", input: `{"model":null}`, models: []string{"a"}, agent: &policy.AgentSettings{}},
		"allowed":              {tool: "spawn_agent", input: `{"model":"a","reasoning_effort":"low"}`, models: []string{"a"}, efforts: []string{"low"}, agent: &policy.AgentSettings{}},
		"a model":              {tool: "spawn_agent", input: `{"model":"b"}`, models: []string{"a"}, agent: &policy.AgentSettings{}, want: `"b" is not in policy.models`},
		"no text":              {tool: "spawn_agent", input: `{"model":["a"]}`, models: []string{"a"}, agent: &policy.AgentSettings{}, want: "is not in policy.models"},
		"an effort":            {tool: "teamspawn_agent", input: `{"reasoning_effort":"max"}`, efforts: []string{"low"}, agent: &policy.AgentSettings{}, want: `"max" is not in policy.efforts`},
		"an effort unsaid":     {tool: "spawn_agent", input: `{"model":"b"}`, efforts: []string{"low"}, agent: &policy.AgentSettings{}, want: "without an effort"},
		"a role's model":       {tool: "spawn_agent", input: `{}`, models: []string{"a"}, agent: &policy.AgentSettings{Models: []string{"a", "b"}}, want: `the agent's "b"`},
		"a role's effort":      {tool: "spawn_agent", input: `{}`, efforts: []string{"low"}, agent: &policy.AgentSettings{Efforts: []string{"max"}}, want: `the agent's "max"`},
		"not known":            {tool: "spawn_agent", input: `{}`, models: []string{"a"}, want: "is unknown"},
		"not to be read":       {tool: "spawn_agent", input: `{}`, efforts: []string{"low"}, agent: &policy.AgentSettings{UnknownReason: "why not"}, want: "the agent's model is unknown: why not"},
		"neither named":        {tool: "spawn_agent", input: `{}`, efforts: []string{"low"}, agent: &policy.AgentSettings{}},
		"another thread":       {tool: "multi_agent_v1resume_agent", input: `{"id":"x","model":"b"}`, models: []string{"a"}, agent: &policy.AgentSettings{Models: []string{"a"}}},
		"another thread's":     {tool: "multi_agent_v1resume_agent", input: `{"id":"x"}`, models: []string{"a"}, agent: &policy.AgentSettings{Models: []string{"b"}}, want: `the agent's "b"`},
		"a server's tool":      {tool: "mcp__x__spawn_agent", input: `{"model":"b"}`, models: []string{"a"}},
		"another's call":       {tool: "Bash", by: "b", input: `{"command":"ls"}`, models: []string{"a"}, want: `made by "b", which is not in policy.models`},
		"its own call":         {tool: "Bash", by: "a", input: `{"command":"ls"}`, models: []string{"a"}},
		"no rule of models":    {tool: "Bash", by: "b", input: `{"command":"ls"}`},
		"a task for one there": {tool: "multi_agent_v1send_input", input: `{"model":"b"}`, models: []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := contract()
			cfg.Models, cfg.Efforts = test.models, test.efforts
			p, err := policy.New(cfg, nil)
			if err != nil {
				t.Fatal(err)
			}
			input, err := rpc.ParseValue([]byte(test.input))
			if err != nil {
				t.Fatal(err)
			}
			d := p.DecideTool(policy.ToolCall{Name: test.tool, Model: test.by, Input: input.Root()}, policy.State{Paths: disk, Agent: test.agent, Thread: &policy.Thread{}})
			switch {
			case test.want == "" && d.Verdict != policy.Pass:
				t.Errorf("%s: %v", d.Verdict, d.Err)
			case test.want != "" && (d.Verdict != policy.Deny || !strings.Contains(d.Err.Message, test.want)):
				t.Errorf("%s: %v, want %q", d.Verdict, d.Err, test.want)
			}
		})
	}
}

// TestDecidePermission checks that a hook's allow counts only for MCP tools, and not if
// policy.methods has a verdict for their approvals.
func TestDecidePermission(t *testing.T) {
	for name, test := range map[string]struct {
		tool, override string
		want           policy.Verdict
	}{
		"a command":              {"Bash", "", policy.Deny},
		"a patch":                {"apply_patch", "", policy.Deny},
		"another tool":           {"request_permissions", "", policy.Deny},
		"a server's":             {"mcp__x__y", "", policy.Pass},
		"a server's, let":        {"mcp__x__y", "allow", policy.Pass},
		"a server's, denied":     {"mcp__x__y", "deny", policy.Deny},
		"a server's, for people": {"mcp__x__y", "ask", policy.Deny},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := contract()
			if test.override != "" {
				cfg.Methods = map[string]string{"mcpServer/elicitation/request": test.override}
			}
			p, err := policy.New(cfg, nil)
			if err != nil {
				t.Fatal(err)
			}
			if d := p.DecidePermission(policy.ToolCall{Name: test.tool}); d.Verdict != test.want {
				t.Errorf("%s, want %s", d.Verdict, test.want)
			}
		})
	}
}
