package guard

import (
	"context"
	"slices"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// idleMethods are the bridge's methods that begin no work: they read, end something, or change what
// the bridge remembers. All others are checked by refuseWork before a feature answers them.
var idleMethods = []string{
	"bridge/acp/cancel", "bridge/acp/list", "bridge/binding/clear", "bridge/binding/list", "bridge/binding/read",
	"bridge/diagnostics/preview", "bridge/grant/list", "bridge/grant/revoke", "bridge/policy/explain", "bridge/status",
	"bridge/tool/list", "bridge/tool/register", "bridge/tool/unregister", "bridge/turn/interrupt", "bridge/turn/set",
}

// workMethods are the other methods of the bridge.
var workMethods = []string{
	"bridge/acp/send", "bridge/acp/spawn", "bridge/diagnostics/upload", "bridge/image/describe", "bridge/turn/compact", "bridge/turn/enqueue", "bridge/turn/run",
}

// IsOwnMethod reports whether the bridge answers a method itself.
func IsOwnMethod(method string) bool {
	return slices.Contains(idleMethods, method) || slices.Contains(workMethods, method)
}

// BeginsWork reports whether a method of the bridge begins work, so that it needs a policy that can
// be enforced.
func BeginsWork(method string) bool { return !slices.Contains(idleMethods, method) }

// refuseWork returns the error for a method of the bridge that must not begin its work: a policy does
// not allow that now, that of the folder does not load, or Codex can't be used.
func (g *Guard) refuseWork(ctx context.Context, call *bridge.ClientMessage, policies []*policy.Policy) *rpc.Error {
	policies, refusal := g.policiesIn(call.Method, textOf(call, "cwd"), policies)
	if i := slices.IndexFunc(policies, func(p *policy.Policy) bool { return deniesMethod(p, call.Method) }); refusal == nil && i >= 0 {
		return g.decideWith(ctx, call, policies[i:i+1])
	}
	d, p := strictest(policies, func(p *policy.Policy) policy.Decision { return p.DecideWork(call.Method) }, strictness)
	if refusal != nil {
		d, p = policy.Decision{Verdict: policy.Deny, Err: refusal}, policies[0]
	}
	if d.Verdict == policy.Pass && p.Mode() == config.Enforce {
		waitCtx := newLazyTimeout(ctx, g.codexTimeout)
		defer waitCtx.cancel()
		return g.requireUsableCodex(waitCtx, call.Method)
	}
	err := g.recordWork(ctx, p, subjectOf(call.Method, call.Params, call.Bytes()), d)
	if err != nil {
		g.notifyApplied(call.Method, call.ID, call.Params, d)
	}
	return err
}

// RefuseCommand is refuseWork for a command line that does the work of a method of the bridge in a folder.
func (g *Guard) RefuseCommand(ctx context.Context, method, folder string) *rpc.Error {
	policies, refusal := g.policiesIn(method, folder, []*policy.Policy{g.policy.Load()})
	d, p := strictest(policies, func(p *policy.Policy) policy.Decision { return p.DecideWork(method) }, strictness)
	if refusal != nil {
		d, p = policy.Decision{Verdict: policy.Deny, Err: refusal}, policies[0]
	}
	return g.recordWork(ctx, p, subject{method: method}, d)
}

// recordWork logs a decision about work, and returns the error if the work must not begin. That applies even if it
// can't be logged.
func (g *Guard) recordWork(ctx context.Context, p *policy.Policy, about subject, d policy.Decision) *rpc.Error {
	if d.Verdict == policy.Pass || p.Mode() == config.Off {
		return nil
	}
	g.logDecision(p.Mode(), about.method, d)
	_ = g.record(ctx, p.Mode(), about, d)
	if p.Mode() != config.Enforce {
		return nil
	}
	return d.Err
}

// RefusesMethod reports whether policy.methods refuses a method of the bridge to the client in each thread.
func (g *Guard) RefusesMethod(method string) bool {
	p := g.Policy()
	return p.Mode() == config.Enforce && p.DeniesMethod(method)
}

// policiesIn returns the policies for work in a folder, "" for that of the start: policies, and that of
// the policy file of the folder. The first decides whether they are enforced.
func (g *Guard) policiesIn(method, folder string, policies []*policy.Policy) ([]*policy.Policy, *rpc.Error) {
	if folder == "" || g.folderPolicy == nil {
		return policies, nil
	}
	at, err := g.world.Paths.Canonical(folder)
	var p *policy.Policy
	if err == nil {
		p, err = g.folderPolicy(at)
	}
	enforces := p != nil && p.Mode() == config.Enforce
	switch {
	case enforces && policies[0].Mode() == config.Enforce:
		policies = append(slices.Clip(policies), p)
	case enforces:
		policies = append([]*policy.Policy{p}, policies...)
	case err != nil && policies[0].Mode() != config.Enforce:
		g.log.Warn("the policy file of a folder does not load; work begins there without it", "method", display.Clip(method), "folder", folder, "error", err)
		return policies, nil
	}
	if err != nil {
		return policies, refuseFolder(method, "policy", p, err)
	}
	return policies, nil
}

func deniesMethod(p *policy.Policy, method string) bool {
	return p.Mode() != config.Off && p.DeniesMethod(method)
}
