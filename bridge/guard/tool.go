package guard

import (
	"context"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/bridge/rollout"
	"codex-bridge/rpc"
)

// Workspace is the folder of a thread that may take turns; "" of another.
func (g *Guard) Workspace(thread string) string {
	if one := g.threads.peek(thread); one != nil {
		return one.Workspace
	}
	return ""
}

// Tool holds a tool call that Codex is about to run to the rules, and tells why it
// must not; "" when no rule is against it. call is what Codex said of it.
func (g *Guard) Tool(ctx context.Context, thread, turn string, use policy.ToolUse, call []byte) (refusal string) {
	p := g.policy.Load()
	if p.Mode() == config.Off {
		return ""
	}
	state := g.stateNow(rpc.Value{})
	if state.Thread = g.threads.peek(thread); state.Thread != nil && use.ID != "" {
		state.Escalation = rollout.Find(state.CodexHome, state.Thread.Rollout, use.ID)
	}
	d := p.DecideTool(use, state)
	if d.Verdict == policy.Pass {
		return ""
	}
	const method = "hook/preToolUse"
	g.report(p.Mode(), method, d)
	// Denied is denied, on record or not.
	_ = g.record(ctx, p.Mode(), subject{method: method, thread: thread, turn: turn, line: call}, d)
	if p.Mode() != config.Enforce {
		return ""
	}
	g.applied(method, rpc.ID{}, rpc.Value{}, d)
	return d.Err.Message
}
