package bridge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"codex-bridge.example/rpc"
)

// reader reads the client's messages, in one goroutine at a time. That goroutine also handles
// a message that need not wait. If that takes long, another goroutine continues to read,
// so that later messages need not wait.
type reader struct {
	p        *Proxy
	ctx      context.Context
	source   rpc.Source
	deep     bool // some route may examine the params
	shared   bool // messages may be handled concurrently
	handover *handoverTimer
}

// fromClient copies the client's messages to Codex.
func (p *Proxy) fromClient(ctx context.Context) {
	var source rpc.Source
	var sink rpc.Sink
	if p.opts.Lines {
		source, sink = rpc.NewLineSource(p.opts.In, p.opts.MaxMessage), rpc.NewLineSink(p.clientOut)
	} else {
		source, sink = rpc.DetectFraming(p.opts.In, p.clientOut, p.opts.MaxMessage)
	}
	p.out = p.observed(sink)
	close(p.ready)
	r := &reader{p: p, ctx: ctx, source: source, shared: len(p.opts.Features) > 0}
	r.deep = len(p.routes[Client].named)+len(p.routes[Client].other) > 0
	r.handover = newHandoverTimer(r.read)
	r.read()
}

// read reads until the end of the client's input, or until another goroutine takes over.
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
					parser = new(rpc.Parser) // the message still uses the old one
				}
				continue
			}
		}
		if line != nil && errors.As(err, &refused) && isNoMessage(line) && !p.opts.Enforces() {
			_ = p.state.toCodex.send(r.ctx, line) // only a request is withdrawn
			continue
		}
		if errors.As(err, &refused) {
			p.opts.Log.Warn("refused a line of the client", "error", refused.Err.Message)
			if !refused.Answers.IsValid() {
				refused.Err = p.logRefused(r.ctx, nil, line, refused.Err)
			}
			p.sendResponse(refused.ID, rpc.EncodeError(refused.ID, refused.Err))
			if r.receiveUnreadable(refused, line) {
				return
			}
			continue
		}
		if !errors.Is(err, io.EOF) {
			p.opts.Log.Error("reading from the client failed", "error", err)
		}
		close(p.clientDone)
		return
	}
}

// isNoMessage reports whether Codex reads no message in a line: it is neither an object nor an array.
// Measured with Codex 0.169: it drops such a line, but one byte that is not UTF-8 ends it.
func isNoMessage(line []byte) bool {
	text := bytes.TrimSpace(line)
	return len(text) > 0 && text[0] != '{' && text[0] != '[' && utf8.Valid(line) && bytes.IndexByte(text, '\n') < 0
}

// receive handles one message of the client, or queues it. kept reports whether the message is
// still in use; replaced, whether another goroutine reads now.
func (r *reader) receive(m *rpc.Message) (kept, replaced bool) {
	p := r.p
	if p.opts.Observer != nil {
		p.opts.Observer.Received(Client, m.Bytes())
	}
	msg := &ClientMessage{Message: m, Line: m.Bytes()}
	key := m.ID.Key()
	if m.Method != "" {
		if p.state.serverRequests.ids.generated(key) || p.state.requests.ids.generated(key) {
			p.reject(msg, p.logRefused(r.ctx, m, m.Bytes(), rpc.Errorf(rpc.CodeInvalidRequest, "id %s has the prefix of the bridge's own ids; use another", m.ID.Raw())))
			return false, false
		}
		routes := activeRoutes(p.routes[Client].forMethod(m.Method))
		if err := m.CheckParams(); err != nil && (len(routes) > 0 || p.opts.Enforces()) {
			p.reject(msg, p.logRefused(r.ctx, m, m.Bytes(), err))
			return false, false
		}
		if !r.deep || len(routes) == 0 && p.state.isIdle() {
			p.handle(r.ctx, msg, routes)
			return false, false
		}
		at := p.orderOf(m)
		if len(routes) == 0 && !at.immediate {
			at = order{exclusive: true} // features must not change the order of other messages
		}
		return r.handleInOrder(at, msg, func() { p.handle(r.ctx, msg, routes) })
	}
	return r.receiveResponse(msg, nil, m.Bytes())
}

// receiveUnreadable handles a response that can't be read, as if the client had sent an error: so the request has an
// end, which is never a yes. Measured with Codex 0.169 and 0.171: it drops most such lines and waits on, but takes
// a result beside an error, and the last of duplicate keys. line is nil if it is too long. replaced is that of receive.
func (r *reader) receiveUnreadable(refused *rpc.MessageError, line []byte) (replaced bool) {
	if !refused.Answers.IsValid() {
		return false
	}
	unreadable := rpc.Errorf(refused.Err.Code, "the client's answer can't be read, so it counts as a refusal: %s", refused.Err.Message)
	m, err := rpc.ParseMessage(append(rpc.EncodeError(refused.Answers, unreadable), '\n'))
	if err != nil {
		r.p.opts.Log.Error("the refusal in place of an unreadable answer can't be read", "error", err)
		return false
	}
	_, replaced = r.receiveResponse(&ClientMessage{Message: m, Line: m.Bytes()}, unreadable, line)
	return replaced
}

