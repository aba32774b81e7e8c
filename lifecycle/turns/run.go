package turns

import (
	"context"
	"encoding/json"

	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/lifecycle/params"
	"codex-bridge.example/lifecycle/turn"
	"codex-bridge.example/rpc"
)

// run handles bridge/turn/run: {sessionKey or threadId, input, timeoutMs?, trigger?, thread?,
// history?} → {threadId, turnId, status, text, recovered?, error?}.
func (f *Feature) run(p rpc.Value) (later, error) {
	a, in, err := said(p)
	if err != nil {
		return nil, err
	}
	within, err := timeout(p)
	if err != nil {
		return nil, err
	}
	v := &visit{f: f, address: a, input: in}
	if v.history, err = history(p); err != nil {
		return nil, err
	}
	if t := p.Get("trigger"); t.Exists() && t.Kind() != rpc.Null {
		if v.trigger, err = params.ReadTrigger(t); err != nil {
			return nil, invalid("params.trigger: %v", err)
		}
	}
	if v.start, err = start(p, a); err != nil {
		return nil, err
	}
	place, err := f.runs.Join(a.key())
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		f.collecting.Add(1)
		defer f.collecting.Add(-1)
		return turn.Run(ctx, place, v, within)
	}, nil
}

// said reads the address and the input of a request.
func said(p rpc.Value) (address, params.Input, error) {
	a, err := addressOf(p)
	if err != nil {
		return a, params.Input{}, err
	}
	in, err := params.ReadInput(p.Get("input"))
	if err != nil {
		return a, in, invalid("params.%v", err)
	}
	return a, in, nil
}

// start reads the member thread: the parameters of thread/start for a session without a thread.
func start(p rpc.Value, a address) (json.RawMessage, error) {
	v := p.Get("thread")
	switch {
	case !v.Exists():
		return json.RawMessage("{}"), nil
	case v.Kind() != rpc.Object || a.session == "":
		return nil, invalid("params.thread: it is for a session's new thread: an object, beside a sessionKey")
	}
	return v.Raw(), nil
}

// history reads the client's history of the conversation.
func history(p rpc.Value) ([]binding.HistoryMessage, error) {
	v := p.Get("history")
	if v.Exists() && v.Kind() != rpc.Array {
		return nil, invalid("params.history: it is %v; give a list of {role, content}", v.Kind())
	}
	return binding.ReadHistory(v), nil
}
