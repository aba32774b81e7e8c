package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"codex-bridge.example/bridge"
	"codex-bridge.example/rpc"
)

// The methods.
const (
	spawnMethod  = "bridge/acp/spawn"
	sendMethod   = "bridge/acp/send"
	cancelMethod = "bridge/acp/cancel"
	listMethod   = "bridge/acp/list"
	// UpdateMethod is the notification of an Update.
	UpdateMethod = "bridge/acp/update"
)

// Methods are the requests that a client may send.
var Methods = []string{cancelMethod, listMethod, sendMethod, spawnMethod}

// Feature is a bridge.Feature. It must come before the features that apply a policy to requests.
type Feature struct {
	agents *Agents
	known  func() bool
	depth  int
	// sandboxed reports whether a Codex thread has a sandbox, if that is known.
	sandboxed func(thread string) (sandboxed, known bool)
}

// NewFeature returns a Feature. known reports whether the client knows the bridge, and sandboxed
// whether a Codex thread runs in a sandbox. depth is the number of bridges above this one.
func NewFeature(a *Agents, known func() bool, sandboxed func(string) (sandboxed, known bool), depth int) *Feature {
	return &Feature{agents: a, known: known, sandboxed: sandboxed, depth: depth}
}

// Routes implements bridge.Feature.
func (f *Feature) Routes() []bridge.Route {
	routes := []bridge.Route{}
	for method, answer := range map[string]func(context.Context, json.RawMessage) (any, error){
		spawnMethod: f.spawn, sendMethod: f.send, cancelMethod: f.cancel, listMethod: f.list,
	} {
		routes = append(routes, bridge.Route{From: bridge.Client, Method: method, Why: "answered here: agents beside the conversation", HandleClient: f.handler(answer)})
	}
	slices.SortFunc(routes, func(a, b bridge.Route) int { return slices.Index(Methods, a.Method) - slices.Index(Methods, b.Method) })
	return routes
}

// Stage implements bridge.Feature.
func (*Feature) Stage() bridge.Stage { return bridge.BeforeGuard }

// handler returns the handler of a bridge method. answer runs in its own goroutine.
func (f *Feature) handler(answer func(context.Context, json.RawMessage) (any, error)) func(context.Context, *bridge.ClientMessage) *rpc.Error {
	return func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
		if !f.known() || call.Kind != rpc.Request {
			return nil
		}
		params, id := json.RawMessage(bytes.Clone(call.Params.Raw())), call.ID.Clone()
		method := call.Method
		call.HandleAsync(func(ctx context.Context, request *bridge.AsyncRequest) {
			result, err := answer(ctx, params)
			if err != nil {
				request.Reply(rpc.EncodeError(id, rpc.Errorf(rpc.CodeInvalidParams, "%s: %v", method, err)))
				return
			}
			raw, err := json.Marshal(result)
			if err != nil {
				panic(err) // the bridge's own values always have a JSON form
			}
			request.Reply(rpc.EncodeResult(id, raw))
		})
		return nil
	}
}

// read decodes params strictly: a member that differs only in case from a parameter is another one, since
// the guard reads it so.
func read(params json.RawMessage, into any) error {
	if len(params) == 0 {
		return nil
	}
	doc, err := rpc.ParseValue(params)
	if err != nil {
		return err
	}
	for name := range doc.Root().Members() {
		if !slices.Contains(parameters, name) {
			return fmt.Errorf("there is no parameter %q", name)
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(params))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

func (f *Feature) spawn(ctx context.Context, params json.RawMessage) (any, error) {
	var p struct {
		Request
		Session string `json:"sessionKey"` // the session of the requester
		Thread  string `json:"threadId"`   // the Codex thread of the requester, if any
	}
	if err := read(params, &p); err != nil {
		return nil, err
	}
	who := Requester{Session: p.Session, Depth: f.depth}
	if p.Thread != "" {
		sandboxed, known := f.sandboxed(p.Thread)
		who.Sandboxed, who.Unknown = sandboxed, !known
	}
	return f.agents.Spawn(ctx, p.Request, who), nil
}

// parameters are the names of all parameters, of whatever method.
var parameters = []string{
	"agentId", "childSessionKey", "close", "cwd", "idempotencyKey", "label", "mode", "resumeSessionId", "sandbox", "sessionKey", "streamTo", "task",
	"text", "thread", "threadId",
}

type childParams struct {
	Child string `json:"childSessionKey"`
	Text  string `json:"text,omitempty"`
	Close bool   `json:"close,omitempty"`
}

func (f *Feature) send(_ context.Context, params json.RawMessage) (any, error) {
	var p childParams
	if err := read(params, &p); err != nil {
		return nil, err
	}
	run, err := f.agents.Send(p.Child, p.Text)
	if err != nil {
		return nil, err
	}
	return map[string]string{"runId": run}, nil
}

func (f *Feature) cancel(ctx context.Context, params json.RawMessage) (any, error) {
	var p childParams
	if err := read(params, &p); err != nil {
		return nil, err
	}
	end := f.agents.Cancel
	if p.Close {
		end = f.agents.End
	}
	if err := end(ctx, p.Child); err != nil {
		return nil, err
	}
	return struct{}{}, nil
}

func (f *Feature) list(context.Context, json.RawMessage) (any, error) {
	s := f.agents.o.Settings()
	return map[string]any{"enabled": s.Enabled, "agents": slices.Sorted(maps.Keys(s.Agents)), "children": f.agents.List()}, nil
}
