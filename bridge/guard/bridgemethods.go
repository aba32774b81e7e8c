package guard

import (
	"context"
	"slices"
	"strings"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// bridgeMethods is a bridge.Feature that refuses methods of the bridge that policy.methods denies, and
// those that begin work which the policy does not allow now.
type bridgeMethods struct {
	g        *Guard
	threadOf func(ctx context.Context, session string) (string, error)
}

// BridgeMethods returns the feature that refuses the bridge's methods, bridge/…, if policy.methods
// denies them, or if they begin work that the policy does not allow now. It comes before the features
// that handle these methods. threadOf returns the thread of a session, or "" if it has none.
func (g *Guard) BridgeMethods(threadOf func(ctx context.Context, session string) (string, error)) bridge.Feature {
	return bridgeMethods{g, threadOf}
}

// Routes implements bridge.Feature.
func (o bridgeMethods) Routes() []bridge.Route {
	return []bridge.Route{{
		From: bridge.Client, Method: bridge.Other, Why: "the policy also applies to methods of the bridge", When: o.g.isActive, HandleClient: o.decide,
	}}
}

// Stage implements bridge.Feature.
func (bridgeMethods) Stage() bridge.Stage { return bridge.BeforeGuard }

// decide refuses a method of the bridge that a policy of its thread denies, or whose work must not begin.
func (o bridgeMethods) decide(ctx context.Context, call *bridge.ClientMessage) *rpc.Error {
	if !strings.HasPrefix(call.Method, "bridge/") {
		return nil
	}
	denies := func(p *policy.Policy) bool { return deniesMethod(p, call.Method) }
	thread, session := textOf(call, "threadId"), textOf(call, "sessionKey")
	policies := o.g.policiesOf(call.Method, thread)
	if thread == "" && session != "" && slices.ContainsFunc(o.g.policies(""), denies) { // policies("") has the policies of all threads
		var err error
		thread, err = o.threadOf(ctx, session)
		if policies = o.g.policiesOf(call.Method, thread); err != nil {
			policies = o.g.policies("")
		}
	}
	i := slices.IndexFunc(policies, denies)
	switch {
	case i >= 0:
		return o.g.decideWith(ctx, call, policies[i:i+1])
	case BeginsWork(call.Method):
		return o.g.refuseWork(ctx, call, policies)
	}
	return nil
}
