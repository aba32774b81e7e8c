package bridge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/rpc"
)

// Options configure a Proxy.
type Options struct {
	In       io.Reader // messages of the client
	Out      io.Writer // messages to the client
	Lines    bool      // both are JSON Lines; false: the first bytes of In show the framing
	Upstream Upstream  // Codex
	Features []Feature
	// AnswerAll reports whether the bridge keeps all requests of the client: their ids must
	// differ, and those still pending when Codex exits get an error. Codex itself does
	// neither. It is called for each request and at the end; nil means false.
	AnswerAll func() bool
	// OnExit is called once if Codex exits by itself: the client has not closed its input, and no
	// signal was passed on. It is called before the errors of AnswerAll are sent, and not for a lost
	// connection to an Upstream that has not exited. It may be nil.
	OnExit func(*os.ProcessState)
	// DeclineExcess returns the result that declines a request of Codex, since too many have no response of
	// the client; nil for an error in its place. first reports that the one before was not declined for this
	// reason. DeclineExcess may be nil.
	DeclineExcess func(ctx context.Context, request *rpc.Envelope, first bool) (result []byte)
	// LogRefused logs that a line of the client is refused since it breaks the protocol, and returns the error
	// for the client: refused, perhaps with data. m is nil if the line can't be read as a message. LogRefused may be nil.
	LogRefused func(ctx context.Context, m *rpc.Message, line []byte, refused *rpc.Error) *rpc.Error
	// Enforces reports whether a policy is enforced; nil means false.
	Enforces func() bool
	Urgent   []string // methods that do not wait and have twice the limits
	// Reads reports whether a request with this method changes nothing; nil means false.
	Reads      func(method string) bool
	ByteCounts *ByteCounts   // may be nil
	Observer   Observer      // may be nil
	MaxMessage int           // bytes of a client's message or a wanted one of Codex
	Grace      time.Duration // time for Codex to exit, or an Upstream to answer
	Log        *slog.Logger
}

// Upstream is Codex's app-server: a process for one client (codex.Child), or a connection to a
// shared one (codex.Conn). Its methods may be called concurrently.
type Upstream interface {
	// Streams returns the streams of lines to and from Codex. Each Write has whole lines.
	Streams() (in io.WriteCloser, out io.ReadCloser)
	// Done returns a channel that is closed when Codex has exited, or the connection has ended.
	Done() <-chan struct{}
	// ExitState returns how Codex exited, or nil if only the connection has ended. Call it after Done.
	ExitState() *os.ProcessState
	// Signal sends a signal to the process of this client.
	Signal(os.Signal)
	// Stop ends Codex, or the connection. It may take twice the grace.
	Stop(grace time.Duration)
	// ExitsWithin waits for Done, and reports whether it is closed.
	ExitsWithin(time.Duration) bool
	// Kill ends Codex with its descendants, or the connection.
	Kill()
	// PID returns the id of Codex's process.
	PID() int
}

// Proxy runs one conversation between a client and Codex.
type Proxy struct {
	opts      Options
	routes    *table
	optOuts   *optOuts
	state     *conversation
	codex     Upstream
	codexIn   io.Writer
	codexDone <-chan struct{} // of codex
	// codexOut and clientOut are the output of codex and opts.Out after rpc.Join.
	codexOut  io.Reader
	clientOut io.Writer

	// ready is closed when the client's framing is known and out is set.
	ready      chan struct{}
	out        rpc.Sink
	clientDone chan struct{} // closed at the end of the client's input

	results sync.Map // of Conn.CallOnce, by method
}

// NewProxy returns a Proxy. The error is about a feature's routes.
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

// Run runs the conversation until Codex has exited or the connection to it has ended. It returns Codex's
// exit status. Signals from stop are passed on to Codex. At the end the handlers of requests without a
// response have been called.
//
//	client ──▶ reader ──▶ schedule ──▶ features in order ──▶ requests ──▶ toCodex ──▶ Codex
//	           fromClient  handleInOrder  route (guard first)  registerRequest
//	                                         │ refused, or answered
//	client ◀── toClient ◀────────────────────┘
//
//	client ◀── toClient ◀── passed lines, undecoded ◀──────────────── pump ◀── Codex
//	                  ▲                                                  │ wanted lines
//	                  └──── features in order ◀──── serverHandler ◀──────┘ fromCodex
//
// One goroutine reads the client, one reads Codex, and each side has a writer. A handler that waits leaves
// reading to another goroutine. conversation has all messages in flight.
func (p *Proxy) Run(ctx context.Context, stop <-chan os.Signal) *os.ProcessState {
	p.codex = p.opts.Upstream
	in, out := p.codex.Streams()
	p.codexIn, p.codexDone = in, p.codex.Done()
	if f, ok := p.opts.Out.(*os.File); ok {
		codex.GrowPipe(f)
	}
	p.codexOut, p.clientOut = rpc.Join(out, p.opts.Out)
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
	state := p.codex.ExitState()
	p.state.stopTimeouts()
	// Codex's last output is still in the pipe.
	select {
	case <-drained:
		in.Close() // ends a write that still waits
		p.state.fallbacks.wait()
		p.state.toCodex.awaitIdle()
	case <-time.After(p.opts.Grace):
		out.Close() // another process holds the pipe open; see stdoutPipe
	}
	finished := make(chan struct{})
	go func() { // ends soon after Codex, unless the client does not read
		defer close(finished)
		if !requested && state != nil && p.opts.OnExit != nil {
			p.opts.OnExit(state)
		}
		p.state.asyncRequests.wait()
		p.state.await(func() bool { return p.state.schedule.entries == 0 })
		p.failPending()
		p.state.toClient.awaitIdle()
	}()
	select {
	case <-finished:
	case <-time.After(p.opts.Grace):
	}
	p.abandonRequests()
	return state
}

