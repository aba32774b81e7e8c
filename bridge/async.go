package bridge

import (
	"context"

	"codex-bridge/rpc"
)

// Aside is a client's request that a feature answers by way of others. It is one
// goroutine's.
type AsyncRequest struct {
	p       *Proxy
	id      rpc.ID // of the client's request
	feature int
	// earlier is who waits for the answer to the client's own request: features before
	// this one.
	earlierHandlers []func(*ServerResponse)
}

// Ask sends codex a request in the client's name, and under the id of its own: it goes
// the way of the client's messages through the features behind the one that asks, which
// hold it to what they hold the client to. on gets the answer as they have left it, and
// runs with codex's messages, as OnAnswer has it; unless it keeps the answer, the client
// gets it. Ask returns when on has; its error is one of those features', of a codex that
// has ended, or of ctx.
func (a *AsyncRequest) Call(ctx context.Context, m *rpc.Message, on func(*ServerResponse)) error {
	done, first := make(chan struct{}), make(chan struct{}, 1) // first is taken by the answer, or by who waits no more
	message := &ClientMessage{Message: m, Line: m.Bytes()}
	routes := append(a.p.routesAfter(a.feature, m.Method), featureRoute{Route: Route{HandleClient: func(_ context.Context, message *ClientMessage) *rpc.Error {
		message.OnResponse(func(answer *ServerResponse) {
			select {
			case first <- struct{}{}:
				a.handleResponse(answer, on)
				close(done)
			default:
				answer.Withhold()
			}
		})
		return nil
	}}})
	var err *rpc.Error
	if refused := a.p.inTurn(ctx, m, func() { err = a.p.route(ctx, message, routes) }); refused != nil {
		err = refused
	}
	if err != nil {
		message.notifyUnsent()
		return err
	}
	if message.reply != nil {
		e, err := rpc.ParseEnvelope(message.reply)
		if err != nil {
			return rpc.Errorf(rpc.CodeInternal, "%s was answered here with what can't be read: %v", m.Method, err)
		}
		answer := &ServerResponse{Envelope: e, Line: message.reply}
		answer.runHandlers([]func(*ServerResponse){func(*ServerResponse) { a.handleResponse(answer, on) }})
		if !answer.withheld {
			a.p.respond(a.id, answer.Line)
		}
		return nil
	}
	select {
	case <-done:
		return nil
	case <-a.p.codexDone:
		if a.p.state.dropRequest(m.ID.Key()) == nil { // it was codex's last word
			<-done
			return nil
		}
		return rpc.Errorf(rpc.CodeUpstream, "codex ended before it answered %s", m.Method)
	case <-ctx.Done():
		select {
		case first <- struct{}{}:
			return rpc.Errorf(rpc.CodeDeadline, "no answer to %s: %v", m.Method, context.Cause(ctx))
		default: // it has just come
			<-done
			return nil
		}
	}
}

// answered shows an answer to who has asked, and, when it is the client's, to those who
// wait for that.
func (a *AsyncRequest) handleResponse(answer *ServerResponse, on func(*ServerResponse)) {
	if answer.Envelope == nil {
		return // refused: Ask says so; or too long: the client is told
	}
	if on(answer); answer.withheld || len(a.earlierHandlers) == 0 {
		return
	}
	e, err := rpc.ParseEnvelope(answer.Line)
	if err != nil {
		a.p.opts.Log.Error("an answer as it was rewritten can't be read", "error", err)
		return
	}
	answer.Envelope = e
	a.runEarlier(answer)
}

// end tells those who wait for the client's answer.
func (a *AsyncRequest) runEarlier(answer *ServerResponse) {
	earlier := a.earlierHandlers
	a.earlierHandlers = nil
	for _, f := range earlier {
		f(answer)
	}
}

// Behind waits until the client has been told what codex is saying just now: an answer that
// is made of that stands behind it. It must not be called with codex's messages.
func (a *AsyncRequest) AfterDelivery() { a.p.state.awaitDelivery() }

// Reply answers the client in codex's place.
func (a *AsyncRequest) Reply(line []byte) {
	(&ServerResponse{}).runHandlers([]func(*ServerResponse){a.runEarlier})
	a.p.respond(a.id, line)
}
