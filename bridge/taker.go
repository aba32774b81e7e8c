package bridge

import (
	"context"
	"fmt"

	"codex-bridge/rpc"
)

// taker is the proxy as the pump sees it.
type taker struct {
	p   *Proxy
	ctx context.Context
	out rpc.Sink
}

// WantsMethod implements rpc.Sieve.
func (t *taker) WantsMethod(method []byte, request bool) bool {
	routes := &t.p.routes[Codex]
	named, ok := routes.named[string(method)] // does not allocate
	if !ok {
		return request && len(routes.other) > 0
	}
	if request {
		return true
	}
	for i := range named {
		if named[i].wanted() {
			return true
		}
	}
	return false
}

// WantsLine implements rpc.LineSieve.
func (t *taker) WantsLine(method, line []byte) bool {
	named := t.p.routes[Codex].named[string(method)] // does not allocate
	for i := range named {
		if named[i].wanted() && (named[i].If == nil || named[i].If(line)) {
			return true
		}
	}
	return false
}

// WantsAnswers implements rpc.Sieve.
func (t *taker) WantsAnswers() bool { return t.p.state.mayWantAnswer() }

// WantsAnswer implements rpc.Sieve.
func (t *taker) WantsAnswer(key []byte) bool { return t.p.state.wantsAnswer(key) }

// Take implements rpc.Taker.
func (t *taker) Take(line []byte) {
	t.p.state.take()
	defer t.p.state.taken()
	if t.p.o.Tap != nil {
		t.p.o.Tap.Heard(Codex, line)
	}
	e, err := rpc.Open(line)
	if err != nil { // wanted by its first bytes, and yet no message
		t.lost(line, rpc.CodeUpstream, fmt.Sprintf("can't be read: %v", err), "")
		return
	}
	if e.Method == "" {
		t.answer(e.ID, e, line)
		return
	}
	said := &Said{Envelope: e, Line: line, p: t.p}
	for _, route := range t.p.routes[Codex].of(e.Method) {
		if route.Method == Other && !e.ID.IsValid() {
			continue
		}
		if route.Said(t.ctx, said); said.reply != nil || said.held {
			break // who only wants to know is told also what the client does not hear
		}
	}
	if e.ID.IsValid() {
		if len(said.onReply) > 0 {
			*e = *e.Clone()
		}
		t.p.register(said)
	}
	if said.Line != nil {
		t.out.Message(said.Line)
	}
}

// TakeTooLong implements rpc.Taker: nobody can decide on half a message.
func (t *taker) TakeTooLong(start []byte) {
	t.lost(start, rpc.CodeTooLarge, fmt.Sprintf("is longer than %d bytes", t.p.o.MaxMessage), "; ask for less at once, or raise codex.max_message")
}

// lost is for a message that is wanted and can't be had. A request of the client gets an
// error in place of its answer, and so does one of codex.
func (t *taker) lost(start []byte, code rpc.Code, why, mend string) {
	id, method := rpc.Start(start)
	switch {
	case method == "" && id.IsValid():
		t.answer(id, nil, rpc.ReplyError(id, rpc.Errorf(code, "codex's answer %s%s", why, mend)))
		return
	case id.IsValid():
		t.p.reply(rpc.ReplyError(id, rpc.Errorf(code, "%s %s", method, why)))
	}
	t.p.o.Log.Error("a message of codex was dropped: it "+why, "method", method)
}

func (t *taker) answer(id rpc.ID, e *rpc.Envelope, line []byte) {
	w := t.p.state.dropRequest(id.Key())
	if w != nil && w.response != nil {
		if e != nil {
			e = e.Clone() // outlives the line
		}
		w.response <- e
		return
	}
	answer := &Answer{Envelope: e, Line: line}
	if w != nil {
		answer.handle(w.handlers)
	}
	if !answer.kept && !t.p.state.deliverReply(id, answer.Line) {
		t.out.Message(answer.Line)
	}
	for _, f := range answer.after {
		f()
	}
}
