package guard

import (
	"context"
	"slices"
	"strings"

	"codex-bridge/bridge"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// own is a bridge.Feature that refuses the bridge's own methods that policy.methods denies.
type own struct {
	g        *Guard
	threadOf func(ctx context.Context, session string) (string, error)
}

// Own returns the feature that refuses the bridge's own methods, bridge/…, where policy.methods denies them. It stands
// before the features that answer these methods. threadOf returns the thread of a session, "" if it has none.
func (g *Guard) Own(threadOf func(ctx context.Context, session string) (string, error)) bridge.Feature {
	return own{g, threadOf}
}

// Routes implements bridge.Feature.
func (o own) Routes() []bridge.Route {
	return []bridge.Route{{
		From: bridge.Client, Method: bridge.Other, Why: "policy.methods counts for the bridge's own methods, too", When: o.g.isActive, HandleClient: o.decide,
	}}
}

func (o own) decide(ctx context.Context, call *bridge.ClientMessage) *rpc.Error {
	if !strings.HasPrefix(call.Method, "bridge/") {
		return nil
	}
	denies := func(p *policy.Policy) bool { return p.Mode() != config.Off && p.DeniesMethod(call.Method) }
	thread, session := textOf(call, "threadId"), textOf(call, "sessionKey")
	policies := o.g.policiesOf(call.Method, thread)
	if thread == "" && session != "" && slices.ContainsFunc(o.g.policies(""), denies) { // that of some thread; "" is none
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
	return o.g.decideUnder(ctx, call, policies[i:i+1])
}
