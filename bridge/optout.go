package bridge

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"

	"codex-bridge/rpc"
)

// optOuts is the one reader of capabilities.optOutNotificationMethods, by which a client
// has Codex send a notification to nobody. What a feature needs it takes off the list, and
// keeps from the client itself. It is the last of the features.
type optOuts struct {
	required map[string][]func() bool // by notification: when its routes need it

	// What holds since Codex has accepted an initialize; nil: nothing was opted out of.
	active atomic.Pointer[optedOut]
}

// optedOut is the list of one initialize.
type optedOut struct {
	all        map[string]bool // the client does not want them
	withheld   map[string]bool // of these, Codex sends them all the same
	unreadable bool            // the list can't be read: anything may be on it
}

func newOptOuts(features []Feature, enforces func() bool) *optOuts {
	o := &optOuts{required: make(map[string][]func() bool)}
	for _, f := range features {
		for _, r := range f.Routes() {
			if r.From != Codex || r.Method == Other {
				continue
			}
			needed := r.Required
			if needed == nil {
				needed = enforces
			}
			o.required[r.Method] = append(o.required[r.Method], needed)
		}
	}
	return o
}

// Routes implements Feature.
func (o *optOuts) Routes() []Route {
	routes := []Route{{From: Client, Method: "initialize", Why: "what a feature needs can't be opted out of", HandleClient: o.initialize}}
	for method := range o.required {
		routes = append(routes, Route{
			From: Codex, Method: method, Why: "kept from a client that has opted out of it", HandleServer: o.withhold,
			When: func() bool { now := o.active.Load(); return now != nil && now.withheld[method] },
		})
	}
	return routes
}

func (o *optOuts) isRequired(method string) bool {
	return slices.ContainsFunc(o.required[method], func(needed func() bool) bool { return needed() })
}

// initialize takes what is needed off the client's list.
func (o *optOuts) initialize(_ context.Context, call *ClientMessage) *rpc.Error {
	m, failed := rpc.ParseMessage(call.Line) // as the features before have left it
	if failed != nil {
		return rpc.Errorf(rpc.CodeInternal, "initialize as it was rewritten can't be read: %v", failed)
	}
	out, kept := o.read(m)
	if out == nil || call.Kind != rpc.Request { // Codex does not act on a notification of that name
		return nil
	}
	if len(out.withheld) > 0 {
		list, err := json.Marshal(kept)
		if err != nil {
			return rpc.Errorf(rpc.CodeInternal, "initialize with fewer optOutNotificationMethods: %v", err)
		}
		patch := rpc.NewPatch(m)
		patch.Set(m.Params.Get("capabilities"), optOutKey, list)
		call.Line = patch.Bytes()
	}
	call.OnResponse(func(a *ServerResponse) {
		if a.Envelope != nil && !a.Root().Get("error").Exists() {
			o.active.Store(out)
		}
	})
	return nil
}

const optOutKey = "optOutNotificationMethods"

// read reads the list of an initialize, and what of it is left for Codex; nil: there is
// no list.
func (o *optOuts) read(m *rpc.Message) (*optedOut, []json.RawMessage) {
	capabilities := m.Params.Get("capabilities")
	list := capabilities.Get(optOutKey)
	switch {
	case m.Truncated() || capabilities.Kind() > rpc.Null && capabilities.Kind() != rpc.Object:
		return &optedOut{unreadable: true}, nil
	case list.Kind() <= rpc.Null:
		return nil, nil
	case list.Kind() != rpc.Array:
		return &optedOut{unreadable: true}, nil
	}
	out := &optedOut{all: make(map[string]bool), withheld: make(map[string]bool)}
	kept := []json.RawMessage{}
	for element := range list.Elements() {
		method, ok := element.Text()
		if ok {
			out.all[method] = true
		}
		if ok && o.isRequired(method) {
			out.withheld[method] = true
			continue
		}
		kept = append(kept, element.Raw())
	}
	return out, kept
}

// withhold keeps a notification from the client.
func (o *optOuts) withhold(_ context.Context, said *ServerMessage) {
	if now := o.active.Load(); now != nil && now.withheld[said.Method] {
		said.Line = nil
	}
}

// OptedOut reports whether the client has opted out of a notification of Codex.
func (p *Conn) OptedOut(method string) bool {
	now := p.p.optOuts.active.Load()
	return now != nil && now.all[method]
}

// Silenced returns the first of some notifications that Codex was told not to send; "" if
// there is none. No feature needed them when the client opted out of them.
func (p *Conn) DisabledNotification(methods []string) string {
	now := p.p.optOuts.active.Load()
	if now == nil {
		return ""
	}
	if now.unreadable {
		return optOutKey + " that can't be read"
	}
	for _, method := range methods {
		if now.all[method] && !now.withheld[method] {
			return method
		}
	}
	return ""
}
