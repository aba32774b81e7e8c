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

// resumesSession handles a thread/resume with bridge.sessionKey: the thread of the request becomes
// the session's.
func (f *Feature) resumesSession(call *bridge.ClientMessage) *rpc.Error {
	m, failed := cloned(call)
	if failed != nil {
		return failed
	}
	asked, err := readResume(m.Params)
	if err != nil {
		return rpc.Errorf(rpc.CodeInvalidParams, "thread/resume: %v", err)
	}
	call.HandleAsync(func(ctx context.Context, aside *bridge.AsyncRequest) {
		r := &request{Feature: f, m: m, asked: asked, aside: aside}
		id, _ := m.Params.Get("threadId").Text()
		err := f.inLine(ctx, asked.Key, func(ctx context.Context) error {
			// No key of a session has a control character. Two sessions must not take the thread at the
			// same time.
			return f.inLine(ctx, "\x00"+id, func(ctx context.Context) error { return r.adopt(ctx, id) })
		})
		if err != nil {
			aside.Reply(rpc.EncodeError(m.ID, err))
		}
	})
	return nil
}

// readResume reads the member bridge of the parameters of thread/resume. The thread has to be named
// by its id, or it could be another than the one that was checked.
func readResume(p rpc.Value) (*sessionRequest, error) {
	asked, err := readSession(p)
	if err != nil {
		return nil, err
	}
	id, _ := p.Get("threadId").Text()
	switch {
	case id == "" || p.Get("path").Exists() || p.Get("history").Exists():
		return nil, errors.New("bridge.sessionKey: name the thread by threadId, and leave path and history out")
	case asked.Plugins.Enabled:
		return nil, errors.New("bridge.plugins: a thread gets the apps of plugins when it starts; leave plugins out, or use thread/start")
	}
	return asked, nil
}

// adopt resumes the thread that the client names, and binds the session to it.
func (r *request) adopt(ctx context.Context, id string) (err error) {
	if r.store, err = r.o.Store(ctx); err != nil {
		return internal(err)
	}
	if err := r.isFree(ctx, id); err != nil {
		return err
	}
	if err := r.take(ctx, r.store, r.asked.Key); err != nil {
		return err
	}
	if r.kept, r.old, err = r.bound(ctx, r.store, r.asked.Key); err != nil {
		return internal(err)
	}
	if !r.old.IsOf(id) { // what is known is of another thread
		r.old, r.kept.Mode = binding.Binding{}, ""
	}
	if r.in, err = r.asked.inputs(r.m.Params, r.old.DynamicTools); err != nil {
		return rpc.Errorf(rpc.CodeInvalidParams, "thread/resume: %v", err)
	}
	r.run = binding.ThreadRequest{SessionFile: r.asked.Key}
	r.run.Model, _ = r.m.Params.Get("model").Text()
	text, err := r.resumeParams()
	if err != nil {
		return rpc.Errorf(rpc.CodeInvalidParams, "thread/resume: %v", err)
	}
	return r.ask(ctx, "thread/resume", text, func(a *bridge.ServerResponse, answer *rpc.Envelope) {
		if failed := failure(answer); failed != nil {
			if binding.FailureOf(failed) == binding.FailureBusy {
				a.Line = rpc.EncodeError(a.ID, rpc.Errorf(rpc.CodeBusy, "%s", failed.Message))
			}
			return
		}
		b := binding.NewResumed(r.old, r.run, r.in, said(answer))
		b.Cwd, _ = answer.Root().Get("result").Get("cwd").Text()
		r.settle(ctx, a, answer, binding.Decision{Action: binding.ActionResume, Reason: binding.ReasonUnchanged}, b)
	})
}

// isFree returns an error if the thread belongs to another session.
func (r *request) isFree(ctx context.Context, thread string) error {
	owner, found, err := r.store.BindingByThread(ctx, thread)
	if err != nil {
		return internal(err)
	}
	if found && owner.Session != r.asked.Key {
		return rpc.Errorf(rpc.CodeInvalidParams, "bridge.sessionKey: the thread %s belongs to the session %q; resume that session, or clear it with bridge/binding/clear", thread, owner.Session)
	}
	return nil
}

// resumeParams returns the client's parameters without bridge, and with the configuration that
// threads get.
func (r *request) resumeParams() (json.RawMessage, error) {
	patch := rpc.NewPatch(r.m)
	patch.Delete(r.m.Params, "bridge")
	m, err := rpc.ParseMessage(patch.Bytes())
	if err != nil {
		return nil, err
	}
	var o params.Options
	if r.o.Thread().On {
		given, err := r.Feature.given()
		if err != nil {
			return nil, err
		}
		o.Config = given.Config
	}
	o.Config.UserServers = r.asked.Servers
	return params.AddToRequest(m.Params.Raw(), o)
}
