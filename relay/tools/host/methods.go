package host

import (
	"context"
	"encoding/json"

	"codex-bridge.example/bridge"
	"codex-bridge.example/relay/tools"
	"codex-bridge.example/rpc"
)

// Methods are the methods of ToolMethods.
var Methods = []string{"bridge/tool/register", "bridge/tool/unregister", "bridge/tool/list"}

// ToolMethods is the bridge.Feature that answers Methods. It must come before the policy,
// which knows only Codex's methods.
type ToolMethods struct{ f *Feature }

// ToolMethods returns the feature that answers Methods.
func (f *Feature) ToolMethods() ToolMethods { return ToolMethods{f} }

// Routes implements bridge.Feature.
func (o ToolMethods) Routes() []bridge.Route {
	var routes []bridge.Route
	for i, answer := range []func(rpc.Value) (any, *rpc.Error){o.register, o.unregister, o.list} {
		routes = append(routes, bridge.Route{From: bridge.Client, Method: Methods[i], Why: "answered here", HandleClient: o.handler(answer)})
	}
	return routes
}

// Stage implements bridge.Feature.
func (ToolMethods) Stage() bridge.Stage { return bridge.BeforeGuard }

func (o ToolMethods) handler(answer func(rpc.Value) (any, *rpc.Error)) func(context.Context, *bridge.ClientMessage) *rpc.Error {
	return func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
		if !o.f.options.Known() || call.Kind != rpc.Request {
			return nil
		}
		if call.Truncated() {
			return rpc.Errorf(rpc.CodeTooLarge, "%s has more values than are looked at; send less", call.Method)
		}
		result, failed := answer(call.Params)
		if failed != nil {
			return failed
		}
		raw, err := json.Marshal(result)
		if err != nil {
			return rpc.Errorf(rpc.CodeInternal, "%s: %v", call.Method, err)
		}
		call.Reply(raw)
		return nil
	}
}

// register takes {tools: […]}, in either form of dynamicTools, and returns the fingerprint
// of the tools for the next thread.
func (o ToolMethods) register(params rpc.Value) (any, *rpc.Error) {
	list := params.Get("tools")
	if list.Kind() != rpc.Array || list.Len() == 0 {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "give params.tools, a list of tools as in dynamicTools of thread/start")
	}
	if !o.f.experiment.on.Load() {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "codex accepts tools only from a client that sets capabilities.experimentalApi in initialize")
	}
	specs, err := tools.Specs(list.Raw(), origin)
	if err != nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "params.tools: %v", err)
	}
	if err := o.f.registered.add(specs, o.f.catalogue.Last()); err != nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "params.tools: %v", err)
	}
	return o.fingerprintResult(), nil
}

// unregister takes {tools: […]}: names, or objects with name and namespace.
func (o ToolMethods) unregister(params rpc.Value) (any, *rpc.Error) {
	var names []tools.Name
	for element := range params.Get("tools").Elements() {
		n := tools.Name{}
		if text, ok := element.Text(); ok {
			n.Name = text
		} else if element.Kind() == rpc.Object {
			n.Namespace, _ = element.Get("namespace").Text()
			n.Name, _ = element.Get("name").Text()
		}
		if n.Name == "" {
			return nil, rpc.Errorf(rpc.CodeInvalidParams, "params.tools has an element that is neither a name nor an object with a name: %s", element.Raw())
		}
		names = append(names, n)
	}
	if len(names) == 0 {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "give params.tools, a list of names, or of objects with name and namespace")
	}
	if err := o.f.registered.remove(names); err != nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "params.tools: %v", err)
	}
	return o.fingerprintResult(), nil
}

type row struct {
	Namespace   string          `json:"namespace,omitempty"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Searchable  bool            `json:"searchable,omitempty"`
	Origin      string          `json:"origin"`
}

// list returns the tools for the next thread, and the omitted ones.
func (o ToolMethods) list(rpc.Value) (any, *rpc.Error) {
	host := o.f.catalogue.Last()
	rows := []row{}
	for _, offer := range []*tools.Snapshot{host, o.f.registered.current()} {
		for _, s := range offer.Tools {
			rows = append(rows, row{s.Namespace, s.Name, s.Description, s.InputSchema, s.Searchable, s.Origin})
		}
	}
	return map[string]any{"tools": rows, "leftOut": append([]tools.OmittedTool{}, host.Omitted...), "fingerprint": o.fingerprint()}, nil
}

func (o ToolMethods) fingerprintResult() any {
	return map[string]string{"fingerprint": o.fingerprint()}
}

func (o ToolMethods) fingerprint() string {
	return fingerprint(o.f.catalogue.Last(), o.f.registered.current())
}
