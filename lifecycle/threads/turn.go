package threads

import (
	"cmp"
	"context"
	"encoding/json"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/lifecycle/params"
	"codex-bridge.example/rpc"
)

// takesTurn gives a turn the mode of what started it. A mode stays until another is sent,
// so that the ordinary turn after another one gets one, too.
func (f *Feature) takesTurn(ctx context.Context, call *bridge.ClientMessage) *rpc.Error {
	if !f.o.Known() || call.Kind != rpc.Request || call.Params.Kind() != rpc.Object {
		return nil
	}
	trigger, said, err := readTrigger(call.Params)
	if err != nil {
		return rpc.Errorf(rpc.CodeInvalidParams, "turn/start: %v", err)
	}
	id, _ := call.Params.Get("threadId").Text()
	now, _ := f.known.get(id)
	if now.fresh {
		call.OnResponse(func(a *bridge.ServerResponse) {
			if a.Result().Exists() {
				f.known.change(id, func(t *thread) { t.fresh = false })
			}
		})
	}
	if !said && !trigger.Differs(now.trigger) {
		return nil
	}
	if trigger == "" {
		trigger = params.TriggerUser
	}
	var mode json.RawMessage
	if trigger.Differs(now.trigger) {
		model, effort := now.model, now.effort
		if own, ok := call.Params.Get("model").Text(); ok {
			model = own
		}
		if own, ok := call.Params.Get("effort").Text(); ok {
			effort = own
		}
		if mode, err = params.CollaborationMode(trigger, f.TriggerInstructions(), model, effort); err != nil {
			return rpc.Errorf(rpc.CodeInvalidParams, "turn/start: bridge.trigger: %v; open the thread here, or name its model", err)
		}
	}
	if failed := f.rewrite(call, func(asked json.RawMessage) (json.RawMessage, error) { return params.WithMode(asked, mode) }); failed != nil {
		return failed
	}
	if mode != nil {
		call.OnResponse(func(a *bridge.ServerResponse) {
			if !a.Result().Exists() {
				return
			}
			of := ""
			f.known.change(id, func(t *thread) { t.trigger, of = trigger, t.session })
			// Measured: it is the thread's after a cold resume, too.
			keep := func(kept *store.Binding, _ *binding.Binding) { kept.Mode = string(trigger) }
			if of == "" {
				return
			}
			if err := f.amend(context.WithoutCancel(ctx), of, id, keep); err != nil {
				f.o.Log.Error("the mode of a session's thread can't be kept", "thread", id, "error", err)
			}
		})
	}
	return nil
}

// settingsUpdated takes note of what Codex says is in force in a thread.
func (f *Feature) settingsUpdated(ctx context.Context, said *bridge.ServerMessage) {
	p := said.Root().Get("params")
	id, _ := p.Get("threadId").Text()
	settings := p.Get("threadSettings")
	model, ok := settings.Get("model").Text()
	if !ok {
		return
	}
	effort, _ := settings.Get("effort").Text()
	changed := ""
	f.known.change(id, func(t *thread) {
		if t.model != model {
			changed = t.session
		}
		t.model, t.effort = model, effort
		t.approval, t.sandbox = limitsInForce(settings, "sandboxPolicy")
		if t.sandbox == setting.WorkspaceWrite {
			t.excluded = excludedBySandbox(settings.Get("sandboxPolicy"))
		}
	})
	if changed == "" {
		return
	}
	provider, _ := settings.Get("modelProvider").Text()
	if err := f.Change(ctx, changed, id, func(b *binding.Binding) {
		b.Model, b.ModelProvider = model, cmp.Or(provider, b.ModelProvider)
	}); err != nil {
		f.o.Log.Error("the model of a session's thread can't be kept", "thread", id, "error", err)
	}
}

// turnCompleted gives a session's thread up where a turn has shown that it can't be gone
// on with.
func (f *Feature) turnCompleted(ctx context.Context, said *bridge.ServerMessage) {
	p := said.Root().Get("params")
	id, _ := p.Get("threadId").Text()
	failed := p.Get("turn").Get("error")
	t, ok := f.known.get(id)
	if !ok || t.session == "" || failed.Kind() != rpc.Object {
		return
	}
	failure, matters := binding.FailureOfTurn(failed)
	if !matters {
		return
	}
	recovery := binding.AfterTurnFailure(failure, t.bootstrapped)
	if recovery.Keep {
		return
	}
	if err := f.giveUp(ctx, t.session, id, recovery.Reason); err != nil {
		f.o.Log.Error("a session's thread can't be given up", "thread", id, "error", err)
	}
}

// closed forgets a thread that Codex has put away. Its session stays this process's.
func (f *Feature) closed(_ context.Context, said *bridge.ServerMessage) {
	id, _ := said.Root().Get("params").Get("threadId").Text()
	f.known.forget(id)
}
