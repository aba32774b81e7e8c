package main

import (
	"fmt"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/bridge/rules"
	"codex-bridge/rpc"
)

// asIs are paths without links: the decision is counted, not the disk.
type asIs struct{}

func (asIs) Canonical(path string) (string, error) { return path, nil }

const workspace = "/home/user/project"

// deciding is what a client's message meets, and what Codex asks.
func deciding() ([]path, error) {
	line, err := captured("codex-acp-2.6.0-approval-in.jsonl", `"method":"turn/start"`)
	if err != nil {
		return nil, err
	}
	var parser rpc.Parser
	m, err := parser.Message(line, true)
	if err != nil {
		return nil, err
	}
	cfg := config.Default()
	cfg.Policy.Mode = config.Enforce
	p, err := policy.New(cfg.Policy, cfg.Place)
	if err != nil {
		return nil, err
	}
	thread, _ := m.Params.Get("threadId").Text()
	state := policy.State{Start: workspace, Home: "/home/user", Temps: []policy.TempFolder{{Name: "$TMPDIR", Path: "/tmp"}}, Paths: asIs{},
		Thread: &policy.Thread{ID: thread, Workspace: workspace}}
	if d := p.Decide(m, state); d.Verdict != policy.Pass {
		return nil, fmt.Errorf("the turn/start should pass, and was told %s: %w", d.Verdict, d.Err)
	}
	ruled, err := ruling()
	if err != nil {
		return nil, err
	}
	return []path{
		{"parse a turn/start", 1, "message", func() { _, _ = parser.Message(line, true) }},
		{"parse and decide a turn/start", 1, "message", func() {
			m, _ := parser.Message(line, true)
			p.Decide(m, state)
		}},
		ruled,
	}, nil
}

// ruling is an approval that Codex asks for, against a hundred rules for commands, of which
// none is met.
func ruling() (path, error) {
	line, err := captured("codex-acp-2.6.0-approval-out.jsonl", `"method":"item/commandExecution/requestApproval"`)
	if err != nil {
		return path{}, err
	}
	doc, err := rpc.ParseValue(line)
	if err != nil {
		return path{}, err
	}
	cfg := config.Default()
	cfg.Policy.Mode = config.Enforce
	for i := range 100 {
		cfg.Policy.Rules = append(cfg.Policy.Rules, config.Rule{Decision: "deny", Command: fmt.Sprintf("tool%d run%d **", i%7, i)})
	}
	p, err := policy.New(cfg.Policy, cfg.Place)
	if err != nil {
		return path{}, err
	}
	params := doc.Root().Get("params")
	thread, _ := params.Get("threadId").Text()
	state := policy.State{Start: workspace, Home: "/home/user", Temps: []policy.TempFolder{{Name: "$TMPDIR", Path: "/tmp"}}, Paths: asIs{}, Escalation: rules.Sandboxed,
		Thread: &policy.Thread{ID: thread, Workspace: workspace, Sandbox: "workspace-write", Approval: []byte(`"on-request"`)}}
	ask := func() policy.Decision {
		return p.DecideRequest("item/commandExecution/requestApproval", params, state)
	}
	if d := ask(); d.Verdict != policy.Pass {
		return path{}, fmt.Errorf("the approval should pass, and was told %w", d.Err)
	}
	return path{"decide a command by 100 rules", 1, "command", func() { ask() }}, nil
}
