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
	AnswerAll  func() bool
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
	waiting *waiting // for codex's answers
	asked   *asked   // of the client, by codex
	child   *codex.Child
	// in and listen are child.Stdout and o.Out, joined.
	in     io.Reader
	listen io.Writer

	// ready is closed when the client's framing is known, and out is set.
	ready chan struct{}
	out   rpc.Sink
	left  chan struct{} // closed when the client has said all it will

	codexMu sync.Mutex // guards writes to child.Stdin
	replies *outbox    // answers of our own to codex
	lates   crowd      // those that are being made, since nobody has answered in time
	told    *outbox    // what the client gets of the bridge itself, once ready
	taking  sync.Mutex // held over a message of codex's, until the client has it
	// handling holds one while somebody takes a message of the client through the routes.
	handling chan struct{}
	asides   crowd
}

const (
	mostReplies = 4096 // answers to codex that wait; then it is not heard until it reads
	mostTold    = 1024 // what the client is told and does not read
	mostAsides  = 4096 // requests of the client's that are answered by way of others
)

// NewProxy makes a Proxy. It starts nothing.
func NewProxy(o Options) (*Proxy, error) {
	routes, err := newTable(o.Features)
	if err != nil {
		return nil, err
	}
	if o.AnswerAll == nil {
		o.AnswerAll = func() bool { return false }
	}
	p := &Proxy{
		o: o, routes: routes, waiting: newWaiting(), asked: newAsked(), handling: make(chan struct{}, 1),
		ready: make(chan struct{}), left: make(chan struct{}), asides: crowd{most: mostAsides},
	}
	p.replies = newOutbox(func(line []byte) {
		if err := p.toCodex(line); err != nil {
			p.o.Log.Debug("codex listens no more", "error", err)
		}
	})
	p.told = newOutbox(func(line []byte) { p.out.Message(line) })
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
	p.child = child
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

	go func() { // ends with the client's input, or with the process
		defer close(p.left)
		p.fromClient(ctx)
	}()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		p.fromCodex(ctx)
	}()
	p.wait(stop)
	state := child.Ended()
	p.asked.end()
	// What codex has written last is still in the pipe.
	select {
	case <-drained:
		child.Stdin.Close() // nobody waits for it any more
		p.lates.wait()
		p.replies.idle()
	case <-time.After(p.o.Grace):
		child.Stdout.Close() // somebody else holds the pipe open; see stdoutPipe
	}
	answered := make(chan struct{})
	go func() { // they end with codex, unless a client does not listen
		defer close(answered)
		p.asides.wait()
		p.answerLeft()
		p.told.idle()
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
	for _, id := range p.waiting.left() {
		p.say(rpc.ReplyError(id, rpc.Errorf(rpc.CodeUpstream, "codex ended before it answered")))
	}
}

// wait waits for codex to end, and sees to it that it does once the client has
// gone or a signal has come.
func (p *Proxy) wait(stop <-chan os.Signal) {
	for {
		select {
		case <-p.child.Done():
			return
		case <-p.left:
			p.child.Stop(p.o.Grace)
			return
		case sig := <-stop:
			p.child.Signal(sig)
			if p.child.EndsWithin(p.o.Grace) {
				return
			}
			if codex.EndsIt(sig) {
				p.child.Kill()
				return
			}
		}
	}
}

// fromClient carries the client's messages to codex.
func (p *Proxy) fromClient(ctx context.Context) {
	source, sink := rpc.Recognise(p.o.In, p.listen, p.o.MaxMessage)
	p.out = p.tapped(sink)
	close(p.ready)
	var parser rpc.Parser
	deep := len(p.routes[Client].named)+len(p.routes[Client].other) > 0
	for {
		line, err := source.Next()
		var refused *rpc.RefusedLine
		if err == nil {
			var m *rpc.Message
			if m, err = parser.Message(line, deep); err == nil {
				p.clientSaid(ctx, m)
				if len(line) > 1<<20 {
					parser = rpc.Parser{} // it holds the line
				}
				continue
			}
		}
		if errors.As(err, &refused) {
			p.o.Log.Warn("refused a line of the client", "error", refused.Err.Message)
			p.say(rpc.ReplyError(refused.ID, refused.Err))
			continue
		}
		if !errors.Is(err, io.EOF) {
			p.o.Log.Error("the client can't be read any more", "error", err)
		}
		return
	}
}

