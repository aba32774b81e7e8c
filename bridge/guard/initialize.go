package guard

import (
	"context"
	"strings"

	"codex-bridge/bridge"
	"codex-bridge/rpc"
)

// initialize takes note of who the client is.
func (g *Guard) initialize(ctx context.Context, call *bridge.Call) *rpc.Error {
	info := call.Params.Get("clientInfo")
	name, _ := info.Get("name").Text()
	version, _ := info.Get("version").Text()
	name = clip(strings.TrimSpace(name + " " + version))
	g.client.Store(&name)
	return g.decide(ctx, call)
}

func (g *Guard) clientName() string {
	if name := g.client.Load(); name != nil {
		return *name
	}
	return ""
}
