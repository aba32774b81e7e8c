package host

import (
	"context"
	"sync/atomic"

	"codex-bridge.example/bridge"
	"codex-bridge.example/rpc"
)

// Messages and fields that Codex sends only with the capability experimentalApi, which
// tools require. Measured with 0.169.0 in two conversations; the request and the field are
// those that the schemas without `--experimental` lack.
var (
	experimentalNotifications = []string{"thread/readState/changed"}
	experimentalRequests      = []string{"currentTime/read"}
	experimentalFields        = map[string][]string{"item/commandExecution/requestApproval": {"additionalPermissions"}}
)

// experimentalAPI tells whether Codex's capability experimentalApi is on.
type experimentalAPI struct {
	on            atomic.Bool // the capability is on
	addedByBridge atomic.Bool // the bridge added it for a client that did not ask for it
}

// configWarning is Codex's notification about configuration without effect.
const configWarning = "configWarning"

// experimentRoutes keeps messages from the client that Codex sends only because the bridge
// added experimentalApi.
func (f *Feature) experimentRoutes() (routes []bridge.Route) {
	for _, method := range experimentalNotifications {
		routes = append(routes, bridge.Route{
			From: bridge.Codex, Method: method, Why: "only for clients with experimentalApi", HandleServer: f.dropUnlessExperimental,
			When: f.experiment.addedByBridge.Load, Required: func() bool { return false },
		})
	}
	for _, method := range experimentalRequests {
		routes = append(routes, bridge.Route{From: bridge.Codex, Method: method, Why: "only for clients with experimentalApi", HandleServer: f.rejectUnlessExperimental})
	}
	for method := range experimentalFields {
		routes = append(routes, bridge.Route{From: bridge.Codex, Method: method, Why: "experimental fields are only for clients with experimentalApi", HandleServer: f.removeExperimentalFields})
	}
	return routes
}

// initialize sets experimentalApi, so that Codex accepts tools and permission profiles.
func (f *Feature) initialize(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
	m, err := rpc.ParseMessage(call.Line) // earlier features may have rewritten it
	if err != nil {
		return rpc.Errorf(rpc.CodeInternal, "the rewritten initialize can't be parsed: %v", err)
	}
	capabilities := m.Params.Get("capabilities")
	on, isBool := capabilities.Get("experimentalApi").Bool()
	if call.Kind != rpc.Request {
		return nil // Codex ignores initialize as a notification
	}
	if on {
		f.switchOn(call, false)
		return nil
	}
	if !f.configured && !f.options.Experimental() || m.Params.Kind() != rpc.Object {
		return nil
	}
	if value := capabilities.Get("experimentalApi"); value.Exists() && !isBool && value.Kind() != rpc.Null {
		return nil // Codex reports the error
	}
	patch := rpc.NewPatch(m)
	switch capabilities.Kind() {
	case rpc.Object:
		patch.Set(capabilities, "experimentalApi", []byte("true"))
	case rpc.Null, rpc.Absent:
		patch.Set(m.Params, "capabilities", []byte(`{"experimentalApi":true}`))
	default:
		return nil
	}
	call.Line = patch.Bytes()
	f.switchOn(call, true)
	return nil
}

// switchOn records that initialize switches the experimental API on, until Codex rejects the request: the client may
// send further ones before the response.
func (f *Feature) switchOn(initialize *bridge.ClientMessage, byBridge bool) {
	wasOn, wasAdded := f.experiment.on.Swap(true), f.experiment.addedByBridge.Load()
	if byBridge {
		f.experiment.addedByBridge.Store(true)
	}
	initialize.OnResponse(func(a *bridge.ServerResponse) {
		if a.Outcome() == bridge.Failed {
			f.experiment.on.Store(wasOn)
			f.experiment.addedByBridge.Store(wasAdded)
		}
	})
}

// removeExperimentalFields removes fields that the client did not ask for.
func (f *Feature) removeExperimentalFields(_ context.Context, msg *bridge.ServerMessage) {
	if !f.experiment.addedByBridge.Load() || msg.Line == nil {
		return
	}
	e, err := rpc.ParseEnvelope(msg.Line) // earlier features may have rewritten it
	if err != nil {
		return
	}
	patch := rpc.NewEnvelopePatch(e)
	for _, field := range experimentalFields[msg.Method] {
		patch.Delete(e.Root().Get("params"), field)
	}
	if patch.Changed() {
		msg.Line = patch.Bytes()
	}
}

// dropUnlessExperimental drops a notification that the client did not ask for.
func (f *Feature) dropUnlessExperimental(_ context.Context, msg *bridge.ServerMessage) {
	if f.experiment.addedByBridge.Load() {
		msg.Line = nil
	}
}

// rejectUnlessExperimental rejects a request that the client did not ask for.
func (f *Feature) rejectUnlessExperimental(_ context.Context, msg *bridge.ServerMessage) {
	if f.experiment.addedByBridge.Load() && msg.ID.IsValid() && msg.Line != nil {
		msg.Refuse(rpc.Errorf(rpc.CodeInvalidRequest, "the client has not set experimentalApi, which %s requires", msg.Method))
	}
}
