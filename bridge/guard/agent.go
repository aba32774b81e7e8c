package guard

import (
	"context"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// Agent is what the policy says of what an agent beside the conversation asks leave for;
// line is what it said. Of a verdict other than Pass there is a record.
func (g *Guard) Agent(ctx context.Context, use policy.AgentRequest, session string, line []byte) policy.Decision {
	const method = "session/request_permission"
	p := g.policy.Load()
	person := policy.Decision{Verdict: policy.Pass, Ask: true}
	if p.Mode() == config.Off {
		return person
	}
	d := p.DecideAgent(method, use, g.stateNow(rpc.Value{}))
	g.report(p.Mode(), method, d)
	err := g.record(ctx, p.Mode(), subject{method: method, thread: session, line: line}, d)
	if p.Mode() != config.Enforce {
		return person
	}
	if err != nil && d.Err == nil {
		d = policy.Decision{Verdict: policy.Deny, Err: err}
	}
	if d.Verdict != policy.Pass {
		g.applied(method, rpc.ID{}, rpc.Value{}, d)
	}
	return d
}

// Sandboxed tells whether a thread's commands run in a sandbox; those of one that is not
// known may.
func (g *Guard) Sandboxed(thread string) bool {
	one := g.thread(thread, "")
	return one == nil || one.Sandbox != "danger-full-access"
}