// abandonRequests calls the handlers of the requests that Codex has not answered, and returns the ids
// of the client's requests. No request is registered afterwards.
func (p *Proxy) abandonRequests() (ids []rpc.ID) {
	for _, r := range p.state.closeRequests() {
		new(ServerResponse).runHandlers(r.handlers)
		if !p.state.requests.ids.generated(r.id.Key()) {
			ids = append(ids, r.id)
		}
	}
	return ids
}

// failPending sends an error for each request of the client that Codex has not answered.
func (p *Proxy) failPending() {
	ids := p.abandonRequests()
	if !p.opts.AnswerAll() {
		return
	}
	for _, id := range ids {
		p.sendResponse(id, rpc.EncodeError(id, rpc.Errorf(rpc.CodeUpstream, "codex ended before it answered")))
	}
}

// maxDrain is how long the client's last messages may wait to be handled after its end.
const maxDrain = time.Minute

// wait waits for Codex to exit. It stops Codex after a signal, or after the client's end, when
// the client's last messages have been handled. requested reports whether there was either.
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
			go func() { // ends after the client's last message, or with Codex
				p.state.await(func() bool { return p.state.schedule.entries == 0 })
				if p.opts.Upstream != nil {
					p.awaitResponses()
				}
				close(handled)
			}()
			expired = time.After(maxDrain)
		case <-handled:
			p.codex.Stop(p.opts.Grace)
			return requested
		case <-expired: // Codex does not read
			p.codex.Stop(p.opts.Grace)
			return requested
		case sig := <-stop:
			requested = true
			p.codex.Signal(sig)
			if p.codex.ExitsWithin(p.opts.Grace) {
				return requested
			}
			if codex.IsTermination(sig) {
				p.codex.Kill()
				return requested
			}
		}
	}
}

// awaitResponses waits until the client's last requests have their responses, at most for the grace. A
// Codex that has no other client answers them before it exits.
func (p *Proxy) awaitResponses() {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(p.opts.Grace); p.state.requests.count.Load() > 0; {
		select {
		case <-tick.C:
		case <-end:
			return
		case <-p.codexDone:
			return
		}
	}
}

// route passes a message of the client through the routes and, unless one of them answers it,
// sends it to Codex.
func (p *Proxy) route(ctx context.Context, msg *ClientMessage, routes []featureRoute) *rpc.Error {
	for _, route := range routes {
		err := route.HandleClient(ctx, msg)
		if err == nil && (len(msg.onResponse) > 0 || msg.async != nil) && msg.Kind != rpc.Request {
			err = p.logRefused(ctx, msg.Message, msg.Bytes(), rpc.Errorf(rpc.CodeInvalidRequest, "%s is a request and needs an id", msg.Method))
		}
		if err != nil {
			return err
		}
		if msg.reply != nil {
			return nil
		}
		if msg.async != nil {
			request := &AsyncRequest{p: p, id: msg.ID.Clone(), feature: route.feature, earlierHandlers: msg.onResponse, FolderAdded: msg.FolderAdded}
			return p.state.asyncRequests.start(msg.Size(), maxAsyncRequests, p.maxWaiting(), func() { msg.async(ctx, request) })
		}
	}
	if msg.Method == "" && p.state.serverRequests.ids.generated(msg.ID.Key()) {
		return nil // a response that is no longer awaited; Codex has no such request
	}
	msg.keepReading()
	registered := len(msg.onResponse) > 0 || msg.internal || msg.Kind == rpc.Request && p.opts.AnswerAll()
	if registered {
		abandoned, err := p.state.registerRequest(msg.ID, p.isUrgent(msg.Method), msg.onResponse)
		if err != nil && err.Code == rpc.CodeInvalidRequest {
			err = p.logRefused(ctx, msg.Message, msg.Bytes(), err)
		}
		if err != nil {
			return err
		}
		if abandoned != nil {
			p.opts.Log.Warn("codex did not answer a request; the bridge no longer waits for it", "id", string(abandoned.id.Raw()), "after", abandonedAfter)
			new(ServerResponse).runHandlers(abandoned.handlers)
		}
	}
	if err := p.state.toCodex.send(ctx, msg.Line); errors.Is(err, errWithdrawn) {
		if registered && p.state.dropRequest(msg.ID.Key()) == nil {
			msg.onResponse = nil // the request was abandoned, and its handlers were called
		}
		return rpc.Errorf(rpc.CodeDeadline, "%s was not sent, since codex does not read: %v", msg.Method, problem.Text(context.Cause(ctx)))
	}
	return nil
}