// clientSaid takes one message of the client to its routes, and then to codex.
func (p *Proxy) clientSaid(ctx context.Context, m *rpc.Message) {
	if p.o.Tap != nil {
		p.o.Tap.Heard(Client, m.Bytes())
	}
	call := &Call{Message: m, Line: m.Bytes()}
	routes := p.routes[Client].of(m.Method)
	if m.Method == "" {
		if q, ok := p.asked.answered(m.ID.Key()); ok {
			if q.own != nil {
				p.answered(q, m)
				return
			}
			reply := &Reply{Message: m, Line: m.Bytes()}
			for _, f := range q.on {
				f(reply)
			}
			call.Line, routes = reply.Line, nil
		} else {
			routes = p.routes[Client].named[Unasked]
		}
	} else if key := m.ID.Key(); p.asked.ids.made(key) || p.waiting.ids.made(key) {
		p.refuse(call, rpc.Errorf(rpc.CodeInvalidRequest, "ids that begin as %s are the bridge's own; use another", m.ID.Raw()))
		return
	}
	if err := p.through(ctx, call, routes); err != nil {
		p.refuse(call, err)
	} else if call.reply != nil {
		p.say(call.reply)
	}
}

// through takes a message of the client through its routes, and to codex unless one of
// them has answered it.
func (p *Proxy) through(ctx context.Context, call *Call, routes []placed) *rpc.Error {
	select {
	case p.handling <- struct{}{}:
		defer func() { <-p.handling }()
	case <-ctx.Done():
		return rpc.Errorf(rpc.CodeDeadline, "%s was not sent, since a message before it is still on its way: %v", call.Method, context.Cause(ctx))
	}
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
			if !p.asides.enter(func() { call.aside(ctx, aside) }) {
				return rpc.Errorf(rpc.CodeOverloaded, "%d requests are under way already; wait for their answers, and try again", mostAsides)
			}
			return nil
		}
	}
	if call.Method == "" && p.asked.ids.made(call.ID.Key()) {
		return nil // nobody here waits for it any more, and codex never has
	}
	if len(call.onAnswer) > 0 || call.own || call.Kind == rpc.Request && p.o.AnswerAll() {
		if err := p.waiting.add(call.ID, slices.Contains(p.o.Urgent, call.Method), call.onAnswer); err != nil {
			return err
		}
	}
	if err := p.toCodex(call.Line); err != nil {
		p.o.Log.Debug("codex listens no more", "error", err)
	}
	return nil
}

// behind are the routes of a client's method in the features behind one.
func (p *Proxy) behind(feature int, method string) []placed {
	return slices.DeleteFunc(slices.Clone(p.routes[Client].of(method)), func(r placed) bool { return r.feature <= feature })
}

// toClient answers a request: the client's, or one of ours.
func (p *Proxy) toClient(id rpc.ID, line []byte) {
	if !p.waiting.answers(id, line) {
		p.say(line)
	}
}

// ask notes a question of codex's before the client hears of it.
func (p *Proxy) ask(said *Said) {
	q := said.either
	if q == nil {
		q = &question{}
		p.asked.add(said.ID, q)
	}
	p.asked.hear(q, said.onReply)
	if said.instead == nil {
		return
	}
	id := said.ID.Clone()
	p.asked.within(id, q, said.within, p.late(said.Method, said.within, func() []byte { return said.instead(id) }))
}

// late is what becomes of a question that has no answer in time: codex is told line.
func (p *Proxy) late(method string, after time.Duration, line func() []byte) func() {
	return func() {
		p.lates.enter(func() { // line may write to a disk
			p.o.Log.Warn("nobody answered in time", "method", method, "after", after)
			p.reply(line())
		})
	}
}

// answered gives the client's answer to a question of ours to who has asked. The
// message is the parser's, and changes with the next.
func (p *Proxy) answered(q *question, m *rpc.Message) {
	kept, err := rpc.ParseMessage(bytes.Clone(m.Bytes()))
	if err != nil { // it was parsed once
		p.o.Log.Error("an answer can't be read again", "error", err)
		return
	}
	q.own <- kept // holds one, and none was sent before
}

// refuse tells the client, and whoever waits for codex's answer that none will
// come. A notification has nobody to tell.
func (p *Proxy) refuse(call *Call, err *rpc.Error) {
	p.o.Log.Warn("refused "+describe(call.Message), "code", err.Code, "error", err.Message)
	for _, f := range call.onAnswer {
		f(&Answer{})
	}
	if call.Kind == rpc.Request {
		p.say(rpc.ReplyError(call.ID, err))
	}
}

// reply writes an answer of our own to codex, and does not wait: it is called with codex's
// messages, and codex need not listen before it has said all it wants to.
func (p *Proxy) reply(line []byte) { p.replies.put(append(line, '\n')) }

// say has the client get what it waits for, behind what it was told before.
func (p *Proxy) say(line []byte) { <-p.told.put(line) }

// toCodex writes one line with one write.
func (p *Proxy) toCodex(line []byte) error {
	p.codexMu.Lock()
	defer p.codexMu.Unlock()
	if p.o.Tap != nil {
		p.o.Tap.Told(Codex, line)
	}
	_, err := p.child.Stdin.Write(line)
	return err
}

// fromCodex carries codex's messages to the client. Codex says nothing before it
// was spoken to, so waiting for the client's framing holds nothing up.
func (p *Proxy) fromCodex(ctx context.Context) {
	select {
	case <-p.ready:
	case <-p.child.Done():
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
		p.waiting.again(id.Key())
	}
}
