package guard

import (
	"context"
	"encoding/json"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/rpc"
)

// permissionMethod is the request of an agent for permission.
const permissionMethod = "session/request_permission"

// Agent decides a request for permission by an agent beside the conversation, by the active policy and
// that of the agent's folder. line is the agent's request. A verdict other than Pass is logged.
func (g *Guard) Agent(ctx context.Context, use toolcall.AgentRequest, session string, line []byte) policy.Decision {
	d, p := g.decideAgent(use)
	return g.applyAgent(ctx, p, use, subject{method: permissionMethod, thread: session, line: line}, d)
}

// AgentAllowed decides an agent's request again after a person has allowed it, since the policy may have
// changed meanwhile, and logs the answer with the person's reason. The error says why it does not count.
func (g *Guard) AgentAllowed(ctx context.Context, use toolcall.AgentRequest, session string, line []byte, reason string) *rpc.Error {
	d, p := g.decideAgent(use)
	if d.Verdict != policy.Deny {
		why := "the user has allowed " + use.Describe()
		if reason != "" {
			why += ": " + display.Clip(reason)
		}
		d = policy.Decision{Verdict: policy.Accept, Changes: []policy.Change{{Field: "result", Rule: "approvals.person", Reason: why}}}
	}
	return g.applyAgent(ctx, p, use, subject{method: permissionMethod, thread: session, line: line}, d).Err
}

// decideAgent returns the strictest decision about an agent's request, and its policy.
func (g *Guard) decideAgent(use toolcall.AgentRequest) (policy.Decision, *policy.Policy) {
	policies, refusal := g.policiesIn(permissionMethod, use.Cwd, []*policy.Policy{g.policy.Load()})
	if refusal == nil && use.RunsIn != use.Cwd {
		policies, refusal = g.policiesIn(permissionMethod, use.RunsIn, policies)
	}
	if refusal != nil {
		return policy.Decision{Verdict: policy.Deny, Err: refusal}, policies[0]
	}
	state := g.currentState(rpc.Value{})
	return strictest(policies, func(p *policy.Policy) policy.Decision { return toolcall.DecideAgent(p, permissionMethod, use, state) }, strictness)
}

// applyAgent logs a decision about an agent's request, and returns the one that applies. Only an enforced
// policy decides; otherwise a person is asked.
func (g *Guard) applyAgent(ctx context.Context, p *policy.Policy, use toolcall.AgentRequest, about subject, d policy.Decision) policy.Decision {
	ask := policy.Decision{Verdict: policy.Pass, Ask: true}
	if p.Mode() == config.Off {
		return ask
	}
	g.logDecision(p.Mode(), about.method, d)
	d = g.recordEffect(ctx, p.Mode(), about, d)
	if p.Mode() != config.Enforce {
		return ask
	}
	if d.Verdict != policy.Pass {
		g.notifyListeners(about.method, Applied{What: use.Summary()}, d)
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
