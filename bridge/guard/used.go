package guard

import (
	"context"
	"encoding/json"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// AllowsModel tells whether the bridge may use a model by itself.
func (g *Guard) AllowsModel(name string) bool {
	p := g.policy.Load()
	return p.Mode() != config.Enforce || p.AllowsModel(name)
}

// Model is what takes the place of a model with which the bridge is about to do what it was
// asked for by method, outside of the conversation.
func (g *Guard) Model(ctx context.Context, method string, m policy.Model) (policy.Model, *rpc.Error) {
	p := g.policy.Load()
	if p.Mode() == config.Off {
		return m, nil
	}
	held, d := p.DecideModel(method, m)
	g.report(p.Mode(), method, d)
	line, _ := json.Marshal(m) // of texts
	err := g.record(ctx, p.Mode(), subject{method: method, line: line}, d)
	if p.Mode() != config.Enforce {
		return m, nil
	}
	if err != nil && d.Err == nil {
		d = policy.Decision{Verdict: policy.Deny, Err: err}
	}
	if d.Verdict != policy.Pass {
		g.applied(method, rpc.ID{}, rpc.Value{}, d)
	}
	return held, d.Err
}
