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

// request is one thread/start with a session.
type request struct {
	*Feature
	m     *rpc.Message
	asked *sessionRequest
	aside *bridge.AsyncRequest

	store *store.Store
	kept  store.Binding   // "" its Session: there is none
	old   binding.Binding // as it was read
	in    binding.ThreadInputs
	run   binding.ThreadRequest
	given params.Options
}

// answer answers the client, or tells what it is to be told instead.
func (r *request) answer(ctx context.Context) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	if why := r.notThis(r.asked.Key, r.kept.Thread); why != "" {
		return r.start(ctx, binding.Decision{Action: binding.ActionStart, Reason: why})
	}
	d := r.decide(ctx)
	if d.Reason == binding.ReasonNotBound && r.kept.Action == givenUp {
		d.Reason = binding.Reason(r.kept.Reason)
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

// prepare takes the session, and finds out all that the decision needs.
func (r *request) prepare(ctx context.Context) error {
	var err error
	if r.store, err = r.o.Store(ctx); err != nil {
		return internal(err)
	}
	if err := r.take(ctx, r.store, r.asked.Key); err != nil {
		return err
	}
	if r.kept, r.old, err = r.bound(ctx, r.store, r.asked.Key); err != nil {
		return internal(err)
	}
	fingerprint, err := r.fingerprint()
	if err != nil {
		return rpc.Errorf(rpc.CodeInvalidParams, "thread/start: %v", err)
	}
	if r.in, err = r.asked.inputs(r.m.Params, fingerprint); err != nil {
		return rpc.Errorf(rpc.CodeInvalidParams, "thread/start: %v", err)
	}
	r.in.TooLarge = r.Feature.TooLarge(r.old.ThreadID)
	if r.given, err = r.Feature.given(); err != nil {
		return internal(err)
	}
	r.given.Config.UserServers = r.asked.Servers
	r.run = binding.ThreadRequest{SessionFile: r.asked.Key}
	r.run.Cwd, _ = r.m.Params.Get("cwd").Text()
	r.run.Model, _ = r.m.Params.Get("model").Text()
	r.run.ModelProvider, _ = r.m.Params.Get("modelProvider").Text()
	return nil
}

// TooLarge reports whether the thread of a session has grown so large that the session gets
// another. A thread whose file is not found has not: the resume says that it is lost.
func (f *Feature) TooLarge(id string) bool {
	most := int64(f.o.Thread().MaxRollout)
	if most == 0 || id == "" {
		return false
	}
	size, err := f.o.Size(id)
	return err == nil && size >= most
}

// fingerprint is that of the tools that a thread is started with now.
func (r *request) fingerprint() (string, error) {
	var offered json.RawMessage
	if list := r.m.Params.Get("dynamicTools"); list.Kind() != rpc.Absent && list.Kind() != rpc.Null {
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

// take makes this process the one that writes the session.
func (f *Feature) take(ctx context.Context, s *store.Store, session string) error {
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

// bound is the binding of a session. A record that can't be read is none: it is set aside.
func (f *Feature) bound(ctx context.Context, s *store.Store, session string) (store.Binding, binding.Binding, error) {
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

// resume resumes the session's thread. If it can't, it returns an error, or how to recover.
func (r *request) resume(ctx context.Context, d binding.Decision) (binding.Recovery, error) {
	text, err := params.ThreadResume(r.m.Params.Raw(), r.old.ThreadID, r.given)
	if err != nil {
		return binding.Recovery{}, rpc.Errorf(rpc.CodeInvalidParams, "%v", err)
	}
	var recovery binding.Recovery
	err = r.ask(ctx, "thread/resume", text, func(a *bridge.ServerResponse, answer *rpc.Envelope) {
		if failed := failure(answer); failed != nil {
			what := binding.FailureOf(failed)
			if recovery = binding.AfterResumeFailure(what); recovery.Again {
				r.o.Log.Info("a session's thread can't be gone on with", "thread", r.old.ThreadID, "reason", recovery.Reason, "error", failed.Message)
				a.Withhold()
			} else if what == binding.FailureBusy {
				a.Line = rpc.EncodeError(a.ID, rpc.Errorf(rpc.CodeBusy, "%s", failed.Message))
			}
			return
		}
		b := binding.NewResumed(r.old, r.run, r.in, said(answer))
		r.settle(ctx, a, answer, d, b)
	})
	return recovery, err
}

// start gives the session a new thread, for now or for good.
func (r *request) start(ctx context.Context, d binding.Decision) error {
	if r.in.Plugins.Enabled {
		if err := r.build(ctx); err != nil {
			return rpc.Errorf(rpc.CodeUpstream, "thread/start: the apps of bridge.plugins can't be looked up: %v; leave them off, or try again", err)
		}
		r.given.Config.Apps = r.patch()
	}
	text, err := params.ThreadStart(r.m.Params.Raw(), r.given)
	if err != nil {
		return rpc.Errorf(rpc.CodeInvalidParams, "%v", err)
	}
	return r.ask(ctx, "thread/start", text, func(a *bridge.ServerResponse, answer *rpc.Envelope) {
		if failure(answer) != nil {
			return // the client is told; the binding stays
		}
		b, err := binding.NewStarted(r.run, r.in, said(answer))
		if err != nil {
			a.Line = rpc.EncodeError(a.ID, internal(err))
			return
		}
		r.settle(ctx, a, answer, d, b)
	})
}

// ask asks Codex in the client's place. on gets the answer as the features behind have left it.
func (r *request) ask(ctx context.Context, method string, text json.RawMessage, on func(*bridge.ServerResponse, *rpc.Envelope)) error {
	m, err := message(r.m.ID, method, text)
	if err != nil {
		return internal(err)
	}
	return r.aside.Call(ctx, m, func(a *bridge.ServerResponse) {
		answer, err := rpc.ParseEnvelope(a.Line)
		if err != nil { // it was read once, and rewritten here
			a.Line = rpc.EncodeError(a.ID, internal(err))
			return
		}
		on(a, answer)
	})
}

// settle keeps what has become of the session, and tells the client.
func (r *request) settle(ctx context.Context, a *bridge.ServerResponse, answer *rpc.Envelope, d binding.Decision, b binding.Binding) {
	b = b.Stamped(r.o.Now())
	b.KeepLimits(r.m.Params, answer.Root().Get("result"))
	told := newSessionResult(d, b)
	kept := store.Binding{
		Session: r.asked.Key, Thread: b.ThreadID, Record: string(binding.Encode(b)),
		Action: told.Action, Reason: string(d.Reason), PreviousThread: r.kept.Thread, Updated: r.o.Now(),
	}
	if b.ThreadID == r.kept.Thread || r.kept.Thread == "" {
		kept.PreviousThread = r.kept.PreviousThread
	}
	if d.Action == binding.ActionResume || !d.Action.Binds() {
		kept.Mode = r.kept.Mode
	}
	if d.Action == binding.ActionRotate {
		kept.Action = "rotated"
	}
	if !d.Action.Binds() {
		kept.Action = "transient"
		kept.Thread, kept.Record, kept.PreviousThread = r.kept.Thread, r.kept.Record, r.kept.PreviousThread
	}
	r.amending.Lock()
	err := r.store.PutBinding(context.WithoutCancel(ctx), kept)
	r.amending.Unlock()
	if err != nil {
		r.o.Log.Error("a session's thread can't be stored; the client gets an error", "thread", b.ThreadID, "error", err)
		a.Line = rpc.EncodeError(a.ID, internal(err))
		return
	}
	result := answer.Root().Get("result")
	t := thread{bootstrapped: d.Action == binding.ActionResume && r.old.ContextEngine != nil && r.old.ContextEngine.Projection != nil}
	t.fresh = d.Action != binding.ActionResume
	if d.Action.Binds() {
		t.session, t.trigger = r.asked.Key, params.Trigger(kept.Mode)
	}
	r.opened(r.m.Params, result, t)
	r.o.Log.Info("a session has its thread", "thread", b.ThreadID, "action", told.Action, "reason", d.Reason)
	patch := rpc.NewEnvelopePatch(answer)
	patch.Set(result, "bridge", rpc.Encode(told))
	a.Line = patch.Bytes()
}

// said is what Codex has said of a thread.
func said(answer *rpc.Envelope) binding.ThreadResponse {
	result := answer.Root().Get("result")
	var a binding.ThreadResponse
	a.Thread, _ = result.Get("thread").Get("id").Text()
	a.Model, _ = result.Get("model").Text()
	a.ModelProvider, _ = result.Get("modelProvider").Text()
	return a
}

// failure is the error of an answer, nil when it has a result.
func failure(answer *rpc.Envelope) *rpc.Error {
	failed := answer.Root().Get("error")
	if !failed.Exists() {
		return nil
	}
	e := &rpc.Error{}
	if err := json.Unmarshal(failed.Raw(), e); err != nil {
		return rpc.Errorf(rpc.CodeUpstream, "an error of codex's that can't be read: %v", err)
	}
	return e
}
