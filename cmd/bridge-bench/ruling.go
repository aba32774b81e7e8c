//go:build linux

package main

import (
	"fmt"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/cmd/bridge-bench/internal/table"
	"codex-bridge.example/rpc"
)

// ruling measures the decisions of a policy with 1,000 rules about a command, a patch and a tool.
func (b *bench) ruling(int) error {
	cfg := config.Default()
	cfg.Policy.Mode = config.Enforce
	for i := range 1000 {
		r := config.Rule{Decision: "deny"}
		switch i % 4 {
		case 0, 1:
			r.Command = fmt.Sprintf("tool%d run%d **", i%97, i)
		case 2:
			r.Path = fmt.Sprintf("${workspace}/kept%d/**/*.go", i)
		default:
			r.Tool = fmt.Sprintf("mcp__server%d__*", i)
		}
		cfg.Policy.Rules = append(cfg.Policy.Rules, r)
	}
	p, err := policy.New(cfg.Policy, cfg.Place)
	if err != nil {
		return err
	}
	state := policy.State{
		StartFolder: workspace, Home: "/home/person", Temps: []policy.TempFolder{{Name: "$TMPDIR", Path: "/tmp"}}, Paths: noLinks{},
		Thread: &policy.Thread{ID: thread, Workspace: workspace, Sandbox: "workspace-write", Approval: []byte(`"on-request"`)},
		Files:  []string{workspace + "/bridge/proxy.go"}, Escalation: rules.Sandboxed,
	}
	for _, one := range []struct{ key, title, method, params string }{
		{
			"rules/command", "a command against 1,000 rules", "item/commandExecution/requestApproval",
			`{"command":"/bin/bash -lc 'cd bridge && go test -race ./... 2>&1 | tail -20'","cwd":"` + workspace + `"}`,
		},
		{"rules/patch", "a patch against 1,000 rules", "item/fileChange/requestApproval", `{"itemId":"i"}`},
		{
			"rules/tool", "a tool against 1,000 rules", "mcpServer/elicitation/request",
			`{"serverName":"tickets","_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":"read"}}`,
		},
	} {
		doc, err := rpc.ParseValue([]byte(one.params))
		if err != nil {
			return err
		}
		if d := p.DecideRequest(one.method, doc.Root(), state); d.Verdict != policy.Pass {
			return fmt.Errorf("%s was not allowed: %w", one.method, d.Err)
		}
		ns, err := perCall(func() { p.DecideRequest(one.method, doc.Root(), state) })
		if err != nil {
			return err
		}
		b.table.Add(table.Row{Key: one.key, Title: one.title, What: "decided in", Unit: "µs", Goal: table.AtMost(50)}, ns/1e3)
	}
	return nil
}
