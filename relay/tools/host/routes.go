package host

import (
	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/methods"
)

// Routes implements bridge.Feature. Without tools in the configuration it only handles the
// effects of experimentalApi.
func (f *Feature) Routes() []bridge.Route {
	routes := []bridge.Route{
		{From: bridge.Client, Method: "initialize", Why: "codex accepts tools and permission profiles only with experimentalApi", HandleClient: f.initialize},
		{From: bridge.Client, Method: "thread/start", Why: "the host's and the registered tools are added", HandleClient: f.addTools},
	}
	routes = append(routes, f.experimentRoutes()...)
	if !f.configured {
		return routes
	}
	for _, method := range []string{"thread/resume", "thread/fork"} {
		routes = append(routes, bridge.Route{From: bridge.Client, Method: method, Why: "the folder of its tool calls", HandleClient: f.handleReopen})
	}
	routes = append(routes,
		bridge.Route{From: bridge.Client, Method: "turn/start", Why: "the folder of its tool calls", HandleClient: f.handleTurnStart},
		bridge.Route{From: bridge.Codex, Method: "item/tool/call", Why: "the host's tools are run here", HandleServer: f.handleCall},
		bridge.Route{From: bridge.Codex, Method: "item/completed", Why: "a completed item ends its tool call", HandleServer: f.handleItemCompleted, When: f.running.any, Match: isCall},
		bridge.Route{From: bridge.Codex, Method: "turn/completed", Why: "the turn's tool calls end", HandleServer: f.handleTurnCompleted, When: f.running.any},
	)
	for _, method := range methods.UnloadNotifications {
		routes = append(routes, bridge.Route{From: bridge.Codex, Method: method, Why: "the thread's tool calls end", HandleServer: f.handleThreadClosed})
	}
	return routes
}

// Stage implements bridge.Feature.
func (*Feature) Stage() bridge.Stage { return bridge.AfterGuard }
