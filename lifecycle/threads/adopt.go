package threads

import (
	"context"
	"encoding/json"
	"errors"

	"codex-bridge.example/bridge"
	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/lifecycle/params"
	"codex-bridge.example/rpc"
)

// sessionResume handles a thread/resume with bridge.sessionKey. It binds the thread of the request to the
// session.
func (f *Feature) sessionResume(call *bridge.ClientMessage) *rpc.Error {
	m, failed := cloneRequest(call)
	if failed != nil {
		return failed
	}
	session, err := readResume(m.Params)
	if err != nil {
		return rpc.Errorf(rpc.CodeInvalidParams, "thread/resume: %v", err)
	}
	call.HandleAsync(func(ctx context.Context, async *bridge.AsyncRequest) {
		r := &request{Feature: f, message: m, session: session, async: async}
		id, _ := m.Params.Get("threadId").Text()
		err := f.serialize(ctx, session.Key, func(ctx context.Context) error {
			// Two sessions must not bind one thread at the same time. No session key has a control
			// character, so this key is that of the thread.
			return f.serialize(ctx, "\x00"+id, func(ctx context.Context) error { return r.adopt(ctx, id) })
		})
		if err != nil {
			async.Reply(rpc.EncodeError(m.ID, err))
		}
	})
	return nil
}

// readResume reads the member bridge of the parameters of thread/resume. The request must name the thread by
// its id, since checkUnbound checks that id.
func readResume(p rpc.Value) (*sessionRequest, error) {
	session, err := readSession(p)
	if err != nil {
		return nil, err
	}
	id, _ := p.Get("threadId").Text()
	switch {
	case id == "" || p.Get("path").Exists() || p.Get("history").Exists():
		return nil, errors.New("bridge.sessionKey: name the thread by threadId, and leave path and history out")
	case session.Plugins.Enabled:
		return nil, errors.New("bridge.plugins: a thread gets the apps of plugins when it starts; leave plugins out, or use thread/start")
	}
	return session, nil
}

// adopt resumes the thread that the client names, and binds it to the session.
func (r *request) adopt(ctx context.Context, id string) (err error) {
	if r.store, err = r.o.Store(ctx); err != nil {
		return internal(err)
	}
	if err := r.checkUnbound(ctx, id); err != nil {
		return err
	}
	if err := r.acquire(ctx, r.store, r.session.Key); err != nil {
		return err
	}
	if r.stored, r.previous, err = r.readBinding(ctx, r.store, r.session.Key); err != nil {
		return internal(err)
	}
	if !r.previous.IsOf(id) { // the record is of another thread
		r.previous, r.stored.Mode = binding.Binding{}, ""
	}
	if r.inputs, err = r.session.inputs(r.message.Params, r.previous.DynamicTools); err != nil {
		return rpc.Errorf(rpc.CodeInvalidParams, "thread/resume: %v", err)
	}
	r.request = binding.ThreadRequest{SessionFile: r.session.Key}
	r.request.Model, _ = r.message.Params.Get("model").Text()
	text, err := r.resumeParams()
	if err != nil {
		return rpc.Errorf(rpc.CodeInvalidParams, "thread/resume: %v", err)
	}
	return r.callCodex(ctx, "thread/resume", text, func(a *bridge.ServerResponse, response *rpc.Envelope) {
		if failed := responseError(response); failed != nil {
			if binding.FailureOf(failed) == binding.FailureBusy {
				a.Line = rpc.EncodeError(a.ID, rpc.Errorf(rpc.CodeBusy, "%s", failed.Message))
			}
			return
		}
		b := binding.NewResumed(r.previous, r.request, r.inputs, threadResponse(response))
		b.Cwd, _ = response.Root().Get("result").Get("cwd").Text()
		r.saveAndReply(ctx, a, response, binding.Decision{Action: binding.ActionResume, Reason: binding.ReasonUnchanged}, b)
	})
}

// checkUnbound returns an error if the thread belongs to another session.
func (r *request) checkUnbound(ctx context.Context, thread string) error {
	owner, found, err := r.store.BindingByThread(ctx, thread)
	if err != nil {
		return internal(err)
	}
	if found && owner.Session != r.session.Key {
		return rpc.Errorf(rpc.CodeInvalidParams, "bridge.sessionKey: the thread %s belongs to the session %q; resume that session, or clear it with bridge/binding/clear", thread, owner.Session)
	}
	return nil
}

// resumeParams returns the client's parameters without bridge, with the configuration of [thread].
func (r *request) resumeParams() (json.RawMessage, error) {
	patch := rpc.NewPatch(r.message)
	patch.Delete(r.message.Params, "bridge")
	m, err := rpc.ParseMessage(patch.Bytes())
	if err != nil {
		return nil, err
	}
	var o params.Options
	if r.o.Thread().On {
		options, err := r.threadOptions()
		if err != nil {
			return nil, err
		}
		o.Config = options.Config
	}
	o.Config.UserServers = r.session.Servers
	return params.AddToRequest(m.Params.Raw(), o)
}
