package host

import (
	"context"
	"sync/atomic"

	"codex-bridge/bridge"
	"codex-bridge/rpc"
)

// What codex says only where the client has asked for what is experimental, which tools
// need. Measured with 0.169.0, one conversation with and one without; the request and the
// field are by codex's schemas, of which those without `--experimental` lack them.
var (
	unseen       = []string{"thread/readState/changed"}
	unasked      = []string{"currentTime/read"}
	unseenFields = map[string][]string{"item/commandExecution/requestApproval": {"additionalPermissions"}}
)

// experiment is whether codex was asked, for the client or in its name, for what is
// experimental.
type experiment struct {
	on   atomic.Bool // codex takes tools
	ours atomic.Bool // the client has not asked for it
}

// warning is the notification by which Codex itself says that something of the
// configuration has no effect.
const warning = "configWarning"

// experimentRoutes keep from the client what Codex sends because of the bridge's use of
// experimentalApi.
func (f *Feature) experimentRoutes() (routes []bridge.Route) {
	for _, method := range unseen {
		routes = append(routes, bridge.Route{
			From: bridge.Codex, Method: method, Why: "sent only to clients that want what is experimental", HandleServer: f.unsee,
			When: f.experiment.ours.Load, Required: func() bool { return false },
		})
	}
	for _, method := range unasked {
		routes = append(routes, bridge.Route{From: bridge.Codex, Method: method, Why: "asked only of clients that want what is experimental", HandleServer: f.refuse})
	}
	for method := range unseenFields {
		routes = append(routes, bridge.Route{From: bridge.Codex, Method: method, Why: "what is experimental of it is for clients that want that", HandleServer: f.hide})
	}
	return routes
}

// initialize has Codex accept tools and permissions profiles.
func (f *Feature) initialize(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
	m, err := rpc.ParseMessage(call.Line) // as the features before have left it
	if err != nil {
		return rpc.Errorf(rpc.CodeInternal, "initialize as it was rewritten can't be read: %v", err)
	}
	capabilities := m.Params.Get("capabilities")
	on, said := capabilities.Get("experimentalApi").Bool()
	if on {
		f.experiment.on.Store(true)
		return nil
	}
	if !f.configured && !f.o.Experimental() || m.Params.Kind() != rpc.Object {
		return nil
	}
	if value := capabilities.Get("experimentalApi"); value.Exists() && !said && value.Kind() != rpc.Null {
		return nil // codex will say what is wrong with it
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
	f.experiment.on.Store(true)
	f.experiment.ours.Store(true)
	return nil
}

// hide takes out of a question what the client would not have seen.
func (f *Feature) hide(_ context.Context, said *bridge.ServerMessage) {
	if !f.experiment.ours.Load() || said.Line == nil {
		return
	}
	e, err := rpc.ParseEnvelope(said.Line) // as the features before have left it
	if err != nil {
		return
	}
	patch := rpc.NewEnvelopePatch(e)
	for _, field := range unseenFields[said.Method] {
		patch.Delete(e.Root().Get("params"), field)
	}
	if patch.Changed() {
		said.Line = patch.Bytes()
	}
}

// unsee keeps from the client what codex would not have sent it.
func (f *Feature) unsee(_ context.Context, said *bridge.ServerMessage) {
	if f.experiment.ours.Load() {
		said.Line = nil
	}
}

// refuse answers what the client would not have been asked.
func (f *Feature) refuse(_ context.Context, said *bridge.ServerMessage) {
	if f.experiment.ours.Load() && said.ID.IsValid() && said.Line != nil {
		said.Refuse(rpc.Errorf(rpc.CodeInvalidRequest, "the client has not asked for what is experimental, as %s is", said.Method))
	}
}
