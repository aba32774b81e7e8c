package guard

import (
	"context"
	"strings"

	"codex-bridge/bridge"
	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// initialize takes note of who the client is, and of what it does not want to hear:
// codex would not say that either.
func (g *Guard) initialize(ctx context.Context, call *bridge.Call) *rpc.Error {
	info := call.Params.Get("clientInfo")
	name, _ := info.Get("name").Text()
	version, _ := info.Get("version").Text()
	name = clip(strings.TrimSpace(name + " " + version))
	g.client.Store(&name)
	for method := range call.Params.Get("capabilities").Get("optOutNotificationMethods").Elements() {
		if method.Is(warning) {
			g.told.mu.Lock()
			g.told.deaf = true
			g.told.mu.Unlock()
		}
		text, _ := method.Text()
		g.deaf.Store(text, true)
		if policy.Hears(text) {
			g.unwanted.Add(text)
			if !g.Enforces() { // else it is taken off the list
				g.mute.Store(&text)
			}
		}
	}
	return g.decide(ctx, call)
}

// OptedOut says that the client does not want to hear a notification that was taken off
// its list before: who needs it keeps it from the client.
func (g *Guard) OptedOut(method string) { g.deaf.Store(method, true) }

func (g *Guard) clientName() string {
	if name := g.client.Load(); name != nil {
		return *name
	}
	return ""
}

// unheard is for what nothing else is wanted of here.
func (g *Guard) unheard(_ context.Context, said *bridge.Said) { g.unwanted.Withhold(said) }

// silenced tells whether the client has opted out of method.
func (g *Guard) silenced(method string) func() bool {
	return func() bool { return g.unwanted.Has(method) }
}
