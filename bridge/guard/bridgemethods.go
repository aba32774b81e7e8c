package guard

import (
	"context"
	"slices"
	"strings"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// bridgeMethods is a bridge.Feature that refuses methods of the bridge that policy.methods denies.
type bridgeMethods struct {
	g        *Guard
	threadOf func(ctx context.Context, session string) (string, error)
}

// BridgeMethods returns the feature that refuses the bridge's methods, bridge/…, if policy.methods
// denies them. It comes before the features that handle these methods. threadOf returns the thread
// of a session, or "" if it has none.
func (g *Guard) BridgeMethods(threadOf func(ctx context.Context, session string) (string, error)) bridge.Feature {
	return bridgeMethods{g, threadOf}
}

// Routes implements bridge.Feature.
func (o bridgeMethods) Routes() []bridge.Route {
	return []bridge.Route{{
		From: bridge.Client, Method: bridge.Other, Why: "policy.methods also applies to methods of the bridge", When: o.g.isActive, HandleClient: o.decide,
	}}
}

// decide refuses a method of the bridge that a policy of its thread denies.
func (o bridgeMethods) decide(ctx context.Context, call *bridge.ClientMessage) *rpc.Error {
	if !strings.HasPrefix(call.Method, "bridge/") {
		return nil
	}
	denies := func(p *policy.Policy) bool { return p.Mode() != config.Off && p.DeniesMethod(call.Method) }
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
	if i < 0 {
		return nil
	}
	return o.g.decideWith(ctx, call, policies[i:i+1])
}
