package bridge

import (
	"context"
	"fmt"

	"codex-bridge/rpc"
)

// taker is the proxy as the pump sees it.
type serverHandler struct {
	p   *Proxy
	ctx context.Context
	out rpc.Sink
}

// WantsMethod implements rpc.Sieve.
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

// WantsLine implements rpc.LineSieve.
func (t *serverHandler) WantsLine(method, line []byte) bool {
	named := t.p.routes[Codex].named[string(method)] // does not allocate
	for i := range named {
		if named[i].isWanted() && (named[i].Match == nil || named[i].Match(line)) {
			return true
		}
	}
	return false
}

// WantsAnswers implements rpc.Sieve.
func (t *serverHandler) MayWantResponse() bool { return t.p.state.mayWantResponse() }

// WantsAnswer implements rpc.Sieve.
func (t *serverHandler) WantsResponse(key []byte) bool { return t.p.state.wantsResponse(key) }

// Take implements rpc.Taker.
func (t *serverHandler) Handle(line []byte) {
	t.p.state.beginDelivery()
	defer t.p.state.endDelivery()
	if t.p.opts.Observer != nil {
		t.p.opts.Observer.Received(Codex, line)
	}
	e, err := rpc.ParseEnvelope(line)
	if err != nil { // wanted by its first bytes, and yet no message
		t.drop(line, rpc.CodeUpstream, fmt.Sprintf("can't be read: %v", err), "")
		return
	}
	if e.Method == "" {
		t.handleResponse(e.ID, e, line)
		return
	}
	said := &ServerMessage{Envelope: e, Line: line, p: t.p}
	for _, route := range t.p.routes[Codex].forMethod(e.Method) {
		if route.Method == Other && !e.ID.IsValid() {
			continue
		}
		if route.HandleServer(t.ctx, said); said.reply != nil || said.withheld {
			break // who only wants to know is told also what the client does not hear
		}
	}
	if e.ID.IsValid() {
		if len(said.onResponse) > 0 {
			*e = *e.Clone()
		}
		t.p.register(said)
	}
	if said.Line != nil {
		t.out.WriteMessage(said.Line)
	}
}

// TakeTooLong implements rpc.Taker: nobody can decide on half a message.
func (t *serverHandler) HandleTooLong(start []byte) {
	t.drop(start, rpc.CodeTooLarge, fmt.Sprintf("is longer than %d bytes", t.p.opts.MaxMessage), "; ask for less at once, or raise codex.max_message")
}

// lost is for a message that is wanted and can't be had. A request of the client gets an
// error in place of its answer, and so does one of codex.
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
			e = e.Clone() // outlives the line
		}
		w.response <- e
		return
	}
	answer := &ServerResponse{Envelope: e, Line: line}
	if w != nil {
		answer.runHandlers(w.handlers)
	}
	if !answer.withheld && !t.p.state.deliverReply(id, answer.Line) {
		t.out.WriteMessage(answer.Line)
	}
	for _, f := range answer.afterSent {
		f()
	}
}
