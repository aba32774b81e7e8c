package bridge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"codex-bridge/rpc"
)

// reader reads the client's messages. One goroutine at a time does, and handles a message
// whose turn it is at once. If that takes long another goroutine reads on, so that a
// message which has to wait does not hold up those that need not.
type reader struct {
	p        *Proxy
	ctx      context.Context
	source   rpc.Source
	deep     bool // there are routes that look at the parameters
	shared   bool // a message may be handled while others are read
	handover *handoverTimer
}

// fromClient carries the client's messages to Codex.
func (p *Proxy) fromClient(ctx context.Context) {
	source, sink := rpc.DetectFraming(p.opts.In, p.clientOut, p.opts.MaxMessage)
	p.out = p.observed(sink)
	close(p.ready)
	r := &reader{p: p, ctx: ctx, source: source, shared: len(p.opts.Features) > 0}
	r.deep = len(p.routes[Client].named)+len(p.routes[Client].other) > 0
	r.handover = newHandoverTimer(r.read)
	r.read()
}

// read reads until the client's input ends, or another goroutine reads on.
func (r *reader) read() {
	p := r.p
	parser := new(rpc.Parser)
	for {
		line, err := r.source.Next()
		var refused *rpc.MessageError
		if err == nil {
			if r.shared && len(line) <= rpc.MaxReusedSize {
				line = bytes.Clone(line)
			}
			var m *rpc.Message
			if m, err = parser.Message(line, r.deep); err == nil {
				kept, replaced := r.receive(m)
				if replaced {
					return
				}
				if kept || len(line) > rpc.MaxReusedSize {
					parser = new(rpc.Parser) // it holds the message
				}
				continue
			}
		}
		if errors.As(err, &refused) {
			p.opts.Log.Warn("refused a line of the client", "error", refused.Err.Message)
			p.sendResponse(refused.ID, rpc.EncodeError(refused.ID, refused.Err))
			continue
		}
		if !errors.Is(err, io.EOF) {
			p.opts.Log.Error("the client can't be read any more", "error", err)
		}
		close(p.clientDone)
		return
	}
}

// receive handles one message of the client, or has it wait. kept reports that the message
// is in use still, replaced that another goroutine reads.
func (r *reader) receive(m *rpc.Message) (kept, replaced bool) {
	p := r.p
	if p.opts.Observer != nil {
		p.opts.Observer.Received(Client, m.Bytes())
	}
	call := &ClientMessage{Message: m, Line: m.Bytes()}
	key := m.ID.Key()
	if m.Method != "" {
		if p.state.serverRequests.ids.generated(key) || p.state.requests.ids.generated(key) {
			p.reject(call, rpc.Errorf(rpc.CodeInvalidRequest, "ids that begin as %s are the bridge's own; use another", m.ID.Raw()))
			return false, false
		}
		routes := activeRoutes(p.routes[Client].forMethod(m.Method))
		if !r.deep || len(routes) == 0 && p.state.isIdle() {
			p.handle(r.ctx, call, routes)
			return false, false
		}
		at := p.orderOf(m)
		if len(routes) == 0 && !at.immediate {
			at = order{exclusive: true} // no feature may change the order
		}
		return r.takeTurn(at, call, func() { p.handle(r.ctx, call, routes) })
	}
	question, ok := p.state.removeAnswered(key)
	unasked := activeRoutes(p.routes[Client].named[Unsolicited])
	switch {
	case ok && question.response != nil:
		p.deliverClientResponse(question, m)
	case ok && len(question.handlers) > 0:
		return r.takeTurn(order{immediate: true, unbounded: true}, call, func() {
			reply := &ClientResponse{Message: m, Line: m.Bytes()}
			for _, f := range question.handlers {
				f(reply)
			}
			call.Line = reply.Line
			p.handle(r.ctx, call, nil)
		})
	case ok || len(unasked) == 0:
		p.handle(r.ctx, call, nil)
	default:
		return r.takeTurn(order{lane: unsolicitedLane}, call, func() { p.handle(r.ctx, call, unasked) })
	}
	return false, false
}

// States of a message that the reading goroutine handles.
const (
	handling   = iota // another goroutine may read on
	blocked           // it may not: all that could be done now is to wait for the same side
	handedOver        // it does
)

// takeTurn has a message handled in its place among the others: at once, or when its turn
// comes.
func (r *reader) takeTurn(at order, call *ClientMessage, handle func()) (kept, replaced bool) {
	p := r.p
	t := &turn{order: at, bytes: len(call.Bytes())}
	t.start = func() {
		defer p.state.endTurn(t)
		handle()
	}
	if !at.immediate {
		p.state.toCodex.awaitWrite() // while Codex does not read nothing that waits could go on
	}
	now, refused := p.state.beginTurn(t, p.maxWaiting())
	if refused != nil {
		p.reject(call, refused)
		return false, false
	}
	if !now {
		return true, false
	}
	state := new(atomic.Int32)
	call.reading = state
	r.handover.begin(state)
	t.start()
	r.handover.end(state)
	replaced = !state.CompareAndSwap(handling, blocked) && state.Load() == handedOver
	return false, replaced
}

// watch has another goroutine read on while the handling of a message takes long: longer
// than handover, at most twice that. One timer serves many messages, since setting one for
// each wakes a thread of the scheduler, which takes longer than to handle the message.
type handoverTimer struct {
	read    func()
	timer   *time.Timer
	armed   atomic.Bool                  // the timer is set, or its function runs
	current atomic.Pointer[atomic.Int32] // state of the message in hand
	seen    *atomic.Int32                // the message in hand when the timer fired last; belongs to the timer's function
}

// handover is how long handling a message may take before another goroutine reads on.
const handoverAfter = time.Millisecond

func newHandoverTimer(read func()) *handoverTimer {
	w := &handoverTimer{read: read}
	w.timer = time.AfterFunc(time.Hour, w.fired)
	w.timer.Stop()
	return w
}

// begin is called by the reading goroutine before it handles a message, end afterwards.
func (w *handoverTimer) begin(state *atomic.Int32) {
	w.current.Store(state)
	w.arm()
}

func (w *handoverTimer) end(state *atomic.Int32) { w.current.CompareAndSwap(state, nil) }

func (w *handoverTimer) arm() {
	if w.armed.CompareAndSwap(false, true) {
		w.timer.Reset(handoverAfter)
	}
}

// fired looks at the message in hand. If it is the one of the last time, this goroutine
// reads on.
func (w *handoverTimer) fired() {
	state := w.current.Load()
	if state != nil && state != w.seen {
		w.seen = state
		w.timer.Reset(handoverAfter)
		return
	}
	replaces := state != nil && state.CompareAndSwap(handling, handedOver)
	w.end(state)
	w.seen = nil
	w.armed.Store(false)
	if replaces {
		w.read()
	} else if w.current.Load() != nil {
		w.arm() // it began in between
	}
}

// hold keeps the reading goroutine, if that handles the message, from being replaced.
func (c *ClientMessage) keepReading() {
	if c.reading != nil {
		c.reading.CompareAndSwap(handling, blocked)
	}
}

// handle takes a message through its routes, and answers it where they or a refusal do.
func (p *Proxy) handle(ctx context.Context, call *ClientMessage, routes []featureRoute) {
	if err := p.route(ctx, call, routes); err != nil {
		p.reject(call, err)
	} else if call.reply != nil {
		p.sendResponse(call.ID, call.reply)
	}
}
