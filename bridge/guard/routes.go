package guard

import (
	"context"
	"slices"
	"strings"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/rpc"
)

// Routes implements bridge.Feature.
func (g *Guard) Routes() []bridge.Route {
	routes := []bridge.Route{
		{From: bridge.Client, Method: bridge.Other, Why: "every message of the client is checked against the policy", HandleClient: g.decide, When: g.isActive},
		{From: bridge.Client, Method: "initialize", Why: "the decision log has the client's name", HandleClient: g.initialize},
		{From: bridge.Client, Method: bridge.Unsolicited, Why: "an unsolicited response must not reach Codex unchecked", HandleClient: g.refuseUnsolicited, When: g.isActive},
		{From: bridge.Codex, Method: settingsNotification, Why: "the effective settings of a thread must be what the policy allows", HandleServer: g.settingsUpdated},
		{
			From: bridge.Codex, Method: "item/started", Why: "names the files of a patch, which the approval request omits",
			HandleServer: g.itemStarted, When: g.judgesFiles, Match: isPatch,
		},
		{From: bridge.Codex, Method: "hook/started", Why: "another hook may replace the input of a call", HandleServer: g.hookStarted, When: g.isActive},
		{From: bridge.Codex, Method: "item/started", Why: "a call must run as it was judged", HandleServer: g.compareStarted, When: g.otherRuns.any},
		{From: bridge.Codex, Method: "turn/started", Why: "a question must name the running turn of its thread", HandleServer: g.turnStarted, When: g.isActive, ReadOnly: true},
		{
			From: bridge.Codex, Method: "turn/completed", Why: "questions of the turn count no more, and its mount points are removed", HandleServer: g.turnCompleted,
			When: g.followsTurns, ReadOnly: true,
		},
		{
			From: bridge.Codex, Method: "thread/status/changed", Why: "the turn has ended, also if the client has left the thread before", HandleServer: g.threadStatusChanged,
			When: g.followsTurns, ReadOnly: true,
		},
		{From: bridge.Codex, Method: "serverRequest/resolved", Why: "Codex no longer waits for a response", HandleServer: g.serverRequestResolved},
		{From: bridge.Codex, Method: bridge.Other, Why: "requests of Codex that the method table does not have", HandleServer: g.handleServerRequest},
	}
	for _, method := range append(slices.Clip(openRequests), execMethod) {
		routes = append(routes, bridge.Route{
			From: bridge.Client, Method: method, Why: "the policy file of its folder applies, too", HandleClient: g.decide,
			When: func() bool { return g.isActive() || g.mayOpenUnenforced() },
		})
	}
	routes = append(routes, bridge.Route{
		From: bridge.Client, Method: "thread/start", Why: "a folder that the bridge adds makes Codex trust no project", HandleClient: g.distrustAddedFolder,
	})
	for _, method := range methods.UnloadNotifications {
		routes = append(routes, bridge.Route{From: bridge.Codex, Method: method, Why: "an unloaded thread must be verified again", HandleServer: g.threadUnloaded})
	}
	for row := range methods.Rows() {
		if row.Side == methods.ServerRequest {
			routes = append(routes, bridge.Route{From: bridge.Codex, Method: row.Method, Why: row.Why, HandleServer: g.handleServerRequest})
		}
	}
	return routes
}

// initialize stores the client's name and version after Codex has accepted the request.
func (g *Guard) initialize(ctx context.Context, call *bridge.ClientMessage) *rpc.Error {
	info := call.Params.Get("clientInfo")
	client, named := info.Get("name").Text()
	version, _ := info.Get("version").Text()
	name := display.Clip(strings.TrimSpace(client + " " + version))
	first := g.client.Load() == nil
	if first {
		g.client.Store(&name) // a refusal is logged with the name
	}
	if err := g.decide(ctx, call); err != nil || call.Kind != rpc.Request {
		return err
	}
	call.OnResponse(func(a *bridge.ServerResponse) {
		if a.Outcome() == bridge.Succeeded {
			g.client.Store(&name)
		}
	})
	g.checkCodexAfter(ctx, call, client, first && named)
	return nil
}

// checkCodexAfter checks Codex with its response to the request initialize. readAgent is false if client is
// not the name with which the userAgent in it may begin.
func (g *Guard) checkCodexAfter(ctx context.Context, call *bridge.ClientMessage, client string, readAgent bool) {
	if g.codexCheck == nil || !g.Enforces() {
		return
	}
	id := call.ID.Clone()
	call.OnResponse(func(a *bridge.ServerResponse) {
		if a.Envelope == nil {
			return // Codex has ended, or the client gets an error for another reason
		}
		if userAgent, ok := a.Result().Get("userAgent").Text(); ok && readAgent && g.readUserAgent != nil {
			g.readUserAgent(userAgent, client)
		}
		a.AfterHandlers(func() { // other features change the line before
			waitCtx, cancel := context.WithTimeout(ctx, g.codexTimeout)
			defer cancel()
			if err := g.requireUsableCodex(waitCtx, "initialize"); err != nil {
				a.Line = rpc.EncodeError(id, err)
			}
		})
	})
}
