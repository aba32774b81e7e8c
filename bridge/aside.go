package bridge

import (
	"context"

	"codex-bridge/rpc"
)

// Aside is a client's request that a feature answers by way of others. It is one
// goroutine's.
type Aside struct {
	p       *Proxy
	id      rpc.ID // of the client's request
	feature int
	// earlier is who waits for the answer to the client's own request: features before
	// this one.
	earlier []func(*Answer)
}

// Ask sends codex a request in the client's name, and under the id of its own: it goes
// the way of the client's messages through the features behind the one that asks, which
// hold it to what they hold the client to. on gets the answer as they have left it, and
// runs with codex's messages, as OnAnswer has it; unless it keeps the answer, the client
// gets it. Ask returns when on has; its error is one of those features', of a codex that
// has ended, or of ctx.
func (a *Aside) Ask(ctx context.Context, m *rpc.Message, on func(*Answer)) error {
	done, first := make(chan struct{}), make(chan struct{}, 1) // first is taken by the answer, or by who waits no more
	call := &Call{Message: m, Line: m.Bytes()}
	routes := append(a.p.behind(a.feature, m.Method), placed{Route: Route{Call: func(_ context.Context, call *Call) *rpc.Error {
		call.OnAnswer(func(answer *Answer) {
			select {
			case first <- struct{}{}:
				a.answered(answer, on)
				close(done)
			default:
				answer.Keep()
			}
		})
		return nil
	}}})
	var err *rpc.Error
	if refused := a.p.within(ctx, m, func() { err = a.p.through(ctx, call, routes) }); refused != nil {
		err = refused
	}
	if err != nil {
		call.refused()
		return err
	}
	if call.reply != nil {
		e, err := rpc.Open(call.reply)
		if err != nil {
			return rpc.Errorf(rpc.CodeInternal, "%s was answered here with what can't be read: %v", m.Method, err)
		}
		answer := &Answer{Envelope: e, Line: call.reply}
		answer.handle([]func(*Answer){func(*Answer) { a.answered(answer, on) }})
		if !answer.kept {
			a.p.toClient(a.id, answer.Line)
		}
		return nil
	}
	select {
	case <-done:
		return nil
	case <-a.p.gone:
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
func (a *Aside) answered(answer *Answer, on func(*Answer)) {
	if answer.Envelope == nil {
		return // refused: Ask says so; or too long: the client is told
	}
	if on(answer); answer.kept || len(a.earlier) == 0 {
		return
	}
	e, err := rpc.Open(answer.Line)
	if err != nil {
		a.p.o.Log.Error("an answer as it was rewritten can't be read", "error", err)
		return
	}
	answer.Envelope = e
	a.end(answer)
}

// end tells those who wait for the client's answer.
func (a *Aside) end(answer *Answer) {
	earlier := a.earlier
	a.earlier = nil
	for _, f := range earlier {
		f(answer)
	}
}

// Behind waits until the client has been told what codex is saying just now: an answer that
// is made of that stands behind it. It must not be called with codex's messages.
func (a *Aside) Behind() { a.p.state.afterTaking() }

// Reply answers the client in codex's place.
func (a *Aside) Reply(line []byte) {
	(&Answer{}).handle([]func(*Answer){a.end})
	a.p.toClient(a.id, line)
}
