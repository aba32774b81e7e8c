package guard

import (
	"context"
	"encoding/json"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// Agent decides a request for permission by an agent beside the conversation. line is the agent's
// request. A verdict other than Pass is logged.
func (g *Guard) Agent(ctx context.Context, use policy.AgentRequest, session string, line []byte) policy.Decision {
	const method = "session/request_permission"
	p := g.policy.Load()
	ask := policy.Decision{Verdict: policy.Pass, Ask: true}
	if p.Mode() == config.Off {
		return ask
	}
	d := p.DecideAgent(method, use, g.currentState(rpc.Value{}))
	g.logDecision(p.Mode(), method, d)
	d = g.recordEffect(ctx, p.Mode(), subject{method: method, thread: session, line: line}, d)
	if p.Mode() != config.Enforce {
		return ask
	}
	if d.Verdict != policy.Pass {
		g.notifyListeners(method, Applied{What: use.Summary()}, d)
	}
	return d
}

// Sandboxed reports whether a thread's commands run in a sandbox. known is false for a thread that no client has
// opened under a policy.
func (g *Guard) Sandboxed(thread string) (sandboxed, known bool) {
	one := g.threadFor(thread, "")
	return one != nil && one.Sandbox != "danger-full-access", one != nil
}

// AllowsModel reports whether the policy lets the bridge use a model.
func (g *Guard) AllowsModel(name string) bool {
	p := g.policy.Load()
	return p.Mode() != config.Enforce || p.AllowsModel(name)
}

// Model returns the model that the bridge may use in place of m for a request of the client with
// this method. The error refuses the request.
func (g *Guard) Model(ctx context.Context, method string, m policy.Model) (policy.Model, *rpc.Error) {
	p := g.policy.Load()
	if p.Mode() == config.Off {
		return m, nil
	}
	allowed, d := p.DecideModel(method, m)
	g.logDecision(p.Mode(), method, d)
	line, _ := json.Marshal(m) // the fields are strings
	d = g.recordEffect(ctx, p.Mode(), subject{method: method, line: line}, d)
	if p.Mode() != config.Enforce {
		return m, nil
	}
	if d.Verdict != policy.Pass {
		g.notifyApplied(method, rpc.ID{}, rpc.Value{}, d)
	}
	return allowed, d.Err
}
