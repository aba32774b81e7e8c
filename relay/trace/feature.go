package trace

import (
	"context"

	"codex-bridge/bridge"
	"codex-bridge/bridge/methods"
	"codex-bridge/rpc"
)

// Everything is a bridge.Feature that has every message gathered, so that a bridge.Tap is
// told of it. It changes none. A notification of a method that is not in the method table
// passes untold.
type Everything struct{}

// Routes implements bridge.Feature.
func (Everything) Routes() []bridge.Route {
	const why = "for the trace"
	routes := []bridge.Route{
		{From: bridge.Client, Method: bridge.Other, Why: why, Call: func(_ context.Context, call *bridge.Call) *rpc.Error {
			if call.Kind == rpc.Request {
				call.OnAnswer(func(*bridge.Answer) {})
			}
			return nil
		}},
		{From: bridge.Codex, Method: bridge.Other, Why: why, Said: func(context.Context, *bridge.Said) {}},
	}
	for _, method := range methods.Names(methods.ServerNotification) {
		routes = append(routes, bridge.Route{From: bridge.Codex, Method: method, Why: why, Said: func(context.Context, *bridge.Said) {}})
	}
	return routes
}
