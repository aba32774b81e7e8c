package approvals

import (
	"context"
	"encoding/json"

	"codex-bridge.example/bridge"
	"codex-bridge.example/rpc"
)

// GrantFeature answers bridge/grant/list and bridge/grant/revoke.
type GrantFeature struct {
	memory      *Memory
	knowsBridge func() bool
}

// NewGrantFeature returns a GrantFeature. knowsBridge reports whether the client has
// offered capabilities.bridge; the requests of other clients go to Codex.
func NewGrantFeature(m *Memory, known func() bool) *GrantFeature { return &GrantFeature{m, known} }

// GrantMethods are the methods of GrantFeature.
var GrantMethods = []string{methodList, methodRevoke}

const (
	methodList   = "bridge/grant/list"
	methodRevoke = "bridge/grant/revoke"
)

// Routes implements bridge.Feature.
func (f *GrantFeature) Routes() []bridge.Route {
	return []bridge.Route{
		{From: bridge.Client, Method: methodList, Why: "answered here", HandleClient: f.handler(f.list)},
		{From: bridge.Client, Method: methodRevoke, Why: "answered here", HandleClient: f.handler(f.revoke)},
	}
}

// Stage implements bridge.Feature.
func (*GrantFeature) Stage() bridge.Stage { return bridge.BeforeGuard }

func (f *GrantFeature) handler(answer func(context.Context, rpc.Value) (any, *rpc.Error)) func(context.Context, *bridge.ClientMessage) *rpc.Error {
	return func(ctx context.Context, call *bridge.ClientMessage) *rpc.Error {
		if !f.knowsBridge() || call.Kind != rpc.Request {
			return nil
		}
		if call.Truncated() {
			return rpc.Errorf(rpc.CodeTooLarge, "%s has more values than are looked at; send less", call.Method)
		}
		result, failed := answer(ctx, call.Params)
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

func (f *GrantFeature) list(ctx context.Context, _ rpc.Value) (any, *rpc.Error) {
	all, err := f.memory.List(ctx)
	if err != nil {
		return nil, rpc.Errorf(rpc.CodeInternal, "%v", err)
	}
	return map[string]any{"grants": all}, nil
}

// revoke takes {ids: […]} or {all: true} and returns the ids of the revoked grants.
func (f *GrantFeature) revoke(ctx context.Context, params rpc.Value) (any, *rpc.Error) {
	var ids []string
	all, _ := params.Get("all").Bool()
	switch list := params.Get("ids"); {
	case all && !list.Exists():
		grants, err := f.memory.List(ctx)
		if err != nil {
			return nil, rpc.Errorf(rpc.CodeInternal, "%v", err)
		}
		for _, g := range grants {
			ids = append(ids, g.ID)
		}
	case !all && list.Kind() == rpc.Array:
		for element := range list.Elements() {
			id, ok := element.Text()
			if !ok {
				return nil, rpc.Errorf(rpc.CodeInvalidParams, "params.ids has %v; give the ids of grants", element.Kind())
			}
			ids = append(ids, id)
		}
	default:
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "give params.ids, a list of the ids of grants, or params.all, true")
	}
	revoked := []string{}
	for _, id := range ids {
		gone, err := f.memory.Revoke(ctx, id)
		if err != nil {
			return nil, rpc.Errorf(rpc.CodeInternal, "%v", err)
		}
		if gone {
			revoked = append(revoked, id)
		}
	}
	return map[string]any{"revoked": revoked}, nil
}
