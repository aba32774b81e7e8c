package threads

import (
	"context"
	"encoding/json"
	"errors"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/lifecycle/params"
	"codex-bridge.example/relay/tools"
	"codex-bridge.example/rpc"
)

// request is one thread/start or thread/resume with a session.
type request struct {
	*Feature
	message *rpc.Message
	session *sessionRequest
	async   *bridge.AsyncRequest

	store    *store.Store
	stored   store.Binding   // the session's row; its Session is "" if there is none
	previous binding.Binding // the record in the row
	inputs   binding.ThreadInputs
	request  binding.ThreadRequest
	options  params.Options
}

// respond answers the client, or returns the error for it.
func (r *request) respond(ctx context.Context) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	if why := r.replacementReason(r.session.Key, r.stored.Thread); why != "" {
		return r.start(ctx, binding.Decision{Action: binding.ActionStart, Reason: why})
	}
	d := r.decide(ctx)
	if d.Reason == binding.ReasonNotBound && r.stored.Action == actionAbandoned {
		d.Reason = binding.Reason(r.stored.Reason)
	}
	if d.Action == binding.ActionResume {
		recovery, err := r.resume(ctx, d)
		if err != nil || !recovery.Again {
			return err
		}
		d = binding.Decision{Action: binding.ActionStart, Reason: recovery.Reason}
	}
	return r.start(ctx, d)
}

// prepare acquires the session, and reads the inputs of the decision.
func (r *request) prepare(ctx context.Context) error {
	var err error
	if r.store, err = r.o.Store(ctx); err != nil {
		return internal(err)
	}
	if err := r.acquire(ctx, r.store, r.session.Key); err != nil {
		return err
	}
	if r.stored, r.previous, err = r.readBinding(ctx, r.store, r.session.Key); err != nil {
		return internal(err)
	}
	fingerprint, err := r.fingerprint()
	if err != nil {
		return rpc.Errorf(rpc.CodeInvalidParams, "thread/start: %v", err)
	}
	if r.inputs, err = r.session.inputs(r.message.Params, fingerprint); err != nil {
		return rpc.Errorf(rpc.CodeInvalidParams, "thread/start: %v", err)
	}
	r.inputs.TooLarge = r.Feature.TooLarge(r.previous.ThreadID)
	if r.options, err = r.threadOptions(); err != nil {
		return internal(err)
	}
	r.options.Config.UserServers = r.session.Servers
	r.request = binding.ThreadRequest{SessionFile: r.session.Key}
	r.request.Cwd, _ = r.message.Params.Get("cwd").Text()
	r.request.Model, _ = r.message.Params.Get("model").Text()
	r.request.ModelProvider, _ = r.message.Params.Get("modelProvider").Text()
	return nil
}

// TooLarge reports whether the rollout file of a thread has reached thread.max_rollout, so that its session gets
// a new thread. It returns false if there is no file: the resume then reports the lost thread.
func (f *Feature) TooLarge(id string) bool {
	most := int64(f.o.Thread().MaxRollout)
	if most == 0 || id == "" {
		return false
	}
	size, err := f.o.Size(id)
	return err == nil && size >= most
}

// fingerprint returns the fingerprint of the tools that a new thread gets.
func (r *request) fingerprint() (string, error) {
	var offered json.RawMessage
	if list := r.message.Params.Get("dynamicTools"); list.Kind() != rpc.Absent && list.Kind() != rpc.Null {
		offered = list.Raw()
	}
	if r.o.Offered != nil {
		var err error
		if offered, err = r.o.Offered(offered); err != nil {
			return "", err
		}
	}
	if offered == nil {
		return tools.NoTools, nil
	}
	return tools.Fingerprint(offered)
}

