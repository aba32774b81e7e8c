package bridge

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"

	"codex-bridge.example/rpc"
)

// optOuts is the only reader of capabilities.optOutNotificationMethods, the list of
// notifications that a client disables. It removes those that features require from the
// list, and withholds them from the client itself. It is the last feature.
type optOuts struct {
	required map[string][]func() bool // by notification: Route.Required of its routes

	// active is the list that Codex has accepted; nil if there is none.
	active atomic.Pointer[optedOut]
}

// optedOut is the list in one initialize.
type optedOut struct {
	all        map[string]bool // all notifications in the list
	withheld   map[string]bool // those removed from the list, and withheld by the bridge
	unreadable bool            // the list can't be read, so it may contain any notification
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

// Stage implements Feature.
func (*optOuts) Stage() Stage { return Last }

func (o *optOuts) isRequired(method string) bool {
	return slices.ContainsFunc(o.required[method], func(needed func() bool) bool { return needed() })
}

// initialize removes required notifications from the client's list.
func (o *optOuts) initialize(_ context.Context, msg *ClientMessage) *rpc.Error {
	m, failed := rpc.ParseMessage(msg.Line) // earlier features may have changed it
	if failed != nil {
		return rpc.Errorf(rpc.CodeInternal, "the rewritten initialize can't be parsed: %v", failed)
	}
	out, kept := o.read(m)
	if out == nil || msg.Kind != rpc.Request { // Codex ignores initialize as a notification
		return nil
	}
	if len(out.withheld) > 0 {
		list, err := json.Marshal(kept)
		if err != nil {
			return rpc.Errorf(rpc.CodeInternal, "initialize with fewer optOutNotificationMethods: %v", err)
		}
		patch := rpc.NewPatch(m)
		patch.Set(m.Params.Get("capabilities"), optOutKey, list)
		msg.Line = patch.Bytes()
	}
	msg.OnResponse(func(a *ServerResponse) {
		if a.Envelope != nil && !a.Root().Get("error").Exists() {
			o.active.Store(out)
		}
	})
	return nil
}

const optOutKey = "optOutNotificationMethods"

// read returns the list in an initialize and the part of it that Codex gets. It returns nil if
// there is no list.
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

// withhold withholds a notification from the client.
func (o *optOuts) withhold(_ context.Context, msg *ServerMessage) {
	if now := o.active.Load(); now != nil && now.withheld[msg.Method] {
		msg.Line = nil
	}
}

// OptedOut reports whether the client has disabled a notification of Codex.
func (p *Conn) OptedOut(method string) bool {
	now := p.p.optOuts.active.Load()
	return now != nil && now.all[method]
}

// DisabledNotification returns the first of the methods that Codex does not send because the
// client disabled it, or "" if there is none. No feature required it at that time.
func (p *Conn) DisabledNotification(methods []string) string {
	now := p.p.optOuts.active.Load()
	if now == nil {
		return ""
	}
	if now.unreadable {
		return optOutKey + " (unreadable)"
	}
	for _, method := range methods {
		if now.all[method] && !now.withheld[method] {
			return method
		}
	}
	return ""
}
