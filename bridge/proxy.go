package bridge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"codex-bridge/bridge/codex"
	"codex-bridge/rpc"
)

// Options are what a Proxy is made of.
type Options struct {
	In       io.Reader     // the client speaks here
	Out      io.Writer     // the client listens here
	Command  codex.Command // the real codex
	Features []Feature
	// AnswerAll has the client's requests answered that codex leaves behind when it ends,
	// which codex itself does not do, and holds the client to ids that differ. It is asked for
	// each request, and at the end; nil: no.
	AnswerAll func() bool
	// Exited is called once if Codex ends by itself: the client has not ended its input, and no signal
	// was passed on. It runs before AnswerAll's answers are sent; nil: not called.
	OnExit func(*os.ProcessState)
	// Enforces tells whether a policy is in force; nil: no.
	Enforces   func() bool
	Urgent     []string      // the client's requests that are taken where it has too many under way
	ByteCounts *ByteCounts   // nil: nobody counts them
	Observer   Observer      // nil: nobody
	MaxMessage int           // bytes: of a client's message, and of what has to be gathered of codex's
	Grace      time.Duration // for codex to end
	Log        *slog.Logger
}

// Proxy carries one conversation between a client and a codex of its own.
type Proxy struct {
	opts      Options
	routes    *table
	optOuts   *optOuts
	state     *conversation
	child     *codex.Child
	stdin     io.Writer       // of child
	codexDone <-chan struct{} // closed when child has ended
	// in and listen are child.Stdout and o.Out, joined.
	codexOut  io.Reader
	clientOut io.Writer

	// ready is closed when the client's framing is known, and out is set.
	ready      chan struct{}
	out        rpc.Sink
	clientDone chan struct{} // closed when the client has said all it will
}

// NewProxy makes a Proxy. It starts nothing.
func NewProxy(o Options) (*Proxy, error) {
	if o.Enforces == nil {
		o.Enforces = func() bool { return false }
	}
	optOuts := newOptOuts(o.Features, o.Enforces)
	routes, err := newTable(append(slices.Clip(o.Features), optOuts))
	if err != nil {
		return nil, err
	}
	if o.AnswerAll == nil {
		o.AnswerAll = func() bool { return false }
	}
	p := &Proxy{
		opts: o, routes: routes, optOuts: optOuts, ready: make(chan struct{}), clientDone: make(chan struct{}),
	}
	p.state = newConversation(p.writeToCodex, func(line []byte) error {
		p.out.WriteMessage(line)
		return p.out.Err()
	})
	for i, f := range o.Features {
		if a, ok := f.(Attacher); ok {
			a.Attach(&Conn{p, i})
		}
	}
	return p, nil
}

// Run starts codex and carries the conversation until codex has ended; it
// returns how it ended. stop passes on signals meant for codex. On Linux the
// calling goroutine must be locked to its thread (see Start).
func (p *Proxy) Run(ctx context.Context, stop <-chan os.Signal) (*os.ProcessState, error) {
	child, err := codex.Start(p.opts.Command)
	if err != nil {
		return nil, err
	}
	p.child, p.stdin, p.codexDone = child, child.Stdin, child.Done()
	if f, ok := p.opts.Out.(*os.File); ok {
		codex.Widen(f)
	}
	p.codexOut, p.clientOut = rpc.Join(child.Stdout, p.opts.Out)
	if p.opts.ByteCounts != nil {
		p.codexOut = countingReader{p.codexOut, &p.opts.ByteCounts.FromCodex}
		p.opts.In = countingReader{p.opts.In, &p.opts.ByteCounts.FromClient}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	go p.fromClient(ctx) // ends with the client's input, or with the process
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		p.fromCodex(ctx)
	}()
	requested := p.wait(stop)
	state := child.Ended()
	p.state.stopTimeouts()
	// What codex has written last is still in the pipe.
	select {
	case <-drained:
		child.Stdin.Close() // nobody waits for it any more
		p.state.fallbacks.wait()
		p.state.toCodex.awaitIdle()
	case <-time.After(p.opts.Grace):
		child.Stdout.Close() // somebody else holds the pipe open; see stdoutPipe
	}
	answered := make(chan struct{})
	go func() { // they end with codex, unless a client does not listen
		defer close(answered)
		if !requested && p.opts.OnExit != nil {
			p.opts.OnExit(state)
		}
		p.state.asyncRequests.wait()
		p.state.await(func() bool { return p.state.schedule.turns == 0 })
		p.failPending()
		p.state.toClient.awaitIdle()
	}()
	select {
	case <-answered:
	case <-time.After(p.opts.Grace):
	}
	return state, nil
}

