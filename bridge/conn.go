package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/rpc"
)

// Conn sends a feature's own requests and notifications to Codex and the client. It may be
// used concurrently.
type Conn struct {
	p       *Proxy
	feature int // index of the feature
}

// Call sends Codex a request of the bridge and waits for the response. The client sees
// neither. A handler of Codex's messages must not use it. The error is an *rpc.Error if Codex
// returned one, Codex or ctx has ended, or the response can't be read.
func (p *Conn) Call(ctx context.Context, method string, params any) (rpc.Value, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return rpc.Value{}, err
	}
	w := p.p.state.newRequest()
	defer p.p.state.dropRequest(w.id.Key())
	failed := make(chan error, 1)
	go func() { // ends when the request is written or, before that, ctx ends
		if err := p.p.state.toCodex.send(ctx, append(rpc.EncodeRequest(w.id, method, raw), '\n')); err != nil && !errors.Is(err, errWithdrawn) {
			failed <- err
		}
	}()
	select {
	case err := <-failed:
		return rpc.Value{}, rpc.Errorf(rpc.CodeUpstream, "writing the request to codex failed: %v", err)
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
		return rpc.Value{}, rpc.Errorf(rpc.CodeDeadline, "no answer to %s: %v", method, problem.Text(context.Cause(ctx)))
	}
}

// CallOnce is Call for a request without params whose result stays the same while Codex runs. All features
// get the first result; after an error Codex is asked again.
func (p *Conn) CallOnce(ctx context.Context, method string) (rpc.Value, error) {
	if result, known := p.p.results.Load(method); known {
		return result.(rpc.Value), nil
	}
	result, err := p.Call(ctx, method, struct{}{})
	if err == nil {
		p.p.results.Store(method, result)
	}
	return result, err
}

// CallAsClient sends Codex a request in the client's name, which the client has not sent in
// this form. The request passes the later features as if the client had sent it, so they
// apply their checks. The client does not see the response. If ctx ends, the request may
// still be sent and answered.
//
// The error is an *rpc.Error if a later feature or Codex returned one, or Codex or ctx has
// ended. A handler of messages must not use CallAsClient: it would wait for itself.
func (p *Conn) CallAsClient(ctx context.Context, method string, params any) (rpc.Value, error) {
	return p.callAsClient(ctx, method, params, false)
}

// StartInAddedFolder is CallAsClient for a thread/start whose cwd the client has not named; see
// ClientMessage.FolderAdded.
func (p *Conn) StartInAddedFolder(ctx context.Context, params any) (rpc.Value, error) {
	return p.callAsClient(ctx, "thread/start", params, true)
}

func (p *Conn) callAsClient(ctx context.Context, method string, params any, folderAdded bool) (rpc.Value, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return rpc.Value{}, err
	}
	id := p.p.state.requests.ids.next()
	m, err := rpc.ParseMessage(append(rpc.EncodeRequest(id, method, raw), '\n'))
	if err != nil {
		return rpc.Value{}, err
	}
	answer := make(chan []byte, 1)
	p.p.state.expectReply(id, answer)
	defer p.p.state.forgetReply(id)
	refused := make(chan *rpc.Error, 1)
	go func() { // ends when the request is sent or, before that, ctx ends
		msg := &ClientMessage{Message: m, Line: m.Bytes(), FolderAdded: folderAdded, internal: true}
		var err *rpc.Error
		if busy := p.p.inOrder(ctx, m, func() { err = p.p.route(ctx, msg, p.p.routesAfter(p.feature, method)) }); busy != nil {
			err = busy
		}
		if err != nil {
			msg.notifyUnsent()
			refused <- err
		} else if msg.reply != nil {
			p.p.state.deliverReply(id, msg.reply)
		}
	}()
	select {
	case err := <-refused:
		return rpc.Value{}, err
	case line := <-answer:
		return result(method, line)
	case <-p.p.codexDone:
		return rpc.Value{}, rpc.Errorf(rpc.CodeUpstream, "codex ended before it answered %s", method)
	case <-ctx.Done():
		return rpc.Value{}, rpc.Errorf(rpc.CodeDeadline, "no answer to %s: %v", method, problem.Text(context.Cause(ctx)))
	}
}

// result returns the result in the line of a response, or its error.
func result(method string, line []byte) (rpc.Value, error) {
	e, err := rpc.ParseEnvelope(line)
	if err != nil {
		return rpc.Value{}, rpc.Errorf(rpc.CodeInternal, "the answer to %s can't be read: %v", method, err)
	}
	failed := e.Root().Get("error")
	if !failed.Exists() {
		return e.Root().Get("result"), nil
	}
	message, _ := failed.Get("message").Text()
	var code int32
	if err := json.Unmarshal(failed.Get("code").Raw(), &code); err != nil {
		return rpc.Value{}, rpc.Errorf(rpc.CodeUpstream, "codex refused %s: %s", method, message)
	}
	refused := rpc.Errorf(rpc.Code(code), "%s", message)
	if data := failed.Get("data"); data.Exists() {
		refused = rpc.WithData(refused, json.RawMessage(data.Raw()))
	}
	return rpc.Value{}, refused
}