// acquire makes this client of this process the only writer of the session.
func (f *Feature) acquire(ctx context.Context, s *store.Store, session string) error {
	here, err := store.CurrentProcess()
	if err != nil {
		return internal(err)
	}
	if !f.o.Owners.take(session, f) {
		return busy(&store.HeldError{Session: session, Holder: here})
	}
	err = s.AcquireLease(ctx, session, here, f.o.Now())
	if err != nil {
		f.o.Owners.release(session, f)
	}
	var held *store.HeldError
	switch {
	case errors.As(err, &held):
		return busy(held)
	case err != nil:
		return internal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held[session] = true
	return nil
}

func busy(held *store.HeldError) *rpc.Error {
	return rpc.WithData(rpc.Errorf(rpc.CodeBusy, "%v; end it, or go on there", held), map[string]any{"sessionKey": held.Session, "holder": held.Holder})
}

// readBinding returns the row and the binding of a session. If the record can't be read, it moves the row aside
// and returns empty values.
func (f *Feature) readBinding(ctx context.Context, s *store.Store, session string) (store.Binding, binding.Binding, error) {
	kept, found, err := s.BindingBySession(ctx, session)
	if err != nil || !found {
		return store.Binding{}, binding.Binding{}, err
	}
	b, dropped, err := binding.Read([]byte(kept.Record), session, f.o.Now())
	if err != nil {
		f.o.Log.Warn("the binding of a session can't be read; it is kept aside, and the session starts anew", "session", session, "error", err)
		return store.Binding{}, binding.Binding{}, s.MoveUnreadableBinding(ctx, kept, f.o.Now())
	}
	for _, d := range dropped {
		f.o.Log.Warn("a value of a session's binding was dropped", "session", session, "value", d.String())
	}
	return kept, b, nil
}

// resume resumes the session's thread. On a failure it returns an error, or the way to recover.
func (r *request) resume(ctx context.Context, d binding.Decision) (binding.Recovery, error) {
	text, err := params.ThreadResume(r.message.Params.Raw(), r.previous.ThreadID, r.options)
	if err != nil {
		return binding.Recovery{}, rpc.Errorf(rpc.CodeInvalidParams, "%v", err)
	}
	var recovery binding.Recovery
	err = r.callCodex(ctx, "thread/resume", text, func(a *bridge.ServerResponse, response *rpc.Envelope) {
		if failed := responseError(response); failed != nil {
			what := binding.FailureOf(failed)
			if recovery = binding.AfterResumeFailure(what); recovery.Again {
				r.o.Log.Info("a session's thread can't continue", "thread", r.previous.ThreadID, "reason", recovery.Reason, "error", failed.Message)
				a.Withhold()
			} else if what == binding.FailureBusy {
				a.Line = rpc.EncodeError(a.ID, rpc.Errorf(rpc.CodeBusy, "%s", failed.Message))
			}
			return
		}
		b := binding.NewResumed(r.previous, r.request, r.inputs, threadResponse(response))
		r.saveAndReply(ctx, a, response, d, b)
	})
	return recovery, err
}

// start starts a new thread for the session, which is bound if the decision binds.
func (r *request) start(ctx context.Context, d binding.Decision) error {
	if r.inputs.Plugins.Enabled {
		if err := r.build(ctx); err != nil {
			return rpc.Errorf(rpc.CodeUpstream, "thread/start: the apps of bridge.plugins can't be looked up: %v; leave them off, or try again", err)
		}
		r.options.Config.Apps = r.patch()
	}
	text, err := params.ThreadStart(r.message.Params.Raw(), r.options)
	if err != nil {
		return rpc.Errorf(rpc.CodeInvalidParams, "%v", err)
	}
	return r.callCodex(ctx, "thread/start", text, func(a *bridge.ServerResponse, response *rpc.Envelope) {
		if responseError(response) != nil {
			return // the client gets the error; the binding stays
		}
		b, err := binding.NewStarted(r.request, r.inputs, threadResponse(response))
		if err != nil {
			a.Line = rpc.EncodeError(a.ID, internal(err))
			return
		}
		r.saveAndReply(ctx, a, response, d, b)
	})
}

// callCodex sends a request in place of the client's. on gets the response after the later features.
func (r *request) callCodex(ctx context.Context, method string, text json.RawMessage, on func(*bridge.ServerResponse, *rpc.Envelope)) error {
	m, err := message(r.message.ID, method, text)
	if err != nil {
		return internal(err)
	}
	return r.async.Call(ctx, m, func(a *bridge.ServerResponse) {
		response, err := rpc.ParseEnvelope(a.Line)
		if err != nil { // a feature's rewrite is no JSON
			a.Line = rpc.EncodeError(a.ID, internal(err))
			return
		}
		on(a, response)
	})
}

// saveAndReply stores the binding, and adds the result of the session to the response.
func (r *request) saveAndReply(ctx context.Context, a *bridge.ServerResponse, response *rpc.Envelope, d binding.Decision, b binding.Binding) {
	b = b.Stamped(r.o.Now())
	b.KeepLimits(r.message.Params, response.Root().Get("result"))
	reply := newSessionResult(d, b)
	kept := store.Binding{
		Session: r.session.Key, Thread: b.ThreadID, Record: string(binding.Encode(b)),
		Action: reply.Action, Reason: string(d.Reason), PreviousThread: r.stored.Thread, Updated: r.o.Now(),
	}
	if b.ThreadID == r.stored.Thread || r.stored.Thread == "" {
		kept.PreviousThread = r.stored.PreviousThread
	}
	if d.Action == binding.ActionResume || !d.Action.Binds() {
		kept.Mode = r.stored.Mode
	}
	if d.Action == binding.ActionRotate {
		kept.Action = "rotated"
	}
	if !d.Action.Binds() {
		kept.Action = "transient"
		kept.Thread, kept.Record, kept.PreviousThread = r.stored.Thread, r.stored.Record, r.stored.PreviousThread
	}
	r.updating.Lock()
	err := r.store.PutBinding(context.WithoutCancel(ctx), kept)
	r.updating.Unlock()
	if err != nil {
		r.o.Log.Error("a session's thread can't be stored; the client gets an error", "thread", b.ThreadID, "error", err)
		a.Line = rpc.EncodeError(a.ID, internal(err))
		return
	}
	result := response.Root().Get("result")
	t := thread{bootstrapped: d.Action == binding.ActionResume && r.previous.ContextEngine != nil && r.previous.ContextEngine.Projection != nil}
	t.fresh = d.Action != binding.ActionResume
	if d.Action.Binds() {
		t.session, t.trigger = r.session.Key, params.Trigger(kept.Mode)
	}
	r.recordThread(r.message.Params, result, t)
	r.o.Log.Info("a session has its thread", "thread", b.ThreadID, "action", reply.Action, "reason", d.Reason)
	patch := rpc.NewEnvelopePatch(response)
	patch.Set(result, "bridge", rpc.Encode(reply))
	a.Line = patch.Bytes()
}

// threadResponse returns the parts of Codex's response that a binding needs.
func threadResponse(response *rpc.Envelope) binding.ThreadResponse {
	result := response.Root().Get("result")
	var a binding.ThreadResponse
	a.Thread, _ = result.Get("thread").Get("id").Text()
	a.Model, _ = result.Get("model").Text()
	a.ModelProvider, _ = result.Get("modelProvider").Text()
	return a
}

// responseError returns the error of a response; nil if it has a result.
func responseError(response *rpc.Envelope) *rpc.Error {
	failed := response.Root().Get("error")
	if !failed.Exists() {
		return nil
	}
	e := &rpc.Error{}
	if err := json.Unmarshal(failed.Raw(), e); err != nil {
		return rpc.Errorf(rpc.CodeUpstream, "an error of codex's that can't be read: %v", err)
	}
	return e
}