func (p *Proxy) isUrgent(method string) bool { return slices.Contains(p.opts.Urgent, method) }

// routesAfter returns the routes of a client's method in the features after that one.
func (p *Proxy) routesAfter(feature int, method string) []featureRoute {
	return slices.DeleteFunc(slices.Clone(p.routes[Client].forMethod(method)), func(r featureRoute) bool { return r.feature <= feature })
}

// respond sends the response to a request of the client or of the bridge.
func (p *Proxy) respond(id rpc.ID, line []byte) {
	if !p.state.deliverReply(id, line) {
		p.sendResponse(id, line)
	}
}

// deliverClientResponse passes the client's response to CallClient. It copies the message, since
// the parser reuses it.
func (p *Proxy) deliverClientResponse(q *pendingServerRequest, m *rpc.Message, unreadable *rpc.Error) {
	kept, err := rpc.ParseMessage(bytes.Clone(m.Bytes()))
	if err != nil { // can't happen: it was parsed before
		p.opts.Log.Error("an answer can't be read again", "error", err)
		return
	}
	q.response <- clientResponse{kept, unreadable} // has room: at most one is sent
}

// logRefused calls LogRefused, and returns the error for the client.
func (p *Proxy) logRefused(ctx context.Context, m *rpc.Message, line []byte, refused *rpc.Error) *rpc.Error {
	if p.opts.LogRefused == nil {
		return refused
	}
	return p.opts.LogRefused(ctx, m, line, refused)
}

// reject replies to a request with an error, and calls its response handlers. A notification
// gets no reply.
func (p *Proxy) reject(msg *ClientMessage, err *rpc.Error) {
	p.opts.Log.Warn("refused "+describe(msg.Message), "code", err.Code, "error", err.Message)
	msg.notifyUnsent()
	if msg.Kind == rpc.Request {
		p.sendResponse(msg.ID, rpc.EncodeError(msg.ID, err))
	}
}

// replyToCodex queues a line for Codex. It does not wait, since handlers of Codex's messages
// use it and Codex may write before it reads.
func (p *Proxy) replyToCodex(line []byte) { p.state.toCodex.enqueue(append(line, '\n')) }

// replyToCodexLocked is replyToCodex with the state's lock held.
func (p *Proxy) replyToCodexLocked(line []byte) { p.state.toCodex.enqueueLocked(append(line, '\n')) }

// sendResponse queues a response for the client, and waits a short time for the write, so a
// client that reads has it when sendResponse returns. If too much is queued, a long response
// becomes an error. At twice that size sendResponse waits.
func (p *Proxy) sendResponse(id rpc.ID, line []byte) {
	c := p.state
	c.mu.Lock()
	if len(line) > shortLine && c.toClient.isFull(len(line)) { // before the wait: many may wait
		line = rpc.EncodeError(id, rpc.Errorf(rpc.CodeBusy, "the answer of %d bytes was dropped, since the client has not read %d bytes before it; read, and ask again", len(line), c.toClient.bytes))
	}
	for c.toClient.bytes >= 2*maxToClient {
		c.changed.Wait()
	}
	next, slow := c.toClient.enqueueLocked(line), c.toClient.slow
	c.mu.Unlock()
	if !slow {
		c.toClient.awaitWritten(next)
	}
}

// writeToCodex writes a line with one write.
func (p *Proxy) writeToCodex(line []byte) error {
	if p.opts.Observer != nil {
		p.opts.Observer.Sending(Codex, line)
	}
	_, err := p.codexIn.Write(line)
	if err != nil {
		p.opts.Log.Debug("writing to codex failed", "error", err)
	}
	return err
}

// fromCodex copies Codex's messages to the client. It waits until the client's framing is
// known; Codex sends nothing before its first request.
func (p *Proxy) fromCodex(ctx context.Context) {
	select {
	case <-p.ready:
	case <-p.codexDone:
		select {
		case <-p.ready:
		default: // Codex ended before the client sent anything: assume JSON Lines
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
