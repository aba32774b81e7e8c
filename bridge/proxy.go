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
	Exited func(*os.ProcessState)
	// Enforces tells whether a policy is in force; nil: no.
	Enforces   func() bool
	Urgent     []string      // the client's requests that are taken where it has too many under way
	Bytes      *Bytes        // nil: nobody counts them
	Tap        Tap           // nil: nobody
	MaxMessage int           // bytes: of a client's message, and of what has to be gathered of codex's
	Grace      time.Duration // for codex to end
	Log        *slog.Logger
}

// Proxy carries one conversation between a client and a codex of its own.
type Proxy struct {
	o       Options
	routes  *table
	optOuts *optOuts
	state   *conversation
	child   *codex.Child
	stdin   io.Writer       // of child
	gone    <-chan struct{} // closed when child has ended
	// in and listen are child.Stdout and o.Out, joined.
	in     io.Reader
	listen io.Writer

	// ready is closed when the client's framing is known, and out is set.
	ready chan struct{}
	out   rpc.Sink
	left  chan struct{} // closed when the client has said all it will
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
		o: o, routes: routes, optOuts: optOuts, ready: make(chan struct{}), left: make(chan struct{}),
	}
	p.state = newConversation(p.writeToCodex, func(line []byte) error {
		p.out.Message(line)
		return p.out.Err()
	})
	for i, f := range o.Features {
		if a, ok := f.(Attacher); ok {
			a.Attach(&Peer{p, i})
		}
	}
	return p, nil
}

// Run starts codex and carries the conversation until codex has ended; it
// returns how it ended. stop passes on signals meant for codex. On Linux the
// calling goroutine must be locked to its thread (see Start).
func (p *Proxy) Run(ctx context.Context, stop <-chan os.Signal) (*os.ProcessState, error) {
	child, err := codex.Start(p.o.Command)
	if err != nil {
		return nil, err
	}
	p.child, p.stdin, p.gone = child, child.Stdin, child.Done()
	if f, ok := p.o.Out.(*os.File); ok {
		codex.Widen(f)
	}
	p.in, p.listen = rpc.Join(child.Stdout, p.o.Out)
	if p.o.Bytes != nil {
		p.in = counted{p.in, &p.o.Bytes.FromCodex}
		p.o.In = counted{p.o.In, &p.o.Bytes.FromClient}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	go p.fromClient(ctx) // ends with the client's input, or with the process
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		p.fromCodex(ctx)
	}()
	wanted := p.wait(stop)
	state := child.Ended()
	p.state.endQuestions()
	// What codex has written last is still in the pipe.
	select {
	case <-drained:
		child.Stdin.Close() // nobody waits for it any more
		p.state.lates.wait()
		p.state.toCodex.idle()
	case <-time.After(p.o.Grace):
		child.Stdout.Close() // somebody else holds the pipe open; see stdoutPipe
	}
	answered := make(chan struct{})
	go func() { // they end with codex, unless a client does not listen
		defer close(answered)
		if !wanted && p.o.Exited != nil {
			p.o.Exited(state)
		}
		p.state.asides.wait()
		p.state.await(func() bool { return p.state.schedule.turns == 0 })
		p.answerLeft()
		p.state.toClient.idle()
	}()
	select {
	case <-answered:
	case <-time.After(p.o.Grace):
	}
	return state, nil
}

// answerLeft tells the client of the requests that codex has left without an answer.
func (p *Proxy) answerLeft() {
	if !p.o.AnswerAll() {
		return
	}
	for _, id := range p.state.unanswered() {
		p.say(id, rpc.ReplyError(id, rpc.Errorf(rpc.CodeUpstream, "codex ended before it answered")))
	}
}

// lastWords is how long what the client has said before it went may wait to be handled.
const lastWords = time.Minute

// wait waits for Codex to end, and stops it once the client has gone or a signal has come, after the
// messages that the client sent before. wanted reports that the client or a signal asked for the end.
func (p *Proxy) wait(stop <-chan os.Signal) (wanted bool) {
	left, handled := p.left, make(chan struct{})
	var late <-chan time.Time
	for {
		select {
		case <-p.gone:
			select {
			case <-p.left:
				return true
			default:
				return wanted
			}
		case <-left:
			left, wanted = nil, true
			go func() { // ends with what the client has said last, or with codex
				p.state.await(func() bool { return p.state.schedule.turns == 0 })
				close(handled)
			}()
			late = time.After(lastWords)
		case <-handled:
			p.child.Stop(p.o.Grace)
			return wanted
		case <-late: // codex does not read
			p.child.Stop(p.o.Grace)
			return wanted
		case sig := <-stop:
			wanted = true
			p.child.Signal(sig)
			if p.child.EndsWithin(p.o.Grace) {
				return wanted
			}
			if codex.EndsIt(sig) {
				p.child.Kill()
				return wanted
			}
		}
	}
}

