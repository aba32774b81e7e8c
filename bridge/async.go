package bridge

import (
	"context"

	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/rpc"
)

// AsyncRequest is a client's request that a feature answers with the help of other
// requests. It must not be used concurrently.
type AsyncRequest struct {
	// FolderAdded is ClientMessage.FolderAdded of the requests of Call.
	FolderAdded bool

	p       *Proxy
	id      rpc.ID // of the client's request
	feature int
	// earlierHandlers are the response handlers of earlier features for the client's request.
	earlierHandlers []func(*ServerResponse)
}

// Call sends Codex a request in the client's name, with m's own id. The request passes the
// later features as if the client had sent it, so they apply their checks. on gets the
// response after those features. It runs in the order of Codex's messages, as with
// OnResponse. Unless on withholds the response, it is sent to the client.
//
// Call returns after on. The error is that of a later feature, or states that Codex or ctx has
// ended.
func (a *AsyncRequest) Call(ctx context.Context, m *rpc.Message, on func(*ServerResponse)) error {
	done, first := make(chan struct{}), make(chan struct{}, 1) // the response or the end of ctx fills first
	message := &ClientMessage{Message: m, Line: m.Bytes(), FolderAdded: a.FolderAdded}
	routes := append(a.p.routesAfter(a.feature, m.Method), featureRoute{Route: &Route{HandleClient: func(_ context.Context, message *ClientMessage) *rpc.Error {
		message.OnResponse(func(response *ServerResponse) {
			select {
			case first <- struct{}{}:
				a.handleResponse(response, on)
				close(done)
			default:
				response.Withhold()
			}
		})
		return nil
	}}})
	var err *rpc.Error
	if refused := a.p.inOrder(ctx, m, func() { err = a.p.route(ctx, message, routes) }); refused != nil {
		err = refused
	}
	if err != nil {
		message.notifyUnsent()
		return err
	}
	if message.reply != nil {
		e, err := rpc.ParseEnvelope(message.reply)
		if err != nil {
			return rpc.Errorf(rpc.CodeInternal, "%s got a response from the bridge that can't be parsed: %v", m.Method, err)
		}
		response := &ServerResponse{Envelope: e, Line: message.reply}
		response.runHandlers([]func(*ServerResponse){func(*ServerResponse) { a.handleResponse(response, on) }})
		if !response.withheld {
			a.p.respond(a.id, response.Line)
		}
		return nil
	}
	select {
	case <-done:
		return nil
	case <-a.p.codexDone:
		if a.p.state.dropRequest(m.ID.Key()) == nil { // the response came just before the end
			<-done
			return nil
		}
		return rpc.Errorf(rpc.CodeUpstream, "codex ended before it answered %s", m.Method)
	case <-ctx.Done():
		select {
		case first <- struct{}{}:
			return rpc.Errorf(rpc.CodeDeadline, "no answer to %s: %v", m.Method, problem.Text(context.Cause(ctx)))
		default: // the response has just come
			<-done
			return nil
		}
	}
}

// handleResponse calls on. If the response goes to the client it also runs the earlier
// handlers.
func (a *AsyncRequest) handleResponse(response *ServerResponse, on func(*ServerResponse)) {
	if response.Envelope == nil {
		return // Call returns the error, or the client gets it
	}
	if on(response); response.withheld || len(a.earlierHandlers) == 0 {
		return
	}
	e, err := rpc.ParseEnvelope(response.Line)
	if err != nil {
		a.p.opts.Log.Error("a rewritten response can't be parsed", "error", err)
		return
	}
	response.Envelope = e
	a.runEarlier(response)
}

// runEarlier runs the handlers of earlier features.
func (a *AsyncRequest) runEarlier(response *ServerResponse) {
	earlier := a.earlierHandlers
	a.earlierHandlers = nil
	for _, f := range earlier {
		f(response)
	}
}

// AfterDelivery waits until the client has been sent the message of Codex that is being
// handled, so that a reply comes after it. A handler of Codex's messages must not call it.
func (a *AsyncRequest) AfterDelivery() { a.p.state.awaitDelivery() }

// Reply sends the client a response in place of Codex.
func (a *AsyncRequest) Reply(line []byte) {
	(&ServerResponse{}).runHandlers([]func(*ServerResponse){a.runEarlier})
	a.p.respond(a.id, line)
}
