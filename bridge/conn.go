package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"codex-bridge/rpc"
)

// Peer is a feature's own voice: requests to codex whose answers the client
// never sees, and notifications to the client.
type Conn struct {
	p       *Proxy
	feature int // its place among the features
}

// Ask sends codex a request of our own and waits for its answer. It must not be
// called by a handler of codex's messages. The error is a *rpc.Error when codex
// answered with one.
func (p *Conn) Call(ctx context.Context, method string, params any) (rpc.Value, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return rpc.Value{}, err
	}
	w := p.p.state.newRequest()
	defer p.p.state.dropRequest(w.id.Key())
	failed := make(chan error, 1)
	go func() { // ends when the request is written; when ctx ends before that, it is not
		if err := p.p.state.toCodex.send(ctx, append(rpc.EncodeRequest(w.id, method, raw), '\n')); err != nil && !errors.Is(err, errWithdrawn) {
			failed <- err
		}
	}()
	select {
	case err := <-failed:
		return rpc.Value{}, rpc.Errorf(rpc.CodeUpstream, "codex takes no more requests: %v", err)
	case e := <-w.response:
		if e == nil {
			return rpc.Value{}, rpc.Errorf(rpc.CodeTooLarge, "codex's answer to %s is too long, or can't be read", method)
		}
		if failed := e.Root().Get("error"); failed.Exists() {
			message, _ := failed.Get("message").Text()
			return rpc.Value{}, rpc.Errorf(rpc.CodeUpstream, "codex refused %s: %s", method, message)
		}
		return e.Root().Get("result"), nil
	case <-p.p.codexDone:
		return rpc.Value{}, rpc.Errorf(rpc.CodeUpstream, "codex ended before it answered %s", method)
	case <-ctx.Done():
		return rpc.Value{}, rpc.Errorf(rpc.CodeDeadline, "no answer to %s: %v", method, context.Cause(ctx))
	}
}

// Tell sends the client a notification. It may be called from anywhere but before
// the client has said something. It does not wait long for a client that does not listen;
// what it is told then, and has not been said, waits, and what is too much is not said.
func (p *Conn) Notify(method string, params any) {
	raw, err := json.Marshal(params)
	if err != nil {
		panic(err) // a programming error: params is the bridge's own
	}
	<-p.p.ready
	p.p.state.toClient.notify(rpc.EncodeRequest(rpc.ID{}, method, raw), func() {
		p.p.opts.Log.Warn("the client does not read; the bridge's notifications are dropped until it does", "method", method, "bytes", len(raw))
	})
}

// AskClient sends the client a request of our own and waits for its answer, which
// codex never sees. It must not be called by a handler of the client's messages. The
// error is a *rpc.Error when the client answered with one, or not before ctx ended;
// an answer that comes later is one to nothing.
func (p *Conn) CallClient(ctx context.Context, method string, params any) (rpc.Value, error) {
	return p.callClient(ctx, method, params, nil)
}

// AskPerson is AskClient for a question in the place of one of Codex's about a thread:
// the client is told when it is no question any more, as Codex tells it.
func (p *Conn) AskUser(ctx context.Context, thread, method string, params any) (rpc.Value, error) {
	return p.callClient(ctx, method, params, func(id rpc.ID) []byte {
		params, _ := json.Marshal(map[string]any{"threadId": thread, "requestId": json.RawMessage(id.Raw())}) // of texts
		return rpc.EncodeRequest(rpc.ID{}, "serverRequest/resolved", params)
	})
}

// askClient has the client told what resolved, unless it is nil, says to it when its answer
// is not waited for any more.
func (p *Conn) callClient(ctx context.Context, method string, params any, resolved func(rpc.ID) []byte) (rpc.Value, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return rpc.Value{}, err
	}
	select {
	case <-p.p.ready:
	default:
		select {
		case <-p.p.ready:
		case <-ctx.Done():
			return rpc.Value{}, rpc.Errorf(rpc.CodeDeadline, "the client has not spoken yet: %v", context.Cause(ctx))
		}
	}
	id := p.p.state.serverRequests.ids.next()
	answer := make(chan *rpc.Message, 1)
	line, ok := p.p.state.registerOwn(id, answer, rpc.EncodeRequest(id, method, raw))
	if !ok {
		return rpc.Value{}, rpc.Errorf(rpc.CodeBusy, "the client was not sent %s, since it has not read what was sent before", method)
	}
	defer p.p.state.dropServerRequest(id.Key())
	p.p.awaitWritten(ctx, line)
	if resolved != nil {
		defer func() { p.p.awaitWritten(ctx, p.p.state.toClient.enqueue(resolved(id))) }()
	}
	select {
	case m := <-answer:
		if failed := m.Root().Get("error"); failed.Exists() {
			message, _ := failed.Get("message").Text()
			return rpc.Value{}, rpc.Errorf(rpc.CodeInternal, "the client refused %s: %s", method, message)
		}
		return m.Root().Get("result"), nil
	case <-p.p.clientDone:
		return rpc.Value{}, rpc.Errorf(rpc.CodeInternal, "the client left before it answered %s", method)
	case <-p.p.codexDone:
		return rpc.Value{}, rpc.Errorf(rpc.CodeUpstream, "codex ended before the client answered %s", method)
	case <-ctx.Done():
		return rpc.Value{}, rpc.Errorf(rpc.CodeDeadline, "the client did not answer %s: %v", method, context.Cause(ctx))
	}
}

// Settled tells that codex waits no more for an answer to its request of that id:
// an answer that still comes is one to nothing.
func (p *Conn) ForgetServerRequest(id rpc.ID) { p.p.state.dropServerRequest(id.Key()) }

// Ended is closed when codex has.
func (p *Conn) CodexDone() <-chan struct{} { return p.p.codexDone }

// CodexPID is codex's process id.
func (p *Conn) CodexPID() int { return p.p.child.PID() }

// until waits until a line is written; not much longer than ctx, and than codex lives.
func (p *Proxy) awaitWritten(ctx context.Context, line *outgoingLine) {
	select {
	case <-line.written:
		return
	case <-p.codexDone:
		return
	case <-ctx.Done():
	}
	timer := time.NewTimer(maxWriteWait)
	defer timer.Stop()
	select {
	case <-line.written:
	case <-p.codexDone:
	case <-timer.C:
	}
}

// describe names a request in a log.
func describe(m *rpc.Message) string {
	if m.Kind == rpc.Request {
		return fmt.Sprintf("%s (id %s)", m.Method, m.ID.Raw())
	}
	return m.Method
}
