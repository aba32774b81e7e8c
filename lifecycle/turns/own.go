package turns

import (
	"bytes"
	"context"
	"errors"

	"codex-bridge.example/bridge"
	"codex-bridge.example/rpc"
)

// later is the part of a request handler that may block.
type later func(context.Context) (any, error)

// own returns the handler of a bridge method. begin runs in the order of the client's messages and
// must not block.
func (f *Feature) own(begin func(rpc.Value) (later, error)) func(context.Context, *bridge.ClientMessage) *rpc.Error {
	return func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
		if !f.o.Known() || call.Kind != rpc.Request {
			return nil
		}
		if call.Truncated() {
			return rpc.Errorf(rpc.CodeTooLarge, "%s has more values than are looked at; send less", call.Method)
		}
		m, err := rpc.ParseMessage(bytes.Clone(call.Bytes()))
		if err != nil { // impossible: it was parsed before
			return rpc.Errorf(rpc.CodeInternal, "%v", err)
		}
		if m.Params.Kind() != rpc.Object {
			return rpc.Errorf(rpc.CodeInvalidParams, "%s: params is %v; give an object", m.Method, m.Params.Kind())
		}
		rest, err := begin(m.Params)
		if err != nil {
			return asError(err)
		}
		call.HandleAsync(func(ctx context.Context, aside *bridge.AsyncRequest) {
			ctx, cancel := f.whileCodexRuns(ctx)
			defer cancel()
			result, err := rest(ctx)
			aside.AfterDelivery() // the bridge knows the end of a turn before the client does
			if err != nil {
				aside.Reply(rpc.EncodeError(m.ID, asError(err)))
				return
			}
			aside.Reply(rpc.EncodeResult(m.ID, rpc.Encode(result)))
		})
		return nil
	}
}

// whileCodexRuns returns a context that also ends with Codex, which sends nothing after that.
func (f *Feature) whileCodexRuns(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() { // ends with the returned function
		defer close(done)
		select {
		case <-f.peer.CodexDone():
			cancel(rpc.Errorf(rpc.CodeUpstream, "codex ended before the turn did; what it was asked may have been done in part"))
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(context.Canceled)
		<-done
	}
}

func asError(err error) *rpc.Error {
	var e *rpc.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled):
		return rpc.Errorf(rpc.CodeUpstream, "the bridge ends")
	}
	return rpc.Errorf(rpc.CodeInternal, "%v", err)
}

func invalid(format string, args ...any) *rpc.Error {
	return rpc.Errorf(rpc.CodeInvalidParams, format, args...)
}
