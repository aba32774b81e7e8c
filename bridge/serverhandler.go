package bridge

import (
	"context"
	"fmt"

	"codex-bridge.example/rpc"
)

// serverHandler is the Filter and Handler of the Pump.
type serverHandler struct {
	p   *Proxy
	ctx context.Context
	out rpc.Sink
}

// WantsMethod implements rpc.Filter.
func (t *serverHandler) WantsMethod(method []byte, request bool) bool {
	routes := &t.p.routes[Codex]
	named, ok := routes.named[string(method)] // does not allocate
	if !ok {
		return request && len(routes.other) > 0
	}
	if request {
		return true
	}
	for i := range named {
		if named[i].isWanted() {
			return true
		}
	}
	return false
}

// WantsLine implements rpc.LineHandler.
func (t *serverHandler) WantsLine(method, line []byte) rpc.Want {
	named := t.p.routes[Codex].named[string(method)] // does not allocate
	want := rpc.Forward
	for i := range named {
		if !named[i].isWanted() || named[i].Match != nil && !named[i].Match(line) {
			continue
		}
		if !named[i].ReadOnly {
			return rpc.ToHandler
		}
		want = rpc.ReadOnly
	}
	return want
}

// Read implements rpc.LineHandler.
func (t *serverHandler) Read(e *rpc.Envelope) {
	t.p.state.beginReading()
	msg := &ServerMessage{Envelope: e, Line: e.Root().Raw(), p: t.p}
	for _, route := range t.p.routes[Codex].named[e.Method] {
		if route.ReadOnly {
			route.HandleServer(t.ctx, msg)
		}
	}
}

// Written implements rpc.LineHandler.
func (t *serverHandler) Written() { t.p.state.endDelivery() }

// MayWantResponse implements rpc.Filter.
func (t *serverHandler) MayWantResponse() bool { return t.p.state.mayWantResponse() }

// WantsResponse implements rpc.Filter.
func (t *serverHandler) WantsResponse(key []byte) bool { return t.p.state.wantsResponse(key) }

// Handle implements rpc.Handler.
func (t *serverHandler) Handle(line []byte) {
	t.p.state.beginDelivery()
	defer t.p.state.endDelivery()
	if t.p.opts.Observer != nil {
		t.p.opts.Observer.Received(Codex, line)
	}
	e, err := rpc.ParseEnvelope(line)
	if err != nil { // its first bytes are wanted, but it is not a message
		t.drop(line, rpc.CodeUpstream, fmt.Sprintf("can't be read: %v", err), "")
		return
	}
	if e.Method == "" {
		t.handleResponse(e.ID, e, line)
		return
	}
	if e.ID.IsValid() && t.declineExcess(e) {
		return
	}
	msg := &ServerMessage{Envelope: e, Line: line, p: t.p}
	for _, route := range t.p.routes[Codex].forMethod(e.Method) {
		if route.Method == Other && !e.ID.IsValid() {
			continue
		}
		if route.HandleServer(t.ctx, msg); msg.reply != nil || msg.withheld || msg.ignored != nil {
			break // a handler that sets only Line does not stop the others
		}
	}
	if e.ID.IsValid() {
		if len(msg.onResponse) > 0 {
			*e = *e.Clone()
		}
		t.p.register(msg)
	}
	if msg.Line != nil {
		t.out.WriteMessage(msg.Line)
	}
}

// declineExcess declines a request of Codex if too many have no response, and reports whether it has. The
// features don't see such a request, so that they keep nothing of it.
func (t *serverHandler) declineExcess(e *rpc.Envelope) bool {
	refused, first := t.p.state.refuseExcess()
	if !refused {
		return false
	}
	if first {
		t.p.opts.Log.Warn("too many requests of codex have no response of the client; further ones are declined until it answers", "method", e.Method, "max", maxServerRequests)
	}
	var result []byte
	if t.p.opts.DeclineExcess != nil {
		result = t.p.opts.DeclineExcess(t.ctx, e, first)
	}
	if result == nil {
		t.p.replyToCodex(rpc.EncodeError(e.ID, rpc.Errorf(rpc.CodeOverloaded, "%s: too many requests have no response of the client", e.Method)))
	} else {
		t.p.replyToCodex(rpc.EncodeResult(e.ID, result))
	}
	return true
}

// HandleTooLong implements rpc.Handler. A part of a message can't be decided.
func (t *serverHandler) HandleTooLong(start []byte) {
	t.drop(start, rpc.CodeTooLarge, fmt.Sprintf("is longer than %d bytes", t.p.opts.MaxMessage), "; ask for less at once, or raise codex.max_message")
}

// drop handles a wanted message that is too long or can't be parsed. Its request, of the client
// or of Codex, gets an error.
func (t *serverHandler) drop(start []byte, code rpc.Code, reason, hint string) {
	id, method := rpc.ParsePrefix(start)
	switch {
	case method == "" && id.IsValid():
		t.handleResponse(id, nil, rpc.EncodeError(id, rpc.Errorf(code, "codex's answer %s%s", reason, hint)))
		return
	case id.IsValid():
		t.p.replyToCodex(rpc.EncodeError(id, rpc.Errorf(code, "%s %s", method, reason)))
	}
	t.p.opts.Log.Error("a message of codex was dropped: it "+reason, "method", method)
}

func (t *serverHandler) handleResponse(id rpc.ID, e *rpc.Envelope, line []byte) {
	w := t.p.state.dropRequest(id.Key())
	if w != nil && w.response != nil {
		if e != nil {
			e = e.Clone() // used after the line
		}
		w.response <- e
		return
	}
	response := &ServerResponse{Envelope: e, Line: line}
	if w != nil {
		response.runHandlers(w.handlers)
	}
	if !response.withheld && !t.p.state.deliverReply(id, response.Line) {
		t.out.WriteMessage(response.Line)
	}
	for _, f := range response.afterSent {
		f()
	}
}