// answerLeft tells the client of the requests that codex has left without an answer.
func (p *Proxy) failPending() {
	if !p.opts.AnswerAll() {
		return
	}
	for _, id := range p.state.unanswered() {
		p.sendResponse(id, rpc.EncodeError(id, rpc.Errorf(rpc.CodeUpstream, "codex ended before it answered")))
	}
}

// lastWords is how long what the client has said before it went may wait to be handled.
const maxDrain = time.Minute

// wait waits for Codex to end, and stops it once the client has gone or a signal has come, after the
// messages that the client sent before. wanted reports that the client or a signal asked for the end.
func (p *Proxy) wait(stop <-chan os.Signal) (requested bool) {
	clientDone, handled := p.clientDone, make(chan struct{})
	var expired <-chan time.Time
	for {
		select {
		case <-p.codexDone:
			select {
			case <-p.clientDone:
				return true
			default:
				return requested
			}
		case <-clientDone:
			clientDone, requested = nil, true
			go func() { // ends with what the client has said last, or with codex
				p.state.await(func() bool { return p.state.schedule.turns == 0 })
				close(handled)
			}()
			expired = time.After(maxDrain)
		case <-handled:
			p.child.Stop(p.opts.Grace)
			return requested
		case <-expired: // codex does not read
			p.child.Stop(p.opts.Grace)
			return requested
		case sig := <-stop:
			requested = true
			p.child.Signal(sig)
			if p.child.EndsWithin(p.opts.Grace) {
				return requested
			}
			if codex.EndsIt(sig) {
				p.child.Kill()
				return requested
			}
		}
	}
}

// through takes a message of the client through its routes, and to codex unless one of
// them has answered it.
func (p *Proxy) route(ctx context.Context, call *ClientMessage, routes []featureRoute) *rpc.Error {
	for _, route := range routes {
		err := route.HandleClient(ctx, call)
		if err == nil && (len(call.onResponse) > 0 || call.async != nil) && call.Kind != rpc.Request {
			err = rpc.Errorf(rpc.CodeInvalidRequest, "%s is a request and needs an id", call.Method)
		}
		if err != nil {
			return err
		}
		if call.reply != nil {
			return nil
		}
		if call.async != nil {
			aside := &AsyncRequest{p: p, id: call.ID.Clone(), feature: route.feature, earlierHandlers: call.onResponse}
			if !p.state.asyncRequests.start(func() { call.async(ctx, aside) }) {
				return rpc.Errorf(rpc.CodeOverloaded, "%d requests are under way already; wait for their answers, and try again", maxAsyncRequests)
			}
			return nil
		}
	}
	if call.Method == "" && p.state.serverRequests.ids.generated(call.ID.Key()) {
		return nil // nobody here waits for it any more, and codex never has
	}
	call.keepReading()
	registered := len(call.onResponse) > 0 || call.internal || call.Kind == rpc.Request && p.opts.AnswerAll()
	if registered {
		abandoned, err := p.state.registerRequest(call.ID, p.isUrgent(call.Method), call.onResponse)
		if err != nil {
			return err
		}
		if abandoned != nil {
			p.opts.Log.Warn("codex has not answered a request in a long time; its place goes to another", "id", string(abandoned.id.Raw()), "after", abandonedAfter)
			new(ServerResponse).runHandlers(abandoned.handlers)
		}
	}
	if err := p.state.toCodex.send(ctx, call.Line); errors.Is(err, errWithdrawn) {
		if registered && p.state.dropRequest(call.ID.Key()) == nil {
			call.onResponse = nil // it was abandoned, and they know
		}
		return rpc.Errorf(rpc.CodeDeadline, "%s was not sent, since codex does not read: %v", call.Method, context.Cause(ctx))
	}
	return nil
}

