package host

import (
	"codex-bridge/bridge"
	"codex-bridge/bridge/methods"
)

// Routes implements bridge.Feature. Without tools in the configuration it looks only at
// what Codex sends because of the capability experimentalApi.
func (f *Feature) Routes() []bridge.Route {
	routes := []bridge.Route{
		{From: bridge.Client, Method: "initialize", Why: "codex takes tools, and permissions profiles, only where what is experimental is asked for", HandleClient: f.initialize},
		{From: bridge.Client, Method: "thread/start", Why: "tools are added: the host's, and those the client has registered", HandleClient: f.starts},
	}
	routes = append(routes, f.experimentRoutes()...)
	if !f.configured {
		return routes
	}
	for _, method := range []string{"thread/resume", "thread/fork"} {
		routes = append(routes, bridge.Route{From: bridge.Client, Method: method, Why: "the folder of its tool calls", HandleClient: f.reopens})
	}
	routes = append(routes,
		bridge.Route{From: bridge.Client, Method: "turn/start", Why: "the folder of its tool calls", HandleClient: f.turns},
		bridge.Route{From: bridge.Codex, Method: "item/tool/call", Why: "the host's tools are run here", HandleServer: f.called},
		bridge.Route{From: bridge.Codex, Method: "item/completed", Why: "a tool call that has been ended", HandleServer: f.ended, When: f.running.any, Match: isCall},
		bridge.Route{From: bridge.Codex, Method: "turn/completed", Why: "its tool calls end with it", HandleServer: f.turnEnded, When: f.running.any},
	)
	for _, method := range methods.UnloadNotifications {
		routes = append(routes, bridge.Route{From: bridge.Codex, Method: method, Why: "its tool calls end with it", HandleServer: f.closed})
	}
	return routes
}
