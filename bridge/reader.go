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
	p      *Proxy
	ctx    context.Context
	source rpc.Source
	deep   bool // there are routes that look at the parameters
	shared bool // a message may be handled while others are read
	watch  *watch
}

// fromClient carries the client's messages to Codex.
func (p *Proxy) fromClient(ctx context.Context) {
	source, sink := rpc.Recognise(p.o.In, p.listen, p.o.MaxMessage)
	p.out = p.tapped(sink)
	close(p.ready)
	r := &reader{p: p, ctx: ctx, source: source, shared: len(p.o.Features) > 0}
	r.deep = len(p.routes[Client].named)+len(p.routes[Client].other) > 0
	r.watch = newWatch(r.read)
	r.read()
}

// read reads until the client's input ends, or another goroutine reads on.
func (r *reader) read() {
	p := r.p
	parser := new(rpc.Parser)
	for {
		line, err := r.source.Next()
		var refused *rpc.RefusedLine
		if err == nil {
			if r.shared && len(line) <= rpc.MaxReused {
				line = bytes.Clone(line)
			}
			var m *rpc.Message
			if m, err = parser.Message(line, r.deep); err == nil {
				kept, replaced := r.receive(m)
				if replaced {
					return
				}
				if kept || len(line) > rpc.MaxReused {
					parser = new(rpc.Parser) // it holds the message
				}
				continue
			}
		}
		if errors.As(err, &refused) {
			p.o.Log.Warn("refused a line of the client", "error", refused.Err.Message)
			p.say(refused.ID, rpc.ReplyError(refused.ID, refused.Err))
			continue
		}
		if !errors.Is(err, io.EOF) {
			p.o.Log.Error("the client can't be read any more", "error", err)
		}
		close(p.left)
		return
	}
}

// receive handles one message of the client, or has it wait. kept reports that the message
// is in use still, replaced that another goroutine reads.
func (r *reader) receive(m *rpc.Message) (kept, replaced bool) {
	p := r.p
	if p.o.Tap != nil {
		p.o.Tap.Heard(Client, m.Bytes())
	}
	call := &Call{Message: m, Line: m.Bytes()}
	key := m.ID.Key()
	if m.Method != "" {
		if p.state.questions.ids.made(key) || p.state.requests.ids.made(key) {
			p.refuse(call, rpc.Errorf(rpc.CodeInvalidRequest, "ids that begin as %s are the bridge's own; use another", m.ID.Raw()))
			return false, false
		}
		routes := active(p.routes[Client].of(m.Method))
		if !r.deep || len(routes) == 0 && p.state.isIdle() {
			p.handle(r.ctx, call, routes)
			return false, false
		}
		at := p.placeOf(m)
		if len(routes) == 0 && !at.control {
			at = place{ordered: true} // no feature may change the order
		}
		return r.takeTurn(at, call, func() { p.handle(r.ctx, call, routes) })
	}
	question, ok := p.state.takeAnswered(key)
	unasked := active(p.routes[Client].named[Unasked])
	switch {
	case ok && question.response != nil:
		p.answered(question, m)
	case ok && len(question.handlers) > 0:
		return r.takeTurn(place{control: true, must: true}, call, func() {
			reply := &Reply{Message: m, Line: m.Bytes()}
			for _, f := range question.handlers {
				f(reply)
			}
			call.Line = reply.Line
			p.handle(r.ctx, call, nil)
		})
	case ok || len(unasked) == 0:
		p.handle(r.ctx, call, nil)
	default:
		return r.takeTurn(place{lane: answersLane}, call, func() { p.handle(r.ctx, call, unasked) })
	}
	return false, false
}

// States of a message that the reading goroutine handles.
const (
	handling   = iota // another goroutine may read on
	held              // it may not: all that could be done now is to wait for the same side
	handedOver        // it does
)

// takeTurn has a message handled in its place among the others: at once, or when its turn
// comes.
func (r *reader) takeTurn(at place, call *Call, handle func()) (kept, replaced bool) {
	p := r.p
	t := &turn{place: at, bytes: len(call.Bytes())}
	t.start = func() {
		defer p.state.end(t)
		handle()
	}
	if !at.control {
		p.state.toCodex.unblocked() // while Codex does not read nothing that waits could go on
	}
	now, refused := p.state.begin(t, p.maxWaiting())
	if refused != nil {
		p.refuse(call, refused)
		return false, false
	}
	if !now {
		return true, false
	}
	state := new(atomic.Int32)
	call.reading = state
	r.watch.begin(state)
	t.start()
	r.watch.end(state)
	replaced = !state.CompareAndSwap(handling, held) && state.Load() == handedOver
	return false, replaced
}

// watch has another goroutine read on while the handling of a message takes long: longer
// than handover, at most twice that. One timer serves many messages, since setting one for
// each wakes a thread of the scheduler, which takes longer than to handle the message.
type watch struct {
	read  func()
	timer *time.Timer
	armed atomic.Bool                  // the timer is set, or its function runs
	now   atomic.Pointer[atomic.Int32] // state of the message in hand
	seen  *atomic.Int32                // the message in hand when the timer fired last; belongs to the timer's function
}

// handover is how long handling a message may take before another goroutine reads on.
const handover = time.Millisecond

func newWatch(read func()) *watch {
	w := &watch{read: read}
	w.timer = time.AfterFunc(time.Hour, w.fired)
	w.timer.Stop()
	return w
}

// begin is called by the reading goroutine before it handles a message, end afterwards.
func (w *watch) begin(state *atomic.Int32) {
	w.now.Store(state)
	w.arm()
}

func (w *watch) end(state *atomic.Int32) { w.now.CompareAndSwap(state, nil) }

func (w *watch) arm() {
	if w.armed.CompareAndSwap(false, true) {
		w.timer.Reset(handover)
	}
}

// fired looks at the message in hand. If it is the one of the last time, this goroutine
// reads on.
func (w *watch) fired() {
	state := w.now.Load()
	if state != nil && state != w.seen {
		w.seen = state
		w.timer.Reset(handover)
		return
	}
	replaces := state != nil && state.CompareAndSwap(handling, handedOver)
	w.end(state)
	w.seen = nil
	w.armed.Store(false)
	if replaces {
		w.read()
	} else if w.now.Load() != nil {
		w.arm() // it began in between
	}
}

// hold keeps the reading goroutine, if that handles the message, from being replaced.
func (c *Call) hold() {
	if c.reading != nil {
		c.reading.CompareAndSwap(handling, held)
	}
}

// handle takes a message through its routes, and answers it where they or a refusal do.
func (p *Proxy) handle(ctx context.Context, call *Call, routes []placed) {
	if err := p.through(ctx, call, routes); err != nil {
		p.refuse(call, err)
	} else if call.reply != nil {
		p.say(call.ID, call.reply)
	}
}