func (p *Proxy) isUrgent(method string) bool { return slices.Contains(p.opts.Urgent, method) }

// behind are the routes of a client's method in the features behind one.
func (p *Proxy) routesAfter(feature int, method string) []featureRoute {
	return slices.DeleteFunc(slices.Clone(p.routes[Client].forMethod(method)), func(r featureRoute) bool { return r.feature <= feature })
}

// toClient answers a request: the client's, or one of ours.
func (p *Proxy) respond(id rpc.ID, line []byte) {
	if !p.state.deliverReply(id, line) {
		p.sendResponse(id, line)
	}
}

// answered gives the client's answer to a question of ours to who has asked. The
// message is the parser's, and changes with the next.
func (p *Proxy) deliverClientResponse(q *pendingServerRequest, m *rpc.Message) {
	kept, err := rpc.ParseMessage(bytes.Clone(m.Bytes()))
	if err != nil { // it was parsed once
		p.opts.Log.Error("an answer can't be read again", "error", err)
		return
	}
	q.response <- kept // holds one, and none was sent before
}

// refuse tells the client, and whoever waits for codex's answer that none will
// come. A notification has nobody to tell.
func (p *Proxy) reject(call *ClientMessage, err *rpc.Error) {
	p.opts.Log.Warn("refused "+describe(call.Message), "code", err.Code, "error", err.Message)
	call.notifyUnsent()
	if call.Kind == rpc.Request {
		p.sendResponse(call.ID, rpc.EncodeError(call.ID, err))
	}
}

// reply writes an answer of our own to codex, and does not wait: it is called with codex's
// messages, and codex need not listen before it has said all it wants to.
func (p *Proxy) replyToCodex(line []byte) { p.state.toCodex.enqueue(append(line, '\n')) }

// replyLocked is reply with the state's lock held.
func (p *Proxy) replyToCodexLocked(line []byte) { p.state.toCodex.enqueueLocked(append(line, '\n')) }

// say has the client get the answer to its request of that id, behind what it was told
// before. Where too much waits for a client that does not read a long answer becomes an
// error, and with still more say waits. A client that reads has the answer when say returns.
func (p *Proxy) sendResponse(id rpc.ID, line []byte) {
	c := p.state
	c.mu.Lock()
	for c.toClient.bytes >= 2*maxToClient {
		c.changed.Wait()
	}
	if len(line) > shortLine && c.toClient.isFull(len(line)) {
		line = rpc.EncodeError(id, rpc.Errorf(rpc.CodeBusy, "the answer of %d bytes was dropped, since the client has not read %d bytes before it; read, and ask again", len(line), c.toClient.bytes))
	}
	next, slow := c.toClient.enqueueLocked(line), c.toClient.slow
	c.mu.Unlock()
	if !slow {
		c.toClient.awaitWritten(next)
	}
}

// writeToCodex writes one line with one write.
func (p *Proxy) writeToCodex(line []byte) error {
	if p.opts.Observer != nil {
		p.opts.Observer.Sending(Codex, line)
	}
	_, err := p.stdin.Write(line)
	if err != nil {
		p.opts.Log.Debug("codex listens no more", "error", err)
	}
	return err
}

// fromCodex carries codex's messages to the client. Codex says nothing before it
// was spoken to, so waiting for the client's framing holds nothing up.
func (p *Proxy) fromCodex(ctx context.Context) {
	select {
	case <-p.ready:
	case <-p.codexDone:
		select {
		case <-p.ready:
		default: // ended before the client spoke: JSON Lines is what it expects
			p.pump(ctx, rpc.NewLineSink(p.clientOut))
			return
		}
	}
	p.pump(ctx, p.out)
}

func (p *Proxy) pump(ctx context.Context, out rpc.Sink) {
	t := &serverHandler{p, ctx, out}
	pump := rpc.NewPump(out, t, t, p.opts.MaxMessage)
	if p.opts.Observer != nil {
		pump.Observe(p.opts.Observer)
	}
	if err := pump.Run(p.codexOut); err != nil {
		p.opts.Log.Debug("codex's output ended", "error", err)
	}
	if id, method := rpc.ParsePrefix(pump.TruncatedLine()); method == "" {
		p.state.restoreRequest(id.Key())
	}
}
