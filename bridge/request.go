package bridge

import (
	"context"
	"encoding/json"

	"codex-bridge/rpc"
)

// Request asks in the client's place, for something that the client has not asked for in
// these words: the request goes the way of the client's messages through the features
// behind the one that asks, which hold it to what they hold the client to, and the client
// never sees the answer. It comes as those features have left it; an error of theirs or of
// codex's is a *rpc.Error, and so is the end of ctx or of codex. Who has stopped waiting
// has not called the request back.
//
// It must not be called by a handler of either side's messages, which it would wait for.
func (p *Conn) CallAsClient(ctx context.Context, method string, params any) (rpc.Value, error) {
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
	go func() { // ends when the request is sent; when ctx ends before that, it is not
		call := &ClientMessage{Message: m, Line: m.Bytes(), internal: true}
		var err *rpc.Error
		if busy := p.p.inTurn(ctx, m, func() { err = p.p.route(ctx, call, p.p.routesAfter(p.feature, method)) }); busy != nil {
			err = busy
		}
		if err != nil {
			call.notifyUnsent()
			refused <- err
		} else if call.reply != nil {
			p.p.state.deliverReply(id, call.reply)
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
		return rpc.Value{}, rpc.Errorf(rpc.CodeDeadline, "no answer to %s: %v", method, context.Cause(ctx))
	}
}

// result reads an answer that is ours alone.
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
