package threads

import (
	"context"
	"encoding/json"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/lifecycle/params"
	"codex-bridge.example/rpc"
)

// starts is thread/start of the client.
func (f *Feature) starts(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
	if call.Kind != rpc.Request || call.Params.Kind() != rpc.Object {
		return nil
	}
	if f.o.Known() && call.Params.Get("bridge").Exists() {
		return f.startsSession(call)
	}
	if t := f.o.Thread(); t.On {
		o, err := f.given()
		if err != nil {
			return internal(err)
		}
		if failed := f.rewrite(call, func(asked json.RawMessage) (json.RawMessage, error) { return params.AddToRequest(asked, o) }); failed != nil {
			return failed
		}
	}
	f.note(call)
	return nil
}

func (f *Feature) startsSession(call *bridge.ClientMessage) *rpc.Error {
	m, failed := cloned(call)
	if failed != nil {
		return failed
	}
	asked, err := readSession(m.Params)
	if err != nil {
		return rpc.Errorf(rpc.CodeInvalidParams, "thread/start: %v", err)
	}
	if asked == nil { // null: a plain one
		f.note(call)
		return nil
	}
	call.HandleAsync(func(ctx context.Context, aside *bridge.AsyncRequest) {
		r := &request{Feature: f, m: m, asked: asked, aside: aside}
		if err := f.inLine(ctx, asked.Key, r.answer); err != nil {
			aside.Reply(rpc.EncodeError(m.ID, err))
		}
	})
	return nil
}

// opens is thread/resume and thread/fork of the client.
func (f *Feature) opens(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
	if call.Kind != rpc.Request || call.Params.Kind() != rpc.Object {
		return nil
	}
	if kind := call.Params.Get("bridge").Kind(); f.o.Known() && kind != rpc.Absent && kind != rpc.Null {
		if call.Method != "thread/resume" {
			return rpc.Errorf(rpc.CodeInvalidParams, "%s: bridge is for thread/start and thread/resume; leave it out, and resume the fork with bridge.sessionKey", call.Method)
		}
		return f.resumesSession(call)
	}
	if f.o.Thread().On {
		o, err := f.given()
		if err != nil {
			return internal(err)
		}
		o = params.Options{Config: o.Config} // the others are of a new thread
		if o.Config.HasChanges() {
			if failed := f.rewrite(call, func(asked json.RawMessage) (json.RawMessage, error) { return params.AddToRequest(asked, o) }); failed != nil {
				return failed
			}
		}
	}
	f.note(call)
	return f.forking(call)
}

// rewrite puts other parameters in the place of the client's, for who comes after.
func (f *Feature) rewrite(call *bridge.ClientMessage, with func(json.RawMessage) (json.RawMessage, error)) *rpc.Error {
	if call.Truncated() {
		return tooManyValues(call)
	}
	changed, err := with(call.Params.Raw())
	if err != nil {
		return rpc.Errorf(rpc.CodeInvalidParams, "%s: %v", call.Method, err)
	}
	m, err := message(call.ID, call.Method, changed)
	if err != nil {
		return internal(err)
	}
	call.Message, call.Line = m, m.Bytes()
	return nil
}

// note takes note of the model of a thread that a client opens which may speak of its
// turns' triggers.
func (f *Feature) note(call *bridge.ClientMessage) {
	if !f.o.Known() {
		return
	}
	asked := call.Params
	call.OnResponse(func(a *bridge.ServerResponse) {
		if result := a.Result(); result.Get("thread").Exists() {
			f.opened(asked, result, thread{})
		}
	})
}

// opened takes note of a thread by the request and Codex's answer.
func (f *Feature) opened(asked, result rpc.Value, t thread) {
	id, _ := result.Get("thread").Get("id").Text()
	t.model, _ = result.Get("model").Text()
	t.cwd, _ = result.Get("cwd").Text()
	t.effort, _ = result.Get("reasoningEffort").Text()
	t.approval, t.sandbox = limitsInForce(result, "sandbox")
	t.excluded = excludedBySandbox(result.Get("sandbox")).And(binding.Excluded(asked.Get("config")))
	f.known.put(id, t)
}

// limitsInForce returns the approval policy and the sandbox mode that Codex reports; "" for one that is no word.
func limitsInForce(reported rpc.Value, member string) (approval, sandbox string) {
	approval, _ = reported.Get("approvalPolicy").Text()
	kind, _ := reported.Get(member).Get("type").Text()
	return approval, setting.ThreadSandbox(kind)
}

// given is what every new thread is given.
func (f *Feature) given() (params.Options, error) {
	t := f.o.Thread()
	o := params.Options{ServiceName: t.ServiceName, Instructions: t.DeveloperInstructions}
	o.Config.CodeMode, o.Config.Lightweight = params.CodeModeOf(t.CodeMode), t.Lightweight
	if len(t.Config) > 0 {
		raw, err := json.Marshal(t.Config)
		if err != nil {
			return o, err
		}
		o.Config.Configured = raw
	}
	return o, nil
}