// Notify sends the client a notification. It waits until the client has sent its first bytes,
// and then a short time for the client to read. If the client does not read, notifications
// are queued and, when the queue is full, dropped.
func (p *Conn) Notify(method string, params any) {
	raw, err := json.Marshal(params)
	if err != nil {
		panic(err) // the bridge's own params must be encodable
	}
	<-p.p.ready
	p.p.state.toClient.notify(rpc.EncodeRequest(rpc.ID{}, method, raw), func() {
		p.p.opts.Log.Warn("the client does not read; the bridge's notifications are dropped until it does", "method", method, "bytes", len(raw))
	})
}

// CallClient sends the client a request of the bridge and waits for the response. Codex sees
// neither. A handler of the client's messages must not use it. The error is an *rpc.Error if
// the client returned one, or the client, Codex or ctx has ended; its code is CodeUnknownMethod
// if the client does not know the method. It is an *UnreadableError for a response that can't be read. A later response is ignored.
func (p *Conn) CallClient(ctx context.Context, method string, params any) (rpc.Value, error) {
	return p.callClient(ctx, method, params, nil)
}

// UnreadableError is the error of CallClient for a response of the client that can't be read.
type UnreadableError struct{ err *rpc.Error }

func (e *UnreadableError) Error() string { return e.err.Message }

// Unwrap returns the JSON-RPC error.
func (e *UnreadableError) Unwrap() error { return e.err }

// AskUser is CallClient for a request that replaces a request of Codex in a thread. At its end
// it sends the client serverRequest/resolved, as Codex does. The result has all values of the response: one with more
// values than the bridge keeps can't be read.
func (p *Conn) AskUser(ctx context.Context, thread, method string, params any) (rpc.Value, error) {
	return p.callClient(ctx, method, params, func(id rpc.ID) []byte {
		params, _ := json.Marshal(map[string]any{"threadId": thread, "requestId": json.RawMessage(id.Raw())}) // strings can be encoded
		return rpc.EncodeRequest(rpc.ID{}, "serverRequest/resolved", params)
	})
}

// callClient implements CallClient. If resolved is not nil, its result is sent to the client at
// the end.
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
			return rpc.Value{}, rpc.Errorf(rpc.CodeDeadline, "the client has sent nothing yet: %v", problem.Text(context.Cause(ctx)))
		}
	}
	id := p.p.state.serverRequests.ids.next()
	answer := make(chan clientResponse, 1)
	line, ok := p.p.state.registerOwn(id, answer, rpc.EncodeRequest(id, method, raw))
	if !ok {
		return rpc.Value{}, rpc.Errorf(rpc.CodeBusy, "the client was not sent %s, since it has not read or not answered what was sent before", method)
	}
	defer p.p.state.dropServerRequest(id.Key())
	p.p.awaitWritten(ctx, line)
	if resolved != nil {
		defer func() { p.p.awaitWritten(ctx, p.p.state.toClient.enqueue(resolved(id))) }()
	}
	select {
	case m := <-answer:
		if m.unreadable != nil {
			return rpc.Value{}, &UnreadableError{m.unreadable}
		}
		if resolved != nil && m.Truncated() {
			return rpc.Value{}, &UnreadableError{rpc.Errorf(rpc.CodeTooLarge, "the client's answer can't be read, so it counts as a refusal: it has more values than the bridge reads")}
		}
		if failed := m.Root().Get("error"); failed.Exists() {
			message, _ := failed.Get("message").Text()
			code := rpc.CodeInternal
			if string(failed.Get("code").Raw()) == strconv.Itoa(int(rpc.CodeUnknownMethod)) {
				code = rpc.CodeUnknownMethod
			}
			return rpc.Value{}, rpc.Errorf(code, "the client refused %s: %s", method, message)
		}
		return m.Root().Get("result"), nil
	case <-p.p.clientDone:
		return rpc.Value{}, rpc.Errorf(rpc.CodeInternal, "the client disconnected before it answered %s", method)
	case <-p.p.codexDone:
		return rpc.Value{}, rpc.Errorf(rpc.CodeUpstream, "codex ended before the client answered %s", method)
	case <-ctx.Done():
		return rpc.Value{}, rpc.Errorf(rpc.CodeDeadline, "the client did not answer %s: %v", method, problem.Text(context.Cause(ctx)))
	}
}

// ForgetServerRequest removes Codex's pending request with this id, for which Codex or another client needs no
// response any more. A later response of the client is unsolicited. It reports whether the client has the request.
func (p *Conn) ForgetServerRequest(id rpc.ID) (shown bool) {
	return p.p.state.dropServerRequest(id.Key())
}

// ClientDone returns a channel that is closed at the end of the client's input.
func (p *Conn) ClientDone() <-chan struct{} { return p.p.clientDone }

// CodexDone returns a channel that is closed when Codex has exited, or the connection to it has ended.
func (p *Conn) CodexDone() <-chan struct{} { return p.p.codexDone }

// CodexPID returns Codex's process id.
func (p *Conn) CodexPID() int { return p.p.codex.PID() }

// awaitWritten waits until a line is written, Codex has exited, or ctx has ended at least
// maxWriteWait ago.
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

// describe returns the method and id of a message for a log.
func describe(m *rpc.Message) string {
	if m.Kind == rpc.Request {
		return fmt.Sprintf("%s (id %s)", m.Method, m.ID.Raw())
	}
	return m.Method
}