// receiveResponse handles a response of the client. unreadable is the error of one that could not be read, and line what
// the client has sent.
func (r *reader) receiveResponse(msg *ClientMessage, unreadable *rpc.Error, line []byte) (kept, replaced bool) {
	p, m := r.p, msg.Message
	request, ok := p.state.removeAnswered(m.ID.Key())
	unsolicited := activeRoutes(p.routes[Client].named[Unsolicited])
	switch {
	case ok && request.ignored != nil:
		request.ignored()
	case ok && request.response != nil:
		p.deliverClientResponse(request, m, unreadable)
	case ok && len(request.handlers) > 0:
		return r.handleInOrder(order{immediate: true, unbounded: true}, msg, func() {
			reply := &ClientResponse{Message: m, Line: m.Bytes(), Received: line, Unreadable: unreadable}
			for _, f := range request.handlers {
				if f(reply); reply.withheld {
					return
				}
			}
			msg.Line = reply.Line
			p.handle(r.ctx, msg, nil)
		})
	case ok || len(unsolicited) == 0:
		p.handle(r.ctx, msg, nil)
	case unreadable != nil: // the client has its error
		_ = p.logRefused(r.ctx, nil, line, unreadable)
	default:
		return r.handleInOrder(order{lane: unsolicitedLane}, msg, func() { p.handle(r.ctx, msg, unsolicited) })
	}
	return false, false
}

// States of the message that the reading goroutine handles.
const (
	handling   = iota // another goroutine may take over
	blocked           // no other goroutine may: it would wait for the same side
	handedOver        // another goroutine has taken over
)

// handleInOrder handles a message at once, or queues it behind earlier ones of its thread.
func (r *reader) handleInOrder(at order, msg *ClientMessage, handle func()) (kept, replaced bool) {
	p := r.p
	t := &entry{order: at, bytes: msg.Size()}
	msg.letReadsPass = func() { p.state.letReadsPass(t) }
	t.start = func() {
		defer p.state.dequeue(t)
		handle()
	}
	if !at.immediate {
		p.state.toCodex.awaitWrite() // while Codex does not read, a queued message could not be sent
	}
	now, refused := p.state.enqueue(t, p.maxWaiting())
	if refused != nil {
		p.reject(msg, refused)
		return false, false
	}
	if !now {
		return true, false
	}
	state := new(atomic.Int32)
	msg.reading = state
	r.handover.begin(state)
	t.start()
	r.handover.end(state)
	replaced = !state.CompareAndSwap(handling, blocked) && state.Load() == handedOver
	return false, replaced
}

// handoverTimer makes another goroutine read while a message is being handled for longer than
// handoverAfter; at most twice as long. It uses one timer for many messages: setting a timer
// wakes a thread of the scheduler, which takes longer than handling a message.
type handoverTimer struct {
	read    func()
	timer   *time.Timer
	armed   atomic.Bool                  // the timer is set, or its function runs
	current atomic.Pointer[atomic.Int32] // state of the message being handled
	seen    *atomic.Int32                // the message when the timer fired last; used only by the timer's function
}

// handoverAfter is how long a message may be handled before another goroutine reads. With 1 ms the
// timer, which wakes threads, took 40 of the 190 µs that codex-bridge serve adds to a round trip.
const handoverAfter = 5 * time.Millisecond

func newHandoverTimer(read func()) *handoverTimer {
	w := &handoverTimer{read: read}
	w.timer = time.AfterFunc(time.Hour, w.fired)
	w.timer.Stop()
	return w
}

// begin is called by the reading goroutine before it handles a message, and end afterwards.
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

// fired runs when the timer expires. If the message is the same as the last time, this
// goroutine takes over the reading.
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
		w.arm() // a message began in between
	}
}

// keepReading keeps the goroutine that handles the message from being replaced as reader.
func (c *ClientMessage) keepReading() {
	if c.reading != nil {
		c.reading.CompareAndSwap(handling, blocked)
	}
}

// handle passes a message through its routes, and sends their reply or error.
func (p *Proxy) handle(ctx context.Context, msg *ClientMessage, routes []featureRoute) {
	if err := p.route(ctx, msg, routes); err != nil {
		p.reject(msg, err)
	} else if msg.reply != nil {
		p.sendResponse(msg.ID, msg.reply)
	}
}