// through takes a message of the client through its routes, and to codex unless one of
// them has answered it.
func (p *Proxy) through(ctx context.Context, call *Call, routes []placed) *rpc.Error {
	for _, route := range routes {
		err := route.Call(ctx, call)
		if err == nil && (len(call.onAnswer) > 0 || call.aside != nil) && call.Kind != rpc.Request {
			err = rpc.Errorf(rpc.CodeInvalidRequest, "%s is a request and needs an id", call.Method)
		}
		if err != nil {
			return err
		}
		if call.reply != nil {
			return nil
		}
		if call.aside != nil {
			aside := &Aside{p: p, id: call.ID.Clone(), feature: route.feature, earlier: call.onAnswer}
			if !p.state.asides.start(func() { call.aside(ctx, aside) }) {
				return rpc.Errorf(rpc.CodeOverloaded, "%d requests are under way already; wait for their answers, and try again", maxAsides)
			}
			return nil
		}
	}
	if call.Method == "" && p.state.questions.ids.made(call.ID.Key()) {
		return nil // nobody here waits for it any more, and codex never has
	}
	call.hold()
	registered := len(call.onAnswer) > 0 || call.own || call.Kind == rpc.Request && p.o.AnswerAll()
	if registered {
		abandoned, err := p.state.registerRequest(call.ID, p.isUrgent(call.Method), call.onAnswer)
		if err != nil {
			return err
		}
		if abandoned != nil {
			p.o.Log.Warn("codex has not answered a request in a long time; its place goes to another", "id", string(abandoned.id.Raw()), "after", abandonedAfter)
			new(Answer).handle(abandoned.handlers)
		}
	}
	if err := p.state.toCodex.send(ctx, call.Line); errors.Is(err, errWithdrawn) {
		if registered && p.state.dropRequest(call.ID.Key()) == nil {
			call.onAnswer = nil // it was abandoned, and they know
		}
		return rpc.Errorf(rpc.CodeDeadline, "%s was not sent, since codex does not read: %v", call.Method, context.Cause(ctx))
	}
	return nil
}

func (p *Proxy) isUrgent(method string) bool { return slices.Contains(p.o.Urgent, method) }

// behind are the routes of a client's method in the features behind one.
func (p *Proxy) behind(feature int, method string) []placed {
	return slices.DeleteFunc(slices.Clone(p.routes[Client].of(method)), func(r placed) bool { return r.feature <= feature })
}

// toClient answers a request: the client's, or one of ours.
func (p *Proxy) toClient(id rpc.ID, line []byte) {
	if !p.state.deliverReply(id, line) {
		p.say(id, line)
	}
}

// answered gives the client's answer to a question of ours to who has asked. The
// message is the parser's, and changes with the next.
func (p *Proxy) answered(q *serverRequest, m *rpc.Message) {
	kept, err := rpc.ParseMessage(bytes.Clone(m.Bytes()))
	if err != nil { // it was parsed once
		p.o.Log.Error("an answer can't be read again", "error", err)
		return
	}
	q.response <- kept // holds one, and none was sent before
}

// refuse tells the client, and whoever waits for codex's answer that none will
// come. A notification has nobody to tell.
func (p *Proxy) refuse(call *Call, err *rpc.Error) {
	p.o.Log.Warn("refused "+describe(call.Message), "code", err.Code, "error", err.Message)
	call.refused()
	if call.Kind == rpc.Request {
		p.say(call.ID, rpc.ReplyError(call.ID, err))
	}
}

// reply writes an answer of our own to codex, and does not wait: it is called with codex's
// messages, and codex need not listen before it has said all it wants to.
func (p *Proxy) reply(line []byte) { p.state.toCodex.put(append(line, '\n')) }

// replyLocked is reply with the state's lock held.
func (p *Proxy) replyLocked(line []byte) { p.state.toCodex.putLocked(append(line, '\n')) }

// say has the client get the answer to its request of that id, behind what it was told
// before. Where too much waits for a client that does not read a long answer becomes an
// error, and with still more say waits. A client that reads has the answer when say returns.
func (p *Proxy) say(id rpc.ID, line []byte) {
	c := p.state
	c.mu.Lock()
	for c.toClient.bytes >= 2*maxToClient {
		c.changed.Wait()
	}
	if len(line) > shortLine && c.toClient.isFull(len(line)) {
		line = rpc.ReplyError(id, rpc.Errorf(rpc.CodeBusy, "the answer of %d bytes was dropped, since the client has not read %d bytes before it; read, and ask again", len(line), c.toClient.bytes))
	}
	next, late := c.toClient.putLocked(line), c.toClient.late
	c.mu.Unlock()
	if !late {
		c.toClient.seen(next)
	}
}

// writeToCodex writes one line with one write.
func (p *Proxy) writeToCodex(line []byte) error {
	if p.o.Tap != nil {
		p.o.Tap.Told(Codex, line)
	}
	_, err := p.stdin.Write(line)
	if err != nil {
		p.o.Log.Debug("codex listens no more", "error", err)
	}
	return err
}

// fromCodex carries codex's messages to the client. Codex says nothing before it
// was spoken to, so waiting for the client's framing holds nothing up.
func (p *Proxy) fromCodex(ctx context.Context) {
	select {
	case <-p.ready:
	case <-p.gone:
		select {
		case <-p.ready:
		default: // ended before the client spoke: JSON Lines is what it expects
			p.pump(ctx, rpc.NewLines(p.listen))
			return
		}
	}
	p.pump(ctx, p.out)
}

func (p *Proxy) pump(ctx context.Context, out rpc.Sink) {
	t := &taker{p, ctx, out}
	pump := rpc.NewPump(out, t, t, p.o.MaxMessage)
	if p.o.Tap != nil {
		pump.Watch(p.o.Tap)
	}
	if err := pump.Run(p.in); err != nil {
		p.o.Log.Debug("codex's output ended", "error", err)
	}
	if id, method := rpc.Start(pump.Cut()); method == "" {
		p.state.restoreRequest(id.Key())
	}
}
