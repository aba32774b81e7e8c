package guard

import (
	"context"
	"strings"

	"codex-bridge/bridge"
	"codex-bridge/rpc"
)

// initialize takes note of who the client is, once Codex has accepted what it says.
func (g *Guard) initialize(ctx context.Context, call *bridge.ClientMessage) *rpc.Error {
	info := call.Params.Get("clientInfo")
	name, _ := info.Get("name").Text()
	version, _ := info.Get("version").Text()
	name = clip(strings.TrimSpace(name + " " + version))
	if g.client.Load() == nil {
		g.client.Store(&name) // so that a refusal is logged with it
	}
	if err := g.decide(ctx, call); err != nil || call.Kind != rpc.Request {
		return err
	}
	call.OnResponse(func(a *bridge.ServerResponse) {
		if a.Outcome() == bridge.Succeeded {
			g.client.Store(&name)
		}
	})
	return nil
}

func (g *Guard) clientName() string {
	if name := g.client.Load(); name != nil {
		return *name
	}
	return ""
}
