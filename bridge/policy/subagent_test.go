package policy_test

import (
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/rpc"
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
			d := toolcall.Decide(p, toolcall.Call{Name: test.tool, Model: test.by, Input: input.Root()}, policy.State{Paths: disk, Agent: test.agent, Thread: &policy.Thread{}})
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
// policy.methods has a verdict for their approvals, or if the policy denies them by now.
func TestDecidePermission(t *testing.T) {
	for name, test := range map[string]struct {
		tool, override string
		denied         string // the tool of a rule
		revoked        bool
		want           policy.Verdict
	}{
		"a command":               {tool: "Bash", want: policy.Deny},
		"a patch":                 {tool: "apply_patch", want: policy.Deny},
		"another tool":            {tool: "request_permissions", want: policy.Deny},
		"a server's":              {tool: "mcp__x__y", want: policy.Pass},
		"a server's, let":         {tool: "mcp__x__y", override: "allow", want: policy.Pass},
		"a server's, denied":      {tool: "mcp__x__y", override: "deny", want: policy.Deny},
		"a server's, for people":  {tool: "mcp__x__y", override: "ask", want: policy.Deny},
		"a server's, by a rule":   {tool: "mcp__x__y", denied: "mcp__x__*", want: policy.Deny},
		"a server's, not by it":   {tool: "mcp__x__y", denied: "mcp__z__*", want: policy.Pass},
		"a server's, not allowed": {tool: "mcp__x__y", revoked: true, want: policy.Deny},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := contract()
			if test.override != "" {
				cfg.Methods = map[string]string{"mcpServer/elicitation/request": test.override}
			}
			if test.denied != "" {
				cfg.Rules = []config.Rule{{Tool: test.denied, Decision: "deny"}}
			}
			st := state()
			st.ThreadRevoked = test.revoked
			if d := toolcall.DecidePermission(compile(t, cfg), toolcall.Call{Name: test.tool}, st); d.Verdict != test.want {
				t.Errorf("%s, want %s", d.Verdict, test.want)
			}
		})
	}
}
