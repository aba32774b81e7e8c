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
type own struct{ g *Guard }

// Own returns the feature that refuses the bridge's own methods, bridge/…, where policy.methods denies them. It stands
// before the features that answer these methods.
func (g *Guard) Own() bridge.Feature { return own{g} }

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
	thread, _ := call.Params.Get("threadId").Text()
	denies := func(p *policy.Policy) bool { return p.Mode() != config.Off && p.Denies(call.Method) }
	if !slices.ContainsFunc(o.g.policiesOf(call.Method, thread), denies) {
		return nil
	}
	return o.g.decide(ctx, call)
}
