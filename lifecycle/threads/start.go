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

// threadStart handles a thread/start.
func (f *Feature) threadStart(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
	if call.Kind != rpc.Request || call.Params.Kind() != rpc.Object {
		return nil
	}
	if f.o.Known() && call.Params.Get("bridge").Exists() {
		return f.sessionStart(call)
	}
	if t := f.o.Thread(); t.On {
		o, err := f.threadOptions()
		if err != nil {
			return internal(err)
		}
		if failed := f.rewrite(call, func(raw json.RawMessage) (json.RawMessage, error) { return params.AddToRequest(raw, o) }); failed != nil {
			return failed
		}
	}
	f.recordOnResponse(call)
	return nil
}

// sessionStart handles a thread/start with bridge.sessionKey.
func (f *Feature) sessionStart(call *bridge.ClientMessage) *rpc.Error {
	m, failed := cloneRequest(call)
	if failed != nil {
		return failed
	}
	session, err := readSession(m.Params)
	if err != nil {
		return rpc.Errorf(rpc.CodeInvalidParams, "thread/start: %v", err)
	}
	if session == nil { // bridge is null
		f.recordOnResponse(call)
		return nil
	}
	call.HandleAsync(func(ctx context.Context, async *bridge.AsyncRequest) {
		r := &request{Feature: f, message: m, session: session, async: async}
		if err := f.serialize(ctx, session.Key, r.respond); err != nil {
			async.Reply(rpc.EncodeError(m.ID, err))
		}
	})
	return nil
}

// threadOpen handles thread/resume and thread/fork.
func (f *Feature) threadOpen(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
	if call.Kind != rpc.Request || call.Params.Kind() != rpc.Object {
		return nil
	}
	if kind := call.Params.Get("bridge").Kind(); f.o.Known() && kind != rpc.Absent && kind != rpc.Null {
		if call.Method != "thread/resume" {
			return rpc.Errorf(rpc.CodeInvalidParams, "%s: bridge is for thread/start and thread/resume; leave it out, and resume the fork with bridge.sessionKey", call.Method)
		}
		return f.sessionResume(call)
	}
	if f.o.Thread().On {
		o, err := f.threadOptions()
		if err != nil {
			return internal(err)
		}
		o = params.Options{Config: o.Config} // the other options are for new threads
		if o.Config.HasChanges() {
			if failed := f.rewrite(call, func(raw json.RawMessage) (json.RawMessage, error) { return params.AddToRequest(raw, o) }); failed != nil {
				return failed
			}
		}
	}
	f.recordOnResponse(call)
	return f.forkIfStale(call)
}

// rewrite replaces the parameters of a request for the later features and Codex.
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

// recordOnResponse records the thread of a request when Codex has opened it.
func (f *Feature) recordOnResponse(call *bridge.ClientMessage) {
	if !f.o.Known() {
		return
	}
	request := call.Params
	call.OnResponse(func(a *bridge.ServerResponse) {
		if result := a.Result(); result.Get("thread").Exists() {
			f.recordThread(request, result, thread{})
		}
	})
}

// recordThread records an open thread from the request and Codex's response.
func (f *Feature) recordThread(request, result rpc.Value, t thread) {
	id, _ := result.Get("thread").Get("id").Text()
	t.model, _ = result.Get("model").Text()
	t.cwd, _ = result.Get("cwd").Text()
	t.effort, _ = result.Get("reasoningEffort").Text()
	t.approval, t.sandbox = effectiveLimits(result, "sandbox")
	t.excluded = excludedBySandbox(result.Get("sandbox")).And(binding.Excluded(request.Get("config")))
	f.known.put(id, t)
}

// effectiveLimits returns the approval policy and the sandbox mode that Codex reports; "" for one without a name.
func effectiveLimits(reported rpc.Value, member string) (approval, sandbox string) {
	approval, _ = reported.Get("approvalPolicy").Text()
	kind, _ := reported.Get(member).Get("type").Text()
	return approval, setting.ThreadSandbox(kind)
}

// threadOptions returns the options that [thread] sets for new threads.
func (f *Feature) threadOptions() (params.Options, error) {
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
